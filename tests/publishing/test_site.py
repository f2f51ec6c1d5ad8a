"""A published site: traces of the records in its files, files made again, its size, and its command."""

import base64
import codecs
import gzip
import itertools
import json
import math
import pickle
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.runtime.scriptrunner_utils import script_run_context

from dpviz import publishing
from dpviz.assets import kept_sheet
from dpviz.data import load
from dpviz.methods import CATALOGUE
from dpviz.plots import read_header
from dpviz.publishing import SiteFolderError, cache_of, every_state, files, publish, source_digest
from dpviz.publishing.files import coded, in_order
from dpviz.publishing.pages import ABOVE, VisitError, Writer, rendered, visit
from dpviz.publishing.plan import PagePlan, PlanError, SitePlan, default_plan, read_plan
from dpviz.stories.view import Words
from dpviz.tools.many_runs.runs import LossQuestion, loss_band
from dpviz.tools.teaching.chapters import ORDER, records
from dpviz.ui.data.picker import Source
from dpviz.ui.runs import SCREEN
from tests.publishing.conftest import shown

WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({publishing.EXTRA})); "
ASKED = """
from dpviz.__main__ import main
for words in (["--help"], sys.argv[1:]):
    try:
        code = main(["publish", *words])
    except SystemExit as end:
        code = end.code
    print("ended with", code)
"""
DATA = re.compile(r"'([^']*)', (\d+)\)|packed=\"([^\"]*)\";const length=Number\(\"(\d+)\"\);")
CARRIED = re.compile(rb'<script type="text/plain" data-state="([\w.]+)">([\w+/=]+)</script>')
# Bytes, before any compression by a server.
FIRST_PICTURE = 100_000


def contents(site: Path) -> bytes:
    """Return all bytes that a reader can get, both packed and unpacked."""
    found = []
    for path in sorted(each for each in site.rglob("*") if each.is_file()):
        held = path.read_bytes()
        found.append(held)
        if held.startswith(codecs.BOM_UTF16_LE):
            found += [
                unpacked(each[1] or each[3], int(each[2] or each[4])) for each in DATA.finditer(held.decode("utf-16"))
            ]
        found += [gzip.decompress(base64.b64decode(state)) for _, state in CARRIED.findall(held)]
    return b"\n".join(found)


def contents_of(script: Path) -> bytes:
    """Return the bytes that a script hands over."""
    return b"".join(unpacked(each[1], int(each[2])) for each in DATA.finditer(script.read_text("utf-16")))


def unpacked(letters: str, length: int) -> bytes:
    """Return the contents of packed letters."""
    return gzip.decompress(letters_to_bytes(letters, length))


def letters_to_bytes(letters: str, length: int) -> bytes:
    """Return this number of bytes from letters that hold two bytes each, some after a mark."""
    pairs = re.sub("\u0100(.)", lambda found: chr(ord(found[1]) ^ 0x8000), letters, flags=re.DOTALL)
    return pairs.encode("utf-16-be", "surrogatepass")[:length]


def exact(site: Path) -> tuple[int, int, bool, bool]:
    """Count a site's records and its coordinates in digits; check it for curator-only text and coarse records.

    The last value is True if the site has the records in fewer digits, because the first picture is drawn from them.
    """
    data = load("blobs", n=500, seed=0)
    held = contents(site)
    unit = data.box.to_unit(data.points).astype(np.float32)
    rows = sum(row.tobytes() in held for row in unit)
    # Match each number in full: a longer number may begin like a coordinate.
    numbers = set(re.findall(rb"(?<![\d.])\d+\.\d+", held))
    texts = [f"{value:.5g}" for value in data.points.ravel()]
    # Numbers with fewer digits, as in the text about a loss's distribution, equal some coordinate by chance.
    digits = sum(text.encode() in numbers for text in texts if len(text.replace(".", "").lstrip("0")) == 5)
    secret = b"500 records" in held or b'"audience": "curator"' in held
    coarse = [coded(unit.tobytes(), [1, *unit.shape], view) for view in views(site)]
    told = [form.packed for each in coarse if each is not None for form in (each, in_order(each))]
    assert told
    return rows, digits, secret, any(each in held for each in told)


def views(site: Path) -> list[list[list[float]]]:
    """Return the ranges of the axes of a site's pictures, in each of its states."""
    states = (pickle.loads(each.read_bytes())[0] for each in cache_of(site).iterdir() if not each.suffix)
    headers = [read_header(each.packed) for state in states for each in state.pictures if each.key == "picture"]
    return [[header[axis]["view"] for axis in "xy"] for header in headers]


def test_without_public_records_no_byte_of_the_curators_is_in_any_file(public: Path, whole: Path) -> None:
    assert exact(public) == (0, 0, False, False)
    rows, _, *secret = exact(whole)
    assert (rows, *secret) == (500, True, True), "the search finds what is there"


@pytest.mark.parametrize("own", ["upload", "upload:0123abcd", "draw"])
@pytest.mark.parametrize("table", ['data = "{}"', 'data = ["blobs", "{}"]', 'link = {{ data = "{}" }}'])
def test_a_plan_refuses_own_records(tmp_path: Path, own: str, table: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[dpm]\n" + table.format(own), "utf-8")
    with pytest.raises(PlanError, match=f"data of .* must be one of blobs.*got '{own}'"):
        read_plan(plan)


def test_a_page_with_own_records_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show an own file in the visited session. Without the check, the site's cache gets the page."""
    state = next(
        every_state(PagePlan("dpm", "dpm", "DPM", {"data": "blobs"}, ("public",), knob="epsilon", stops=("1",)))
    )
    main = visit(state.page, dict(state.link))
    held = main.root.session_state
    held[SCREEN] = replace(held[SCREEN], source=replace(held[SCREEN].source, uploaded=True))
    monkeypatch.setattr(publishing, "visit", lambda *_: main)
    monkeypatch.setattr(publishing, "bands_of", lambda *_: [])
    with pytest.raises(VisitError, match="your own records"):
        publishing.make([state], tmp_path, ["dpm"])
    assert not (tmp_path / state.key()).exists()
    monkeypatch.setattr(Source, "own", False)
    publishing.make([state], tmp_path, ["dpm"])
    assert (tmp_path / state.key()).exists(), "the check alone refuses it"


def test_what_was_made_is_not_made_again_and_what_is_missing_is(whole: Path) -> None:
    plan = whole.parent / "plan.toml"
    before = {path: path.read_bytes() for path in whole.rglob("*.js")}
    assert publish(whole, read_plan(plan)) == 0
    assert {path: path.read_bytes() for path in whole.rglob("*.js")} == before
    (state, *_) = sorted(each for each in cache_of(whole).iterdir() if not each.suffix)
    # As if the run had been stopped there.
    state.unlink()
    assert publish(whole, read_plan(plan)) == 1
    assert {path: path.read_bytes() for path in whole.rglob("*.js")} == before
    assert len(source_digest()) == 64


def test_pages_are_small(whole: Path) -> None:
    page = whole / "dpm"
    asked = re.findall(r'(?:src|href)="((?:\.\./|data/)[\w.]+(?:js|css))"', (page / "index.html").read_text("utf-8"))
    assert {"../alone.js", "../packed.js", "../site.css", "data/index.js"} == set(asked)
    ((name, state),) = CARRIED.findall((page / "index.html").read_bytes())
    assert gzip.decompress(base64.b64decode(state)) == contents_of(page / "data" / f"{name.decode()}.js")
    assert sum((page / each).stat().st_size for each in ("index.html", *asked)) < FIRST_PICTURE
    script = (whole / "dpviz.js").read_bytes()
    assert script in contents(whole).replace(script, b"", 1), "what is packed is the script that stands beside it"


def index_of(page: Path) -> dict[str, Any]:
    """Return a page's description of itself."""
    held: dict[str, Any] = json.loads(
        (page / "data" / "index.js").read_text("utf-8")[len("dpvizIndex(") : -len(");\n")]
    )
    return held


def test_the_strip_has_the_bands_of_the_app_for_the_curator_of_public_records_alone(whole: Path, public: Path) -> None:
    (told,) = index_of(whole / "dpm")["bands"]
    dpm = CATALOGUE["dpm"]
    data = load("blobs", n=500, seed=0)
    for epsilon, band in zip((1.0, 2.0), told, strict=True):
        asked = dpm.Params(epsilon=epsilon)
        question = LossQuestion(f"here {epsilon}", (epsilon,), "dpm", asked, Words.from_dataset(data))
        found = loss_band(data.points, data.box, data.labels, question, math.inf)
        assert band == pytest.approx(found, rel=5e-3), "three digits of each quantile"
        assert band == sorted(band)
    assert index_of(public / "dpm")["bands"] == [[]], "each of these runs reads the records"


def test_bands_are_computed_once_for_a_mode(whole: Path) -> None:
    page = replace(read_plan(whole.parent / "plan.toml").pages[0], modes=("repaired", "published"), seeds=(1, 2))
    assert {each.name: each.banded for each in every_state(page) if each.banded} == dict.fromkeys(
        ("0.0.0.0", "1.0.0.0"), (1.0, 2.0)
    )


def test_the_serif_lies_beside_the_sheet_that_names_it_and_in_a_page_to_keep(whole: Path) -> None:
    named = re.findall(r"url\(([^)]*)\)", (whole / "words.css").read_text("utf-8"))
    fonts = [each for each in named if each.endswith(".woff2")]
    assert [(whole / each).read_bytes()[:4] for each in fonts] == [b"wOF2"]
    assert "font-src 'self'" in (whole / "dpm" / "index.html").read_text("utf-8")
    (held,) = re.findall(r"url\(data:font/woff2;base64,([\w+/=]+)\)", kept_sheet())
    assert base64.b64decode(held) == (whole / fonts[0]).read_bytes()
    assert not any(each in kept_sheet() for each in fonts), "a page to keep asks for no file"


def test_words_that_the_first_screen_lacks_come_after_its_picture(whole: Path) -> None:
    page = whole / "dpm"
    opens = (page / "index.html").read_text("utf-8")
    first, late = (contents_of(page / "data" / name) for name in ("0.0.0.0.js", "late.js"))
    assert "<h1>DPM</h1>" in opens
    for words in ("dpviz-facts", "dpviz-card", "dpviz-terms"):
        assert (words in opens, words.encode() in first, words.encode() in late) == (False, False, True)
    assert index_of(page)["why"]
    assert 'href="../words.css"' not in opens
    assert (page / "../words.css").resolve().stat().st_size > 10_000
    assert 'href="../../words.css"' in (page / "read" / "index.html").read_text("utf-8"), "which is words alone"


def test_the_bar_marks_the_page_and_what_it_belongs_to(whole: Path) -> None:
    for folder, own in (("dpm", "page"), ("dpm/moons", "true")):
        bar, *_ = re.findall(r'<nav aria-label="Pages">(.*?)</nav>', (whole / folder / "index.html").read_text("utf-8"))
        assert re.findall(r"aria-current=(\w+)>([^<]+)", bar) == [(own, "DPM")]


@pytest.mark.parametrize(("tool", "part"), [("audit", "results"), ("compare", "maps")])
def test_a_tools_stage_comes_with_what_it_shows_at_every_epsilon(tool: str, part: str) -> None:
    page = Writer(lambda *_: None).write(visit(tool, {"hide": ABOVE}, wait=False))
    assert page.tool == f"{tool}_stage"
    (place,) = re.findall(r'data-leaf="(\d+)" data-tool', page.frame)
    data = json.loads(page.leaves[int(place)])
    assert len(data["findings"]) == len(data["texts"]) >= 7
    assert len(data[part]) > 4
    assert "<summary>How to read it</summary>" in page.frame
    public = Writer(lambda *_: None).write(visit(tool, {"hide": ABOVE, "audience": "public"}, wait=False))
    assert public.tool == page.tool
    assert not any("to sign" in leaf for leaf in public.leaves), "no paper is saved without a server"


def test_markdown_is_written_as_the_app_shows_it() -> None:
    assert rendered("a **b** and $x$").count("<math") == 1
    assert rendered(":small[where] costs \\$5") == "<p><small>where</small> costs $5</p>\n"
    assert '<span class="red"><strong>No</strong></span>' in rendered(":red[**No**]")
    assert "<b>" not in rendered("<b>no</b>")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[dmp]", "names 'dmp'"),
        ("home = 1", "home must be true or false, got 1"),
        ("", "names no page"),
        ("[dpm]\nstops = [0]", "stops"),
        ("[dpm]\nseeds = 5", "got 5"),
        ("[dpm]\nstops = 1", "got 1"),
        ("[dpm]\nlink = 'data=moons'", "got 'data=moons'"),
        ("[dpm]\ndata = 'mine'", "got 'mine'"),
        ("[dpm]\ndata = ['moons', 'moons']", "got 'moons' twice. Remove one."),
        ("[dpm]\ndata = []", "got []"),
        ("[dpm]\nseeds = []", "seeds"),
        ("[dpm]\nmodes = ['best']", "modes"),
        ("[dpm]\nsecret = true", "'secret'"),
        ("[dpm", "is not valid TOML"),
        ("[dpm]\nrecords_public = 'yes'", "records_public"),
    ],
)
def test_a_wrong_plan_says_what_was_given_and_what_is_allowed(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(PlanError, match=re.escape(said)):
        read_plan(path)


def test_files_that_cannot_be_used_are_named_with_the_way_out(tmp_path, capsys):
    file, gone = tmp_path / "people.csv", tmp_path / "gone.toml"
    file.write_bytes(b"\xff")
    for words, said in (
        ([file], f"The folder {file} cannot be used (Not a directory). Name a new folder."),
        ([tmp_path / "x", "--config", gone], f"The configuration {gone} could not be read (No such file or"),
        ([tmp_path / "x", "--config", file], f"The configuration {file} is not valid TOML"),
    ):
        assert publishing.main(list(map(str, words))) == 2
        assert capsys.readouterr().err.startswith(said)
    assert [each.name for each in tmp_path.iterdir()] == ["people.csv"]


def test_streamlit_does_not_warn_that_there_is_no_server(monkeypatch):
    heard = []
    monkeypatch.setattr(script_run_context._LOGGER, "callHandlers", heard.append)
    assert script_run_context.get_script_run_ctx() is None
    assert heard == []
    monkeypatch.setattr(script_run_context._LOGGER, "disabled", False)
    script_run_context.get_script_run_ctx()
    assert len(heard) == 1


def test_records_of_another_set_are_not_public_unless_the_plan_says_so(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text("[dpm]\nlink = { data = 'moons' }\n[morse]\ndata = 'moons'\nrecords_public = true", "utf-8")
    found = {page.folder: page.audiences for page in read_plan(path).pages if page.folder in ("dpm", "morse")}
    assert found == {"dpm": ("public",), "morse": ("curator", "public")}
    plan = default_plan()
    assert all(page.audiences == ("curator", "public") for page in plan.pages if page.page in CATALOGUE)
    chapters = [page.link["chapter"] for page in plan.pages if page.page == "learn"]
    assert chapters == [*ORDER], "the course is there, in its order"


def test_every_number_of_the_article_is_computed() -> None:
    prose = re.sub(r"<[^>]+>|^# .*$", "", files.prose())
    assert set(re.findall(r"\d[\d,.]*\d|\d", prose)) == {"50", "100", "1", "1,000"}, "a coin, ε, and its radius"
    found = files.numbers(lambda *asked: " at ".join(asked))
    center, total, known, age = (float(found[name]) for name in ("center_age", "total", "known", "age"))
    size, missing = int(found["size"]), int(found["missing"])
    assert total == pytest.approx(size * center, abs=1e-9), "the printed product"
    assert total - known == pytest.approx(age, abs=0.05 + 1e-9), "the printed difference, rounded"
    own = 15.0 + 70.0 * records()[missing - 1, 0]
    assert age == pytest.approx(own, abs=0.05 + 1e-9), "what is left over is the missing age"
    assert int(found["others"]) == size - 1
    odds = [math.ceil(100.0 * math.exp(each) / (1.0 + math.exp(each))) for each in (files.LOW, 1.0)]
    assert [found["odds_low"], found["odds_1"]] == [str(each) for each in odds]
    assert found["said_low"] == "convergent_kmeans at 0.1"


def test_the_article_is_there_where_its_pictures_are() -> None:
    plan = default_plan()
    assert files.article_title(plan) == "Why k-means leaks and what noise does about it"
    assert files.article_title(SitePlan(tuple(shown()))) == files.article_title(plan)
    assert files.article_title(SitePlan(tuple(shown()[1:]))) == ""
    no_low = [replace(each, stops=("1",)) if each.folder == "convergent_kmeans" else each for each in shown()]
    assert files.article_title(SitePlan(tuple(no_low))) == "", "it quotes ε = 0.1"


def test_files_of_others_stay_and_pages_that_the_plan_has_no_more_go(tmp_path: Path, whole: Path) -> None:
    mine = tmp_path / "site"
    mine.mkdir()
    (mine / "index.html").write_text("mine", "utf-8")
    plan = read_plan(whole.parent / "plan.toml")
    with pytest.raises(SiteFolderError, match="has other files in it"):
        publish(mine, plan)
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    shutil.copytree(cache_of(whole), cache_of(copy))
    (copy / "note.txt").write_text("mine", "utf-8")
    assert publish(copy, SitePlan(plan.pages[:1])) == 0
    assert sorted(each.name for each in (copy / "dpm").iterdir()) == ["data", "drawings", "index.html"], "no `read`"
    assert (copy / "note.txt").exists()
    assert len(list(cache_of(copy).iterdir())) < len(list(cache_of(whole).iterdir()))


# Long runs only: a test above also resumes kept states.
@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(tmp_path: Path, whole: Path) -> None:
    command = [sys.executable, "-m", "dpviz", "publish", str(tmp_path / "site"), "--jobs", "1"]
    command += ["--config", str(whole.parent / "plan.toml")]
    kept = cache_of(tmp_path / "site")
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 120
    while not any(not each.suffix for each in kept.glob("*")) and time.monotonic() < end:
        time.sleep(0.005)
    run.kill()
    run.wait()
    there = [each for each in kept.iterdir() if not each.suffix]
    assert there, "it was killed with some of its states made"
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    n_states = len(list(cache_of(whole).iterdir())) - 1
    assert int(re.findall(r"(\d+) states made\. Open", done.stdout)[0]) <= n_states - len(there)
    assert contents(tmp_path / "site") == contents(whole)


def test_a_plan_whose_records_are_not_public_has_public_pages_alone(tmp_path):
    """The test takes each method in turn, with one set or several, its pages above and below, and all its texts."""
    path = tmp_path / "plan.toml"
    for name, sets in itertools.product(CATALOGUE, ("", 'data = "moons"', 'data = ["blobs", "moons"]')):
        if name == "source_target" and sets:
            # source_target has its own data sets.
            continue
        path.write_text(f"[{name}]\n{sets}\nrecords_public = false\n", "utf-8")
        pages = [page for page in read_plan(path).pages if page.page == name]
        assert len(pages) >= 1 + (CATALOGUE[name].reading is not None)
        assert {page.audiences for page in pages} == {("public",)}
        path.write_text(f"[{name}]\n{sets}\nrecords_public = true\n", "utf-8")
        assert {page.audiences for page in read_plan(path).pages if page.page == name} == {("curator", "public")}


def test_without_the_extra_it_says_which_to_install_and_its_help_works(tmp_path):
    script = [sys.executable, "-c", WITHOUT + ASKED, str(tmp_path / "site")]
    done = subprocess.run(script, capture_output=True, check=False, text=True, timeout=120)
    helped, refused, nothing = re.split(r"ended with (?=\d)", done.stdout)
    assert "usage: dpviz publish" in helped
    assert (refused.strip(), nothing.strip()) == ("0", "2")
    assert done.stderr.startswith(publishing.MISSING)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("absent", publishing.EXTRA)
def test_each_part_of_the_extra_is_looked_for(monkeypatch, capsys, tmp_path, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    assert publishing.main([str(tmp_path / "site")]) == 2
    assert f"({absent}: not installed)" in capsys.readouterr().err
