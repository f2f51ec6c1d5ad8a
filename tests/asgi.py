"""Requests to an ASGI app without a network."""

import asyncio
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp


async def ask(
    app: ASGIApp, path: str, *, headers: Mapping[str, object], body: bytes = b"", **scope: Any
) -> list[dict[str, Any]]:
    """Return the messages that an app sends for one GET request; `scope` changes what the request is."""
    sent: list[Any] = []
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if parts:
            return parts.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), str(value).encode()) for name, value in headers.items()]
    whole = {"type": "http", "method": "GET", "path": path, "headers": raw, "query_string": b"", "root_path": ""}
    await app({**whole, "http_version": "1.1", **scope}, receive, send)
    return sent
