"""HTTP client for the requests of a page's own scripts besides the WebSocket, over one persistent connection."""

import asyncio


class Fetcher:
    """HTTP client of one reader, with one request after the other."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        # Headers of this reader's browser.
        self.port, self.headers = port, headers
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, address: str) -> bytes | None:
        """Fetch an address below the app's. None for an empty answer, as in the scripts."""
        try:
            return await self._answer(address)
        # The server closes a connection that is quiet for seconds.
        except (asyncio.IncompleteReadError, ConnectionError):
            return await self._answer(address)

    async def _answer(self, address: str) -> bytes | None:
        self._streams = self._streams or await asyncio.open_connection("localhost", self.port)
        reader, writer = self._streams
        try:
            sent = {"Host": f"localhost:{self.port}", **self.headers}
            rows = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
            writer.write(f"GET /{address} HTTP/1.1\r\n{rows}\r\n".encode())
            status, *told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().splitlines()
            fields = dict(row.split(": ", 1) for row in told if ": " in row)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            if fields.get("connection") == "close":
                await self.close()
        # A late answer would be taken for the answer to the next request.
        except BaseException:
            await self.close()
            raise
        return body if status.split()[1] == "200" else None

    async def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
