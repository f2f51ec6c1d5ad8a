"""Streamlit's line takes its own messages only: anything else ends it, with one line in the log.

Streamlit itself writes a traceback for each message that it cannot read, so that whoever sends garbage fills the log.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.logger import get_logger
from streamlit.proto.BackMsg_pb2 import BackMsg

LINE = "/_stcore/stream"
NO_TEXT, NO_MESSAGE = 1003, 1002  # of RFC 6455: data of a kind that is not taken, and a protocol error


class OwnMessages:
    """ASGI middleware that closes Streamlit's line when what comes on it is no message of its own."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on but such a line's messages that cannot be read."""
        if scope["type"] != "websocket" or not scope["path"].endswith(LINE):
            await self.app(scope, receive, send)
            return

        async def receive_own() -> Message:
            message = await receive()
            code = _refusal(message)
            if not code:
                return message
            _LOGGER.warning("A line was closed: what came on it was no message of the app's.")
            await send({"type": "websocket.close", "code": code})
            return {"type": "websocket.disconnect", "code": code}

        await self.app(scope, receive_own, send)


_LOGGER = get_logger(__name__)


def _refusal(message: Message) -> int:
    """Return the code that closes a line after this message, 0 for one that can be read."""
    if message["type"] != "websocket.receive":
        return 0
    data = message.get("bytes")
    if data is None:
        return NO_TEXT
    try:
        read = BackMsg.FromString(data)
    except Exception:  # protobuf's own error is not the same in its two implementations
        return NO_MESSAGE
    return 0 if read.WhichOneof("type") else NO_MESSAGE
