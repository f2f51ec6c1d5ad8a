"""Sessions that were left end by themselves, also when nobody else comes.

Streamlit keeps a session for two minutes after its reader left, for the case that only the line broke. It drops those
that are over when the next reader leaves; on a quiet server their memory, their files and the addresses of their
pictures would stay for as long as it is quiet.
"""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from typing import Any

from streamlit.runtime import Runtime

from dpviz.ui.server.slow_requests import close_slow_requests

EVERY = 10.0  # s


def end_those_that_are_over() -> int:
    """Drop the sessions whose time is up; return how many are kept for readers that may come back."""
    kept: Any = Runtime.instance()._session_mgr._session_storage._cache  # type: ignore[attr-defined]  # no public way
    kept.expire()
    return len(kept)


@contextlib.asynccontextmanager
async def lifespan(_app: Any) -> AsyncIterator[None]:
    """Look after sessions and connections every few seconds, for as long as the server runs."""
    tasks = [asyncio.create_task(each) for each in (_look(), close_slow_requests())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()


async def _look() -> None:
    known = 0
    while True:
        await asyncio.sleep(EVERY)
        with contextlib.suppress(Exception):  # what Streamlit changes in there may cost memory, and no more
            kept = end_those_that_are_over()
            if kept < known:  # what a session held refers to itself
                await asyncio.to_thread(gc.collect)
            known = kept
