"""WebSocket for pictures in advance of the rerun, as in ahead.js, and the header of packed data."""

import json
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

# Start of a band's answer, which may come between those of pictures.
BAND = "{"


class Line:
    """WebSocket of one reader, which stays open until the page has a new address."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        # Headers of this reader's browser.
        self.port, self.headers = port, headers
        self._open: tuple[str, ClientConnection] | None = None

    async def ask(self, address: str, index: int) -> dict[str, bytes]:
        """Request the pictures at a value's index and return packed scenes by their pictures' keys."""
        line = await self._at(address)
        await line.send(str(index))
        found: dict[str, bytes] = {}
        while not isinstance(message := await line.recv(), str) or message.startswith(BAND):
            if isinstance(message, bytes):
                found[header_of(message)["picture"]] = body_of(message)
        return found

    async def ask_band(self, address: str, index: int) -> Any:
        """Request the band at a value's index, wait for it and return its key."""
        line = await self._at(address)
        await line.send(f"band:{index}")
        while True:
            message = await line.recv()
            if isinstance(message, str) and message.startswith(BAND) and json.loads(message)["band"] == index:
                return json.loads(message)["key"]

    async def _at(self, address: str) -> ClientConnection:
        if self._open is None or self._open[0] != address:
            await self.close()
            at = f"ws://localhost:{self.port}/{address}"
            self._open = address, await connect(at, additional_headers=self.headers, max_size=None)
        return self._open[1]

    async def close(self) -> None:
        """Close the WebSocket."""
        if self._open is not None:
            await self._open[1].close()
        self._open = None


def header_of(packed: bytes) -> Any:
    """Return the header of packed data."""
    return json.loads(packed[4 : _size(packed)])


def body_of(packed: bytes) -> bytes:
    """Return the packed data after the header."""
    return packed[_size(packed) :]


def _size(packed: bytes) -> int:
    return 4 + int.from_bytes(packed[:4], "little")
