"""Every entry of every page's Export menu, on every kind of data: the file exists and has the right content."""

import csv
import dataclasses
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from dpviz.plots import read_header, scene_hash
from dpviz.plots.scene import pack
from dpviz.plots.table import COLUMNS, FORMULA_STARTS
from dpviz.stories.recipe import UPLOAD
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.runs import ENTRIES
from dpviz.ui.export import settings
from dpviz.ui.export.files import CURATOR, FORMATS, PICTURED, PUBLIC, ExportRequest, make
from dpviz.ui.runs import MethodScreen
from tests.pages.conftest import FIRST, LINKED, at_once, release, typed, unpacked

# Pages that do not belong to a single method.
ACROSS = ("audit", "compare")
FORMULA = "=cmd|'/c calc'!A0"
FILE = "<script>alert(1)</script>../../=me.csv"
ROWS = np.random.default_rng(7).random((150, 2)).round(6)
CONTENT = (f"age,{FORMULA}\n" + "\n".join(f"{a},{b}" for a, b in ROWS)).encode()
LINKS = {
    "blobs": {"data": "blobs", "n": "150"},
    "draw": {"data": "draw", "drawing": "ring"},
    "upload": {"data": "upload:"},
    "upload, public": {"data": "upload:", "audience": "public"},
}
NO_METHODS = {f"with_{key}": "0" for key in ENTRIES}
QUICK = {
    "audit": {"audit_runs": "200", "neighbors": "own"},
    "compare": {"compare_runs": "10", **NO_METHODS, "with_dplloyd": "1", "compare_at": "0.3"},
}

SCRIPTED = {
    **LINKS,
    "blobs, public": LINKS["blobs"] | {"audience": "public"},
    "draw, public": LINKS["draw"] | {"audience": "public"},
    "bundled": {"data": "iris", "n": "150"},
    "chosen run": LINKS["blobs"] | {"chosen": "dplloyd", "chosen_epsilon": "1.0"},
    "chosen run, upload": LINKS["upload"] | {"chosen": "dplloyd", "chosen_epsilon": "1.0"},
    "own pair": {"data": "synthetic_2", "n": "150"},
    "own pair, public": {"data": "first_aid", "n": "150", "audience": "public"},
}
ONLY = {kind: ("compare",) for kind in SCRIPTED if "chosen" in kind}
ONLY |= {kind: ("source_target",) for kind in SCRIPTED if "pair" in kind}
IN_EVERY_RUN = {
    FIRST: ("upload",),
    "dpm": ("draw, public",),
    "morse": ("bundled",),
    "nd_laplace": ("upload, public",),
    "source_target": ("own pair",),
    "audit": ("draw",),
    "compare": ("chosen run, upload", "blobs, public"),
}


@pytest.fixture
def place(request, monkeypatch):
    """Return the name of a page; its requests to the background process are done at once."""
    if request.param in ACROSS:
        at_once(monkeypatch, {"audit": audit_tasks, "compare": compare_tasks}[request.param])
    return request.param


def given(page):
    """Give a page the file that it may ask for."""
    if "Your file" in [field.label for field in page.app.file_uploader]:
        page.give(CONTENT, FILE)
        labels = [field.label for field in page.app.text_input if field.label.endswith(" from")]
        typed(page, dict.fromkeys(labels, (0.0, 1.0)))
        if any("Nothing from this file has been released" in info.value for info in page.app.info):
            release(page.look("curator")).look("public")
    assert not page.app.error
    return page


def offered(page):
    """Return the formats in the page's menu, as sent to the browser."""
    (menu,) = [each for each in page.app.get("bidi_component") if each.proto.component_name == "dpviz.export"]
    data = menu.proto.bytes
    options = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    return [name for name, _ in options["formats"]]


@pytest.mark.parametrize(
    ("place", "kind"),
    # In every run, each page with two kinds of data: one that the public sees, and one of the other kinds in turn.
    [
        pytest.param(place, kind, marks=() if "public" in kind or (i + j) % (len(LINKS) - 1) == 0 else pytest.mark.slow)
        for i, place in enumerate(LINKED)
        for j, kind in enumerate(LINKS)
    ],
    indirect=["place"],
)
def test_every_file_of_every_page_holds_what_is_on_screen(open_page, place, kind):
    opened = given(open_page(place, **LINKS[kind], **QUICK.get(place, {})))
    shown = opened.shown
    formats = offered(opened)
    # The pages in ACROSS show the public nothing about these records.
    blind = shown.public and place in ACROSS
    assert formats == [name for name in FORMATS if not (blind and name in PICTURED)]
    last = min((len(scene.frames) for scene in shown.scenes), default=1) - 1
    for kind in formats:
        for frame in dict.fromkeys((0, last)) if kind in ("svg", "csv") else (0,):
            # The browser lists the layers that are off; a page has the layers of all steps.
            off = {name for scene in shown.scenes for name in scene.hidden_names} if kind == "html" else ()
            file = make(shown, place, ExportRequest(kind, frame, frozenset(off)))
            name = dict(shown.source.link)["data"].partition(":")[0]
            ending = re.escape(FORMATS[kind][0])
            assert re.fullmatch(rf"dpviz_{place}_{name}(_epsilon-[0-9.]+)?\.{ending}", file.name)
            assert ("epsilon" in file.name) == (place != "audit")
            text = file.content.decode("utf-8-sig")
            assert "=me.csv" not in text, "a file's name can say whose records they are"
            CHECKS[kind](text, shown, place, frame)
            if shown.public:
                check_nothing_exact(text, shown)


def check_drawing(text, shown, place, frame):
    del place
    said = "".join(ET.fromstring(text).itertext())
    for scene in shown.scenes:
        assert scene.title in said
        drawn = [one.layer.name for one in scene.visible(frame)]
        assert all(name in said for name in drawn)
    whose = PUBLIC if shown.public else CURATOR
    assert whose.split()[-1] in said
    filled = re.findall(r"<g><title>[^<]*</title><(?!/g>)", text)
    assert bool(filled) == any(scene.visible(frame) for scene in shown.scenes)
    assert not re.search(r"<script|onerror|(href|src)=.https?:", text)


def test_an_article_about_a_method_without_privacy_shows_its_public_step_and_no_epsilon(open_page):
    page = open_page(FIRST, mode="lloyd", **LINKS["blobs"])
    text = make(page.shown, FIRST, ExportRequest("article-svg", frame=10**6)).content.decode()
    assert "Nothing is claimed, and nothing is proved." in text
    assert "at ε" not in text


def check_article(text, shown, place, frame):
    """Check the public picture for print; a page without runs gives its drawing, and its menu says why."""
    if not isinstance(shown, MethodScreen):
        check_drawing(text, shown, place, frame)
        return
    said = " ".join(ET.fromstring(text).itertext())
    assert "(secret)" not in said
    assert CURATOR not in said
    assert "Picture: dpviz" in said
    assert not re.search(r"<script|onerror|(href|src)=.https?:", text)


def check_page(text, shown, place, frame):
    """Check one state for each value of the slider if that is no further release, or else the one on screen alone."""
    del frame
    directories, blobs = unpacked(text)
    index = json.loads(re.search(r"dpvizIndex\((.*)\);</script>", text)[1])
    secret = not isinstance(shown, MethodScreen) or shown.source.own
    assert len(directories) - 1 == (1 if secret else len(index["slider"]["values"]))
    state = directories["0.0.0.0" if secret else f"0.0.0.{index['slider']['index']}"]
    for scene, picture in zip(shown.scenes, state["pictures"], strict=True):
        held = b"".join(blobs[key] for key in (picture["header"], *picture["arrays"]))
        assert held == pack(dataclasses.replace(scene, hint=""))
    # The pages in ACROSS show charts without numbers below them.
    if place not in ACROSS:
        facts = re.sub(r"<[^>]*>", "", blobs[state["leaves"][0]].decode())
        assert facts.startswith(("Run", "Utility", "Risk")), facts
        stage = read_header(blobs[state["pictures"][0]["header"]])["stage"]
        assert stage["finding"].endswith(".")
        assert stage["guarantee"]
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text), "the page is whole"
    assert "<script>alert" not in text
    if shown.public:
        exact = shown.source.dataset.box.to_unit(shown.source.dataset.points).astype(np.float32)
        assert not any(row.tobytes() in b"".join(blobs.values()) for row in exact)


def check_table(text, shown, place, frame):
    del place
    head, *rows = list(csv.reader(io.StringIO(text, newline="")))
    assert tuple(head) == COLUMNS
    drawn = {one.layer.name for scene in shown.scenes for one in scene.visible(frame, ())}
    assert {row[1].removeprefix("'") for row in rows} <= drawn
    assert bool(rows) == any(layer.arrays for scene in shown.scenes for layer in scene.layers)
    for row in rows:
        assert all(np.isfinite(float(cell)) for cell in row[7:] if cell)
        assert not [cell for cell in row[:7] if cell.startswith(FORMULA_STARTS)]


def check_settings(text, shown, place, frame):
    del frame
    found = settings.read(text.encode(), LINKED)
    asked = dict(shown.pairs)
    assert found.page == place
    # The form describes an upload instead of the query.
    described = {name for name, _ in shown.source.link[1:]} if shown.source.uploaded else set()
    # A release, whose noise no seed repeats.
    if shown.source.uploaded and shown.public and isinstance(shown, MethodScreen):
        described.add("noise_seed")
    assert dict(found.query) == {name: value for name, value in asked.items() if name not in described}
    assert list(found.hashes) == (
        [scene_hash(scene) for scene in shown.scenes] if isinstance(shown, MethodScreen) else []
    )
    if shown.source.uploaded:
        assert found.form.features == shown.source.form.features
    whole = json.loads(text)
    assert all(each["line"] for each in whole["guarantees"])
    assert bool(whole["guarantees"]) != (place in ACROSS and shown.public)


def check_script(text, shown, place, frame):
    del place, frame
    # A different test runs the script in a separate process.
    compile(text, "script", "exec")
    assert len(text.splitlines()) <= 25, "a person reads it"
    assert repr(dict(shown.source.link)["data"]) in text or shown.source.own


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        pytest.param(place, kind, marks=() if kind in IN_EVERY_RUN[place] else pytest.mark.slow)
        for place in LINKED
        for kind in SCRIPTED
        if kind not in ONLY or place in ONLY[kind]
    ],
    indirect=["place"],
)
def test_every_script_makes_what_is_on_screen_in_another_process(open_page, run_in, tmp_path, place, kind):
    page = given(open_page(place, **SCRIPTED[kind], **QUICK.get(place, {})))
    shown = page.shown
    if shown.source.uploaded:
        (tmp_path / UPLOAD).write_bytes(CONTENT)
    text = make(shown, place, ExportRequest("py")).content.decode()
    if shown.public and shown.source.drawn:
        rows = np.column_stack([shown.source.dataset.points, shown.source.dataset.labels]).tolist()
        # The script asks the user to insert the points here.
        text = text.replace("drawn = np.array([", f"drawn = np.array([*{rows!r},")
    done = run_in(tmp_path, text)
    assert not done.failed, done.stderr
    found, expected = done.stdout.split(), [scene_hash(scene) for scene in shown.scenes]
    blind = shown.public and not expected
    # A release, which has other noise.
    secret = shown.source.uploaded and shown.public and place not in ACROSS
    assert found == expected or blind or (secret and len(found) == len(expected))
    assert (tmp_path / "picture.html").stat().st_size > 10_000


def check_nothing_exact(text, shown):
    numbers = {repr(number) for number in shown.source.dataset.points.ravel().tolist()}
    assert not numbers & set(re.findall(r"[\d.]+", text))
    assert CURATOR not in text
    assert str(shown.source.key[1])[:16] not in text, "nor what the file was"


CHECKS = {
    "article": check_article,
    "article-svg": check_article,
    # The browser turns the drawing into pixels.
    "png": check_drawing,
    "svg": check_drawing,
    "html": check_page,
    "csv": check_table,
    "json": check_settings,
    "py": check_script,
}
