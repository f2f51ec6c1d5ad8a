"""Reader without a browser: Streamlit's protobuf messages over its WebSocket, as its page sends and receives them.

The reader imitates the page's own scripts, including their pauses: it requests the picture in advance of the rerun
(dpviz/assets/epsilon.js, ahead.js), an open tab follows the picture at rest, a queue checks the progress of background
work (dpviz/assets/wait.js), and it requests the strip's bands one after the other (dpviz/assets/bands.js).
"""

import asyncio
import contextlib
import json
import math
import random
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.load_http import Fetcher
from benchmarks.load_line import Line, body_of, header_of

# Limit for the answer to a move, s.
PATIENCE = 60.0
EXTRA_SLIDERS = ("Clusters k", "Clusters K", "Centers k", "Levels of cuts τ (0: the rule)")
KNOBS = {"Clusters k": "n_clusters", "Clusters K": "n_clusters", "Centers k": "n_centers", EXTRA_SLIDERS[3]: "n_levels"}
# Component with the picture and its slider.
STAGE = "dpviz.stage"
WAIT = "dpviz.wait"
ADDRESS = "dpviz.address"
# Time that the slider waits for a picture in advance, s (dpviz/assets/epsilon.js).
AHEAD = 0.6
# Rest before the page follows such a picture, s.
REST = 0.3
# Rest before the strip requests bands, s (dpviz/assets/bands.js).
STILL = 2.5
# Pause between two bands, s.
GAP = 0.1
STRIDES = (8, 4, 2, 1)


class LostError(Exception):
    """Error for a picture that does not match this session's values."""


@dataclass
class Waiting:
    """Queue entry that waits for background work or for the next picture: the state of dpviz/assets/wait.js."""

    data: dict[str, Any]
    fragment: str
    loaded: float
    is_in_sight: bool
    # Time of the next look at the work's progress, or of the request to the page.
    due: float = math.inf
    # Whether to ask the page instead of the short way.
    asks: bool = False

    def __post_init__(self) -> None:
        unseen = self.data["unseen"]
        if self.data["done"] < self.data["all"] and (self.is_in_sight or not unseen):
            self.due, self.asks = self.loaded + self.data["every"] / 1000, unseen or not self.data["peek"]

    def follow(self) -> None:
        """Ask the page once the picture has rested."""
        if self.data["unseen"]:
            return
        self.due, self.asks = time.monotonic() + self.data["quiet"] / 1000, True

    def look(self, answer: bytes | None) -> None:
        """Ask the page if there is something to draw; otherwise look again."""
        now, drawn = time.monotonic(), self.data["done"]
        told: dict[str, Any] = {"done": None, "every": 0} if answer is None else json.loads(answer)
        done = told["done"]
        self.due, self.asks = now + told["every"] / 1000, False
        enough = now - self.loaded > (self.data["redrawn"] / 1000 if drawn else 0.0)
        if done is None or done >= self.data["all"] or (done > drawn and enough):
            self.due, self.asks = now, True


class Session:
    """One reader on one page. It waits for each answer before the next move, like a reader who watches the picture."""

    def __init__(self, port: int, page: str, query: dict[str, str], *, scrolls: bool) -> None:
        self.port, self.page, self.query = port, page, query
        # Whether this reader can see the part below the picture.
        self.scrolls = scrolls
        # Widgets that this reader has moved.
        self.kept: dict[str, WidgetState] = {}
        # label -> (integer slider, its fragment)
        self.sliders: dict[str, Any] = {}
        self.epsilon: Any = None  # (component, its data, fragment)
        # Query of the page's URL.
        self.shown: dict[str, str] = {}
        # Options of the picture, with the address for pictures in advance.
        self.picture: dict[str, Any] = {}
        # Name of the drawn scene: equal names mean equal pictures.
        self.scene = ""
        self.waiting: dict[str, Waiting] = {}
        self.expected = dict(query)
        self.errors: list[str] = []
        self.peeks = self.bands = 0
        # Key of the bands, and the indexes of the available bands.
        self._known: tuple[str, set[int]] = "", set()
        # Seconds until a picture arrived in advance.
        self.pictures: list[float] = []
        # Seconds until a tab had followed.
        self.follows: list[float] = []
        # Name of the picture and query when the page was last at rest.
        self.settled = "", dict(query)
        # Cookie that ties the reader to one of several processes.
        self.headers: dict[str, str] = {}
        self._fetcher = Fetcher(port, self.headers)
        self._socket: ClientConnection | None = None
        # Ends with the socket.
        self._gone: asyncio.Task[None] | None = None
        self._line = Line(port, self.headers)
        self._script = ""
        # Messages that the server may refer to.
        self._messages: dict[str, ForwardMsg] = {}

    async def __aenter__(self) -> "Session":
        await self._connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def _connect(self) -> None:
        address = f"ws://localhost:{self.port}/_stcore/stream"
        options: Any = {"origin": f"http://localhost:{self.port}", "subprotocols": ["streamlit"], "max_size": None}
        self._socket = await connect(address, additional_headers=self.headers, open_timeout=60, **options)
        self._gone = asyncio.create_task(self._socket.wait_closed())
        answer = self._socket.response
        for each in answer.headers.get_all("Set-Cookie") if answer else ():
            self.headers["Cookie"] = each.partition(";")[0]

    async def _leave(self) -> None:
        await self._line.close()
        await self._fetcher.close()
        if self._socket is not None:
            await self._socket.close()

    async def open(self) -> float:
        """Open the page by its deep link and return the seconds until its run ended."""
        took = await self._run("")
        if self.epsilon is None or not self.shown:
            raise LostError(f"{self.page} has no slider or no picture")
        self._compare()
        return took

    async def come_back(self) -> None:
        """Open the page again by its URL after its process has died: the picture must be the same."""
        scene, query = self.settled
        await self._leave()
        self.kept.clear()
        self._messages.clear()
        self._script, self.scene, self.query = "", "", query
        # Without a move that is still on its way.
        self.expected = {name: query.get(name, text) for name, text in self.expected.items()}
        await self._connect()
        await self.open()
        if self.scene != scene:
            raise LostError(f"{self.page}: the picture that came back is another one")

    async def move_epsilon(self, rng: random.Random) -> float:
        """Move the privacy slider and return the seconds of its fragment's run."""
        component, data, fragment = self.epsilon
        index = rng.choice([i for i in range(len(data["values"])) if i != data["index"]])
        state = WidgetState(id=component.id, json_value=json.dumps({"moved": [index, time.time_ns() // 1000]}))
        self.kept[component.id] = state
        fetch = asyncio.create_task(self._fetch_picture(index))
        await asyncio.wait({fetch}, timeout=AHEAD)
        if fetch.done() and fetch.result():
            await asyncio.sleep(REST)
        took = await self._run(fragment)
        ahead = await fetch
        value = data["values"][index]
        # ε has a different name on some pages.
        name = min(self.shown, key=lambda each: not _is(self.shown[each], value))
        if not _is(self.shown[name], value):
            raise LostError(f"{self.page}: ε was moved to {value:g}, but the picture's link does not have this value")
        if ahead and ahead != self.scene:
            raise LostError(f"{self.page}: at ε = {value:g} another picture came ahead of the page than the page's")
        self._compare()
        return took

    async def move_other(self, rng: random.Random) -> float:
        """Move a slider of the sidebar or of a tab and return the seconds until its run ended."""
        label = rng.choice(sorted(self.sliders))
        slider, fragment = self.sliders[label]
        value = rng.randint(int(slider.min), min(int(slider.max), 12))
        state = WidgetState(id=slider.id)
        state.double_array_value.data.append(float(value))
        self.kept[slider.id] = state
        self.expected[KNOBS[label]] = str(value)
        took = await self._run(fragment)
        self._compare()
        return took

    async def rest(self, seconds: float) -> None:
        """Look at the picture for a while; a tab follows it, and a queue and the strip continue their requests."""
        end = time.monotonic() + seconds
        strip = asyncio.create_task(self._ask_bands())
        try:
            await self._rest_until(end)
        finally:
            strip.cancel()
            (ended,) = await asyncio.gather(strip, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended

    async def _rest_until(self, end: float) -> None:
        while (now := time.monotonic()) < end:
            assert self._gone is not None
            if self._gone.done():
                raise ConnectionError("The server has ended.")
            name, first = min(self.waiting.items(), key=lambda each: each[1].due, default=("", None))
            if first is None or first.due > now:
                await asyncio.wait({self._gone}, timeout=min(end, math.inf if first is None else first.due) - now)
            elif first.asks:
                await self._ask(name, first)
            else:
                self.peeks += 1
                first.look(await self._fetcher.get(first.data["peek"]))

    async def _ask_bands(self) -> None:
        """Request the bands outward from the slider's value, coarse before fine."""
        await asyncio.sleep(STILL)
        while (offer := self.picture.get("ahead")) and offer["bands"]:
            known, here, count = self._known[1], self.epsilon[1]["index"], len(self.epsilon[1]["values"])
            missing = [here] if here not in known else []
            for stride in STRIDES:
                missing += sorted({*range(0, count, stride), count - 1} - known, key=lambda i: abs(i - here))
            if not missing:
                return
            if await self._line.ask_band(offer["address"], missing[0]) != offer["bands"]:
                # The band belongs to a page that is gone.
                return
            self.bands += 1
            known.add(missing[0])
            await asyncio.sleep(GAP)

    async def _ask(self, name: str, waiting: Waiting) -> None:
        """Request a run of a waiting queue's fragment."""
        waiting.due = math.inf
        event = "seen" if waiting.data["unseen"] else "tick"
        asked = json.dumps([{"event": event, "value": int(1000 * time.time())}])
        trigger = WidgetState(id=_make_trigger_id(name, "events"), json_trigger_value=asked)
        self.follows.append(await self._run(waiting.fragment, trigger))

    async def _fetch_picture(self, index: int) -> str:
        """Fetch the picture of a move in advance and return its name, or "" if there is none."""
        ahead = self.picture.get("ahead")
        if ahead is None:
            return ""
        start = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            pictures = await self._line.ask(ahead["address"], index)
        if "picture" not in pictures:
            return ""
        self.pictures.append(time.monotonic() - start)
        scene = str(header_of(pictures["picture"])["hash"])
        self._draw(scene)
        return scene

    def _draw(self, scene: str) -> None:
        """Draw a picture unless it is already shown, and let the open tab follow."""
        if scene != self.scene:
            for each in self.waiting.values():
                each.follow()
        self.scene = scene

    async def _run(self, fragment: str, trigger: WidgetState | None = None) -> float:
        """Request a run, read its answer and return the seconds for both."""
        assert self._socket is not None
        message = BackMsg()
        client = message.rerun_script
        client.query_string, client.fragment_id = urlencode(self.query), fragment
        client.page_script_hash, client.page_name = self._script, "" if self._script else self.page
        for state in (*self.kept.values(), *([trigger] if trigger else [])):
            client.widget_states.widgets.append(state)
        if not fragment:
            # A run of the whole page starts all waits again.
            self.waiting.clear()
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
        # The server sends a large message once, and its name after that.
        if message.WhichOneof("type") == "ref_hash":
            known = ForwardMsg()
            known.CopyFrom(self._messages[message.ref_hash])
            known.metadata.CopyFrom(message.metadata)
            message = known
        elif message.metadata.cacheable:
            self._messages[message.hash] = message
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
        # The page of a deep link gets its name from the navigation.
        if kind == "navigation":
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
            self.sliders[element.slider.label] = (element.slider, fragment)
        elif kind == "bidi_component":
            self._take_component(element.bidi_component, fragment)

    def _take_component(self, component: Any, fragment: str) -> None:
        if component.component_name == WAIT:
            self.waiting[component.id] = Waiting(json.loads(component.json), fragment, time.monotonic(), self.scrolls)
        elif component.component_name == ADDRESS:
            self._locate(json.loads(component.json)["query"])
        elif component.component_name == STAGE:
            self.picture = header_of(component.bytes)
            self.epsilon = (component, self.picture["instrument"], fragment)
            if offer := self.picture["ahead"]:
                if self._known[0] != offer["bands"]:
                    self._known = offer["bands"], set()
                self._known[1].update(i for i, band in enumerate(offer["known"] or ()) if band)
            self._locate(self.picture["query"])
            self._draw(str(header_of(body_of(component.bytes))["hash"]))

    def _locate(self, query: str | None) -> None:
        self.shown = dict(parse_qsl(query or "", keep_blank_values=True))

    def _compare(self) -> None:
        wrong = {
            name: (text, self.shown.get(name)) for name, text in self.expected.items() if self.shown.get(name) != text
        }
        if wrong:
            raise LostError(f"{self.page}: (asked, shown) {wrong}")
        self.settled = self.scene, dict(self.shown)


def _is(text: str, value: float) -> bool:
    with contextlib.suppress(ValueError):
        return math.isclose(float(text), value, rel_tol=1e-9)
    return False
