"""The QR code contains the link and is readable from a screen; the link keeps the hidden parts."""

import ast
import base64
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qsl

import numpy as np
import pytest
import segno

from dpviz.navigation import control_names
from dpviz.ui import hiding, state
from dpviz.ui.export import menu
from tests.ui.conftest import Query

ROOT = Path(__file__).resolve().parents[2]
LINK = "http://localhost:8501/dpm?data=blobs&n=5000&epsilon=0.5&audience=curator&hide=seeds,tabs"
SVG = "{http://www.w3.org/2000/svg}"


def moves(text):
    """Split a path into commands with their numbers."""
    found, number = [], ""
    for sign in text:
        if sign in "Mmh":
            found.append([sign, []])
        if sign in "Mmh ,-" and number:
            found[-1 if sign not in "Mmh" else -2][1].append(float(number))
            number = ""
        if sign not in "Mmh ,":
            number += sign
    if number:
        found[-1][1].append(float(number))
    return found


def test_a_path_is_split_into_its_moves():
    assert moves("M4 4.5h7m2-1h1") == [["M", [4.0, 4.5]], ["h", [7.0]], ["m", [2.0, -1.0]], ["h", [1.0]]]


def test_the_code_is_that_of_the_link_with_its_quiet_zone():
    expected = np.array([[int(each) for each in row] for row in segno.make_qr(LINK, error="l").matrix]) & 1
    kind, _, body = menu.qr(LINK).partition(";base64,")
    assert kind == "data:image/svg+xml"
    root = ET.fromstring(base64.b64decode(body))
    side = len(expected) + 2 * menu.QUIET
    assert root.get("width") == root.get("height") == str(side * menu.MODULE)
    paths = {path.get("stroke") or path.get("fill"): path.get("d") for path in root.iter(f"{SVG}path")}
    seen, x, y = np.zeros((side, side), dtype=int), 0.0, 0.0
    for kind, numbers in moves(paths["#000"]):
        if kind == "h":
            seen[int(y), int(x) : int(x + numbers[0])] = 1
            x += numbers[0]
        else:
            x, y = (numbers[0], numbers[1]) if kind == "M" else (x + numbers[0], y + numbers[1])
    zone = np.pad(expected, menu.QUIET)
    np.testing.assert_array_equal(seen, zone)
    # The standard asks for 4 modules.
    assert menu.QUIET >= 4
    code = segno.make_qr(LINK, error=menu.LEVEL)
    assert code.version == segno.make_qr(LINK, error="l", boost_error=False).version, "no code has larger modules"
    other = np.array([list(row) for row in segno.make_qr(LINK.replace("dpm", "dpn"), error="l").matrix]) & 1
    assert (seen != np.pad(other, menu.QUIET)).any()


def test_a_link_that_does_not_fit_has_no_code():
    assert menu.qr("http://localhost/" + "x" * 2900) is not None
    assert menu.qr("http://localhost/" + "x" * 3000) is None


def test_every_knob_of_the_app_can_be_hidden():
    names = set()
    for path in ROOT.glob("dpviz/**/*.py"):
        # Prefix that links put before a data set's knobs.
        prefix = "data_" if path.is_relative_to(ROOT / "dpviz/data") else ""
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"Knob", "under"}:
                name = node.args[0] if node.args else None
                # A knob without a kind is not drawn.
                if isinstance(name, ast.Constant) and (node.func.id == "under" or node.args[1].value):
                    names.add(prefix + name.value)
    missing = {name for name in names if not hiding._is_name(name, control_names())}
    # Group "tabs" hides these knobs.
    assert missing == {"compare_tab", "audit_tab"} | state.TABS


HIDING = ["epsilon", "n_clusters", "x", "tab-worlds", "data_overlap", "share_counts", "seeds"]
REFUSED = ["", "bogus", "tab-", "tab-<b>", "data_", "EPSILON", "epsilon ", "data_é", "tab-a b"]


@pytest.mark.parametrize("name", [*HIDING, *REFUSED])
def test_only_names_of_the_app_hide(name):
    assert hiding._is_name(name, control_names()) is (name in HIDING)


@pytest.fixture
def session(monkeypatch):
    """Stand in for a session."""
    kept = {}
    fake = SimpleNamespace(session_state=kept, query_params=Query(), html=lambda _text: None)
    for module in (state, hiding, menu):
        monkeypatch.setattr(module, "st", fake)
    return fake


def test_the_list_is_read_once_and_said_where_it_is_wrong(session):
    session.query_params = Query({"hide": "epsilon,bogus,tab-worlds, seeds,,x" + ",y" * 100})
    hiding.read_link(control_names())
    assert hiding.hides("epsilon")
    assert hiding.hides("noise_seed")
    assert hiding.hides("tab-worlds")
    assert not hiding.hides("n_clusters")
    assert hiding.tabs_left(["runs", "worlds"]) == ["runs"]
    (said,) = state.take_problems()
    assert "bogus" in said
    assert all(group in said for group in hiding.GROUPS)
    assert state.query([("a", "1")]) == "a=1&hide=epsilon%2Cseeds%2Ctab-worlds%2Cx%2Cy"
    session.query_params = Query({"hide": "tabs"})
    hiding.read_link(control_names())
    assert not hiding.hides("tabs")


def test_a_share_link_hides_what_is_hidden_and_more(session, monkeypatch):
    monkeypatch.setattr(menu, "latest", lambda: SimpleNamespace(pairs=[("data", "blobs"), ("n", "300")]))
    state.keep_param("hide", "seeds")
    assert menu.query_of(["tabs"], bare=True) == "data=blobs&n=300&hide=seeds,tabs&embed=true"
    assert menu.query_of([], bare=False) == "data=blobs&n=300&hide=seeds"
    session.context = SimpleNamespace(url="http://localhost:8501/dpm?old=1#here")
    assert menu.link_of("a=1") == "http://localhost:8501/dpm?a=1"
    session.context = SimpleNamespace(url=None)
    assert menu.link_of("a=1") == "?a=1"


def test_a_frame_shows_the_published_picture_and_nobodys_own_records(monkeypatch):
    own = SimpleNamespace(own=False)
    link = "http://localhost:8501/base/dpm?epsilon=0.5&calibration=published&audience=public"
    # A published page may open with other values, so its frame also names the values that the app's link leaves out.
    shown_pairs = [("data", "moons"), ("n", "500"), *parse_qsl(link.partition("?")[2]), ("noise_seed", "7")]
    monkeypatch.setattr(menu, "latest", lambda: SimpleNamespace(source=own, pairs=shown_pairs))
    shown = "https://example.org/dpm/?embed&data=moons&eps=0.5&calibration=published&view=public&seed=7"
    assert menu.framed(link, None, bare=False) == (shown, menu.FRAME_WORDS)
    assert menu.framed(link, "3", bare=False)[0] == f"{shown}&step=3"
    assert menu.framed(f"{link}&embed=true", "3", bare=True) == (f"{link}&embed=true", menu.OWN_SERVER_WORDS)
    own.own = True
    assert menu.framed(link, None, bare=False) == ("", menu.OWN_DATA_WORDS)
