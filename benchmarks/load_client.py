"""A reader without a browser: Streamlit's protobuf messages over its websocket, as its page sends and gets them."""

import asyncio
import contextlib
import json
import math
import random
import time
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

PATIENCE = 60.0  # s for the answer to a move
EXTRA_SLIDERS = ("Clusters k", "Clusters K", "Centers k", "Levels of cuts τ (0: the rule)")
KNOBS = {"Clusters k": "n_clusters", "Clusters K": "n_clusters", "Centers k": "n_centers", EXTRA_SLIDERS[3]: "n_levels"}
EPSILON = "dpviz.epsilon"
PICTURE = "dpviz.live"
WAIT = "dpviz.wait"


class LostError(Exception):
    """The picture is not of the values that this session has."""


class Session:
    """One reader on one page. Every answer is waited for before the next move, as a reader watches the picture."""

    def __init__(self, port: int, page: str, query: dict[str, str]) -> None:
        self.port, self.page, self.query = port, page, query
        self.kept: dict[str, WidgetState] = {}  # what this reader has moved
        self.sliders: dict[str, Any] = {}  # label -> whole-number slider
        self.epsilon: Any = None  # (component, its data, fragment)
        self.shown: dict[str, str] = {}  # the picture's own link
        self.waiting: dict[str, tuple[float, str]] = {}  # component -> when to ask again, its fragment
        self.expected = dict(query)
        self.errors: list[str] = []
        self.polls = 0
        self._socket: ClientConnection | None = None
        self._script = ""
        self._known: dict[str, ForwardMsg] = {}  # what the server may refer to

    async def __aenter__(self) -> "Session":
        address = f"ws://localhost:{self.port}/_stcore/stream"
        origin: Any = f"http://localhost:{self.port}"
        protocols: Any = ["streamlit"]
        self._socket = await connect(address, origin=origin, subprotocols=protocols, max_size=None, open_timeout=60)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def open(self) -> float:
        """Open the page by its deep link; returns the seconds until its run ended."""
        took = await self._run("")
        if self.epsilon is None or not self.shown:
            raise LostError(f"{self.page} has no slider or no picture")
        self._compare()
        return took

    async def move_epsilon(self, rng: random.Random) -> float:
        """Move the privacy slider; returns the seconds until its fragment's run ended."""
        component, data, fragment = self.epsilon
        index = rng.choice([i for i in range(len(data["values"])) if i != data["index"]])
        state = WidgetState(id=component.id, json_value=json.dumps({"moved": [index, time.time_ns() // 1000]}))
        self.kept[component.id] = state
        took = await self._run(fragment)
        value = data["values"][index]
        name = min(self.shown, key=lambda each: not _is(self.shown[each], value))  # ε has another name on some pages
        if not _is(self.shown[name], value):
            raise LostError(f"{self.page}: ε was moved to {value:g}, and the picture's link has no such value")
        self._compare()
        return took

    async def move_other(self, rng: random.Random) -> float:
        """Move a slider of the sidebar; returns the seconds until the whole page's run ended."""
        label = rng.choice(sorted(self.sliders))
        slider = self.sliders[label]
        value = rng.randint(int(slider.min), min(int(slider.max), 12))
        state = WidgetState(id=slider.id)
        state.double_array_value.data.append(float(value))
        self.kept[slider.id] = state
        self.expected[KNOBS[label]] = str(value)
        took = await self._run("")
        self._compare()
        return took

    async def rest(self, seconds: float) -> None:
        """Look at the picture for a while; a waiting line goes on asking."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            due = [name for name, (when, _) in self.waiting.items() if when <= now]
            if due:
                _, fragment = self.waiting.pop(due[0])
                tick = json.dumps([{"event": "tick", "value": int(1000 * time.time())}])
                self.polls += 1
                await self._run(fragment, WidgetState(id=_make_trigger_id(due[0], "events"), json_trigger_value=tick))
            else:
                await asyncio.sleep(min(end - now, 0.05))

    async def _run(self, fragment: str, trigger: WidgetState | None = None) -> float:
        """Ask for a run and read its answer; returns how many seconds that took."""
        assert self._socket is not None
        message = BackMsg()
        client = message.rerun_script
        client.query_string, client.fragment_id = urlencode(self.query), fragment
        client.page_script_hash, client.page_name = self._script, "" if self._script else self.page
        for state in (*self.kept.values(), *([trigger] if trigger else [])):
            client.widget_states.widgets.append(state)
        if not fragment:
            self.waiting.clear()  # the whole page says anew what it waits for
        start = time.monotonic()
        await self._socket.send(message.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while not self._is_end(await self._next()):
                pass
        return time.monotonic() - start

    async def _next(self) -> ForwardMsg:
        assert self._socket is not None
        data = await self._socket.recv(decode=False)
        message = ForwardMsg()
        message.ParseFromString(data)
        if message.WhichOneof("type") == "ref_hash":  # large messages come once, then by their name
            known = ForwardMsg()
            known.CopyFrom(self._known[message.ref_hash])
            known.metadata.CopyFrom(message.metadata)
            message = known
        elif message.metadata.cacheable:
            self._known[message.hash] = message
        self._take(message)
        return message

    def _is_end(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") != "script_finished":
            return False
        if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self.errors.append(f"{self.page}: the script could not be compiled")
        return bool(message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN)

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "navigation":  # a deep link's page gets its name from the navigation
            self._script = message.navigation.page_script_hash
        elif kind == "page_not_found":
            self.errors.append(f"{self.page}: page not found")
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take_element(message.delta.new_element, message.delta.fragment_id)

    def _take_element(self, element: Any, fragment: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(f"{self.page}: {element.exception.type}: {element.exception.message}"[:200])
        elif kind == "slider" and element.slider.label in EXTRA_SLIDERS:
            self.sliders[element.slider.label] = element.slider
        elif kind == "bidi_component":
            self._take_component(element.bidi_component, fragment)

    def _take_component(self, component: Any, fragment: str) -> None:
        if component.component_name == EPSILON:
            self.epsilon = (component, json.loads(component.json), fragment)
        elif component.component_name == WAIT:
            data = json.loads(component.json)
            self.waiting.pop(component.id, None)
            if data["done"] < data["all"]:
                self.waiting[component.id] = (time.monotonic() + data["every"] / 1000, fragment)
        elif component.component_name == PICTURE:
            options = json.loads(component.bytes[4 : 4 + int.from_bytes(component.bytes[:4], "little")])
            if options["key"] == "picture":
                self.shown = dict(parse_qsl(options.get("query") or "", keep_blank_values=True))

    def _compare(self) -> None:
        wrong = {
            name: (text, self.shown.get(name)) for name, text in self.expected.items() if self.shown.get(name) != text
        }
        if wrong:
            raise LostError(f"{self.page}: (asked, shown) {wrong}")


def _is(text: str, value: float) -> bool:
    with contextlib.suppress(ValueError):
        return math.isclose(float(text), value, rel_tol=1e-9)
    return False
