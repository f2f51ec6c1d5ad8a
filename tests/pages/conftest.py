"""Pages without a browser: open a page by its name and link, and read its output for the reader."""

import base64
import dataclasses
import gzip
import html
import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest, app_test

from dpviz.core import knobs
from dpviz.methods import CATALOGUE
from dpviz.ui import asking, stage
from dpviz.ui.asking import Answers
from dpviz.ui.runs import SCREEN
from tests.another_process import another_process


@pytest.fixture(autouse=True)
def idle_workshop(monkeypatch):
    """Let background work never be done: pages are the same whenever they are looked at, and no process starts."""
    idle = SimpleNamespace(
        ask=lambda _source, jobs, _own: Answers((None,) * len(jobs)),
        recall=lambda _source, _job: None,
        forget=lambda: None,
        give_way=lambda: None,
    )
    monkeypatch.setattr(asking, "background", lambda: idle)
    # No browser is there to report that the place is in sight.
    monkeypatch.setattr(asking._Asking, "is_seen", True)


@pytest.fixture(scope="module", autouse=True)
def components_known_once():
    """Let the apps that a file opens share their components, as a server's sessions do: each would look for them."""
    with pytest.MonkeyPatch.context() as patch:
        known = app_test.BidiComponentManager()
        known.discover_and_register_components(start_file_watching=False)
        patch.setattr(known, "discover_and_register_components", lambda **_: None)
        patch.setattr(app_test, "BidiComponentManager", lambda: known)
        yield


def unpacked(kept):
    """Return the states in a picture to keep, {name: directory}, and all that these name, {name: bytes}."""
    states, blobs = {}, {}
    for name, data in re.findall(r"dpvizData\('([^']*)', '([^']*)'\)", kept):
        whole = gzip.decompress(base64.b64decode(data))
        at = 4 + int.from_bytes(whole[:4], "little")
        read = json.loads(whole[4:at])
        states[name] = read["state"]
        for key, size in read["blobs"]:
            blobs[key] = whole[at : at + size]
            at += size
            # Width of a row. All rows but the first contain only changes.
            if width := int(key.partition(".")[2] or 0):
                held = bytearray(blobs[key])
                for i in range(width, size):
                    held[i] ^= held[i - width]
                blobs[key] = bytes(held)
    return states, blobs


_DONE = {}


def records_of(data):
    """Return the arrays that a task can get of a data set."""
    return data.points, data.labels, data.box.low, data.box.high


def at_once(monkeypatch, *modules):
    """Do the background work of these modules' tasks, or of all, at once, here; return a test's answers, {job: answer}.

    An answer depends only on the job and the records, so no test waits for an answer that an earlier test has waited
    for. Tests set all other inputs of a task to the same values wherever they let it work.
    """
    known, names = {}, {module.__name__ for module in modules}

    def ask(source, jobs, _own):
        data = source.dataset
        for job in jobs:
            if job not in known and (not names or job.task.__module__ in names):
                given = (data.labels, *job.arguments) if job.classified else job.arguments
                key = (job, *(None if each is None else (each.shape, each.tobytes()) for each in records_of(data)))
                if key not in _DONE:
                    _DONE[key] = job.task(data.points, data.box, *given)
                known[job] = _DONE[key]
        return Answers(tuple(known.get(job) for job in jobs))

    monkeypatch.setattr(
        asking, "background", lambda: SimpleNamespace(ask=ask, recall=lambda _source, _job: None, forget=lambda: None)
    )
    return known


def clicking(monkeypatch, module, key):
    """Let the picture of this key, or the one on the stage, report clicks; return the click state to edit."""
    clicked, own_live = SimpleNamespace(picked=None, picked_mark=None, pick_count=0), module.live
    if key == stage.KEY:
        draw = stage.draw_stage
        monkeypatch.setattr(
            stage, "draw_stage", lambda *args, **options: dataclasses.replace(draw(*args, **options), **vars(clicked))
        )
        return clicked

    def live(scene, **options):
        state = own_live(scene, **options)
        return dataclasses.replace(state, **vars(clicked)) if options["key"] == key else state

    monkeypatch.setattr(module, "live", live)
    return clicked


ROOT = Path(__file__).resolve().parents[2]
# A test of app.py runs this script for the first run only, then the page alone.
MAIN = "dpviz/ui/server/script.py"
FILES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
# Pages of an algorithm.
PAGES = sorted(name for name in FILES if name in CATALOGUE)
# Pages with records of the user's choice.
LINKED = [name for name in FILES if name in (*PAGES, "audit", "compare")]
FIRST = next(iter(CATALOGUE))
DPM, MORSE, LAPLACE, TARGET = "dpm", "morse", "nd_laplace", "source_target"
# The knob that chooses between the published and the proved version.
MODE_KNOBS = ("mode", "calibration")
SOME_KNOB = {
    FIRST: ("Clusters k", "n_clusters", 8, 9),
    DPM: ("Levels of cuts τ (0: the rule)", "n_levels", 2, 1),
    MORSE: ("Clusters K", "n_clusters", 8, 9),
    LAPLACE: ("Radius that ε is for", "radius", 3, 6),
    TARGET: ("Centers k", "n_centers", 8, 9),
}
# Other pages have sliders.
SOME_KIND = {LAPLACE: "selectbox"}


def modes_of(name):
    """Return the links to the modes of a page: [{}] if it has no modes."""
    found = [knob for knob in knobs(CATALOGUE[name].Params) if knob.name in MODE_KNOBS]
    return [{knob.name: mode} for knob in found for mode, _ in knob.choices] or [{}]


def split(data):
    """Return the JSON before bytes, and the rest."""
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


class Page:
    """One page in one session; without a name the app finds the page of the link, as in a browser."""

    def __init__(self, name, query):
        self.app = AppTest.from_file(str(ROOT / ("app.py" if name else MAIN)), default_timeout=300)
        self.app.query_params.update(query)
        if name:
            self.app.switch_page(f"pages/{name}.py")
        self.run()

    def run(self):
        """Run again; the test shows any error."""
        self.app.run()
        assert [(error.message, error.stack_trace) for error in self.app.exception] == []
        return self

    def widget(self, kind, label):
        """Return the one widget of this kind and label."""
        (found,) = [widget for widget in getattr(self.app, kind) if widget.label == label]
        return found

    def set(self, kind, label, value):
        """Move a widget and run again."""
        self.widget(kind, label).set_value(value)
        return self.run()

    def press(self, label):
        """Press the one button of this label and run again."""
        self.widget("button", label).click()
        return self.run()

    def go(self, name):
        """Open another page in the same session."""
        self.app.switch_page(f"pages/{name}.py")
        return self.run()

    def give(self, content, name="mine.csv", kind="text/csv", label="Your file"):
        """Give a file to a field, or take it away with None, and run again."""
        return self.set("file_uploader", label, content if content is None else (name, content, kind))

    def look(self, audience):
        """Choose the audience, below the picture."""
        self.app.session_state["dpviz:knobs"].values["audience"] = audience
        return self.run()

    def packed(self):
        """Return {key: (options, scene's header, packed scene)} of every live picture on the page.

        The session's name and the address of pictures that come ahead are no options that two sessions share.
        """
        found = {}
        for element in self.app.get("bidi_component"):
            kind = element.proto.component_name
            if kind not in ("dpviz.live", "dpviz.stage"):
                continue
            options, rest = split(element.proto.bytes)
            for picture in options.get("pictures", [options]):
                scene = rest[: picture.pop("length", len(rest))]
                rest = rest[len(scene) :]
                header, _ = split(scene)
                if kind == "dpviz.stage":
                    picture |= {name: options[name] for name in ("query", "audience", "count")}
                picture.pop("ahead", None)
                picture.pop("session", None)
                found[picture["key"]] = (picture, header, scene)
        return found

    def names(self, key="picture"):
        """Return the names of a picture's layers."""
        return {layer["name"] for layer in self.packed()[key][1]["layers"]}

    @property
    def stage(self):
        """Return the text next to the picture, or None without a stage."""
        first = self.packed().get("picture")
        return None if first is None else first[1].get("stage")

    @property
    def told(self):
        """Return the stage's data apart from its pictures, or {} if there is no stage."""
        stages = [each.proto for each in self.app.get("bidi_component") if each.proto.component_name == "dpviz.stage"]
        return split(stages[0].bytes)[0] if stages else {}

    @property
    def query(self):
        """Return the value of every knob on the page, in the form of links, and all other parts of the page's link."""
        session = self.app.session_state
        screen = session[SCREEN] if SCREEN in session else None  # noqa: SIM401 - it has no get
        return {**({} if screen is None else dict(screen.pairs)), **self.link}

    @property
    def link(self):
        """Return the link that the page hands to the picture, or to the component that writes the URL without one."""
        pictures = self.packed()
        if self.compared is not None:
            query = self.compared["query"]
        else:
            own = pictures["picture"][0] if "picture" in pictures else self.told or self.sent("address")
            query = own["query"]
        return dict(parse_qsl(query or "", keep_blank_values=True))

    def sent(self, component):
        """Return the data of the page's one component of this name."""
        elements = [each.proto for each in self.app.get("bidi_component")]
        (data,) = [each.json for each in elements if each.component_name == f"dpviz.{component}"]
        return json.loads(data)

    @property
    def compared(self):
        """Return the content of Compare's stage at every ε, or None if there is no stage."""
        names = [each.proto.component_name for each in self.app.get("bidi_component")]
        return self.sent("compare_stage") if "dpviz.compare_stage" in names else None

    @property
    def hash(self):
        """Return the picture's hash: equal hashes, equal pictures."""
        return self.packed()["picture"][1]["hash"]

    @property
    def bodies(self):
        """Return every piece of HTML, the style sheet aside."""
        bodies = [element.proto.body for element in self.app.get("html")]
        return [body for body in bodies if not body.lstrip().startswith("<style")]

    @property
    def html_texts(self):
        """Return the text of every piece of HTML; a term that opens its meaning is a word like any other."""
        bodies = [
            re.sub(r'<button[^>]*popovertarget="dpviz-term-[^>]*>(.*?)</button>', r"\1", body) for body in self.bodies
        ]
        return [html.unescape(re.sub(r"<[^>]*>", " ", body)) for body in bodies]

    @property
    def texts(self):
        """Return the words on the stage, and the text of every piece of HTML."""
        stage = self.stage or {}
        words = [stage[name].replace("**", "") for name in ("finding", "lede", "guarantee") if stage.get(name)]
        return [*words, *self.html_texts]

    @property
    def text(self):
        return "\n".join(self.texts)

    @property
    def card(self):
        """Return the text of the guarantee's label, and of the details behind it."""
        (found,) = [text for body, text in zip(self.bodies, self.html_texts, strict=True) if "dpviz-card" in body]
        return found

    @property
    def sentence(self):
        """Return the finding on the stage, or "" if there is none."""
        return (self.stage or {}).get("finding", "")

    @property
    def n_locks(self):
        """Return the count of numbers that are marked for the curator only."""
        return sum(body.count("dpviz-lock") for body in self.bodies)

    @property
    def warnings(self):
        """Return the warnings as a reader reads them."""
        return [warning.value.replace("\\", "") for warning in self.app.warning]

    @property
    def said(self):
        """Return the text of all boxes, as a reader sees it."""
        boxes = [*self.app.error, *self.app.warning, *self.app.info]
        return "\n".join(box.value for box in boxes).replace("\\", "")

    @property
    def captions(self):
        """Return the captions as a reader reads them."""
        return [caption.value.replace("\\", "") for caption in self.app.caption]

    @property
    def buttons(self):
        """Return the labels of all buttons."""
        return [button.label for button in self.app.button]

    @property
    def shown(self):
        """Return the page's screen: its source, runs and settings."""
        return self.app.session_state["dpviz:shown"]

    @property
    def source(self):
        """Return the records of the page and how they were read."""
        return self.shown.source

    @property
    def sliders(self):
        """Return the privacy sliders on the page, {label: data}."""
        components = self.app.get("bidi_component")
        stages = [split(each.proto.bytes)[0] for each in components if each.proto.component_name == "dpviz.stage"]
        data = [each["instrument"] for each in stages if each["instrument"] is not None]
        data += [json.loads(each.proto.json) for each in components if each.proto.component_name == "dpviz.epsilon"]
        return {one["label"]: one for one in data}


@pytest.fixture(scope="session")
def run_in():
    """Return a function that runs a script in a folder, in a separate process."""
    with another_process() as run:
        yield run


@pytest.fixture
def open_page():
    """Return the opener: open_page(name, **query)."""

    def opened(name=FIRST, **query):
        return Page(name, query)

    return opened


@pytest.fixture(params=PAGES)
def name(request):
    """Return the name of each page."""
    return request.param


@pytest.fixture
def upload(open_page, name):
    """Return the uploader: upload(content, **link) opens the page with its file chosen."""

    def uploaded(content, file_name="mine.csv", **link):
        page = open_page(name, **{"data": "upload:", **link})
        assert page.packed() == {}
        return page.give(content, file_name)

    return uploaded


def typed(page, bounds):
    """Type bounds, {label of the lower one: (low, high)}, and run."""
    for label, (low, high) in bounds.items():
        fields = page.app.text_input
        at = [field.label for field in fields].index(label)
        fields[at].set_value(f"{low:g}")
        fields[at + 1].set_value(f"{high:g}")
    return page.run()


def unit_bounds(page):
    """Type 0 and 1 as the bounds of ages and incomes."""
    return typed(page, {"age from": (0.0, 1.0), "income from": (0.0, 1.0)})


def release(page):
    """Release the page's settings of own records, as a curator does: tick the box, and press the button."""
    (sure,) = [each for each in page.app.checkbox if each.label.startswith("I release it")]
    sure.set_value(True)
    return page.run().press("Release")
