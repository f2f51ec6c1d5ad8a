"""What a page's own scripts fetch beside the websocket, over one connection that stays open."""

import asyncio


class Fetcher:
    """One reader's fetches from the server, one after the other."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self.port, self.headers = port, headers  # those that this reader's browser sends
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, address: str) -> bytes | None:
        """Fetch what is at an address below the app's; None where the answer is empty, as the scripts see it."""
        try:
            return await self._answer(address)
        except (asyncio.IncompleteReadError, ConnectionError):  # the server lets go of what is quiet for seconds
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
        except BaseException:  # an answer that nobody waits for any more would be taken for the next one's
            await self.close()
            raise
        return body if status.split()[1] == "200" else None

    async def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
