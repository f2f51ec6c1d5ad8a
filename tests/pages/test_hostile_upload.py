"""A file whose name, headers and cells mean harm: words stay words on every page and in the report, and stay here."""

import io
import logging
import re
import tempfile

import numpy as np
import pandas as pd

from dpviz.data import get_ready
from dpviz.plots.table import FORMULA_STARTS
from dpviz.tools.compare import document
from dpviz.tools.compare import runs as compare_tasks
from dpviz.tools.compare.page import report as compare_report
from tests.data.test_hostile_files import watch
from tests.pages.conftest import at_once, typed
from tests.pages.test_compare import SU
from tests.tools.compare.test_document import Tags

SECRET = "Zebedee8313"
EVIL = f"<img src=x onerror=alert(1)>{SECRET}"
FORMULA = f"=HYPERLINK({SECRET})"
FILE = f"<script>alert(1)</script>{SECRET}.csv"
BOUNDS = {f"{name} from": (0.0, 1.0) for name in (EVIL, FORMULA)}


def content():
    places = np.random.default_rng(3).random((60, 2)).round(3)
    table = pd.DataFrame(places, columns=[EVIL, FORMULA])
    table["note"] = [EVIL, FORMULA, "@SUM(A1)"] * 20
    text = io.StringIO()
    table.to_csv(text, index=False)
    return text.getvalue().encode()


def opened(open_page, name, **link):
    """Open a page with the hostile file, its bounds typed."""
    page = open_page(name, data="upload:", **link)
    page.give(content(), FILE)
    fields = [field.label for field in page.app.text_input]
    labels = [each for each in fields if each.endswith(" from")]
    return typed(page, dict.fromkeys(labels, (0.0, 1.0)))


def check_words(page):
    """No tag of the file in any piece of HTML, no markup in any sentence, no formula in any table."""
    for body in page.bodies:
        assert "<img" not in body
        assert "<script" not in body
    kinds = ("markdown", "caption", "warning", "error", "info", "title", "subheader")
    for element in (each for kind in kinds for each in getattr(page.app, kind)):
        if SECRET in element.value:
            assert not re.search(r"(?<!\\)<(img|script)", element.value), element.value
    for table in page.app.dataframe:
        words = [*table.value.columns, *table.value.index, *table.value.to_numpy().ravel()]
        assert not [word for word in words if isinstance(word, str) and SECRET in word and word[0] in FORMULA_STARTS]


def test_words_stay_words_and_nothing_is_written_or_logged(open_page, name, monkeypatch, caplog, capfd, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = []
    # A process that waits for files begins by opening /dev/null.
    get_ready()
    watch(written)
    try:
        with caplog.at_level(logging.DEBUG):
            page = opened(open_page, name)
            assert page.packed()["picture"]
            check_words(page)
            page.widget("button", "New noise").click()
            check_words(page.run())
    finally:
        watch(None)
    assert [path for path in written if "__pycache__" not in str(path)] == []
    assert list(tmp_path.iterdir()) == []
    out, err = capfd.readouterr()
    assert not [text for text in (caplog.text, out, err) if SECRET in text]


def test_the_report_and_the_tables_of_a_comparison_hold_words(open_page, monkeypatch):
    at_once(monkeypatch, compare_tasks)
    papers, own = [], compare_report.buttons
    monkeypatch.setattr(compare_report, "buttons", lambda *given: papers.append(given[0]) or own(*given))
    page = opened(open_page, "compare", **SU, chosen="dplloyd", chosen_epsilon="1.0", compare_tab="report")
    check_words(page)
    (centers,) = [each.value for each in page.app.dataframe if any(SECRET in str(name) for name in each.value.columns)]
    assert list(centers.columns) == [EVIL, f"'{FORMULA}"]
    found = Tags(document.html(papers[-1]))
    assert EVIL in found.text
    assert FORMULA in found.text
    assert not {tag for tag, _ in found.tags} & {"script", "img", "iframe", "object", "link", "base", "form", "a"}
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
