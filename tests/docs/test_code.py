"""The code in the documentation runs, and prints the documented output."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from dpviz.navigation import control_names
from dpviz.ui import hiding

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "licenses.md")
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
FENCE = re.compile(r'^```(?:\{\.)?(\w+)\}?(?: title="([\w.]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r'^--8<-- "([\w/]+\.py)"$', re.MULTILINE)
KINDS = {"python", "text", "toml"}


def run(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a page's code from top to bottom in the current folder; the output must equal the `text` below it."""
    known: dict[str, object] = {"__name__": "page"}
    printed = ""
    page = INCLUDED.sub(lambda found: (ROOT / found[1]).read_text("utf-8").rstrip(), page)
    for kind, name, code in FENCE.findall(page):
        assert kind in KINDS, f"nothing runs {kind}"
        if kind == "python":
            assert not printed, "what is printed stands below the code"
            exec(compile(code, "page", "exec"), known)
            printed = capsys.readouterr().out
        elif kind == "text":
            assert printed == code
            printed = ""
        else:
            Path(name).write_text(code, "utf-8")
    assert not printed


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_code_runs_and_prints_what_it_says(path, tmp_path, monkeypatch, capsys):
    for example in EXAMPLES:  # downloads, beside which a reader works
        shutil.copy(example, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        run(path.read_text("utf-8"), capsys)
    finally:
        for example in EXAMPLES:  # other tests have a file of this name elsewhere
            sys.modules.pop(example.stem, None)


@pytest.mark.parametrize("wrong", ["print(2)", "1 / 0"])
def test_wrong_code_is_seen(wrong, capsys):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run(f"```python\n{wrong}\n```\n\n```text\n1\n```\n", capsys)


def test_links_for_a_class_hide_what_there_is():
    lists = [each for path in WRITTEN for each in re.findall(r"hide=([\w,-]+)", path.read_text("utf-8"))]
    assert lists
    named = ",".join(lists).split(",")
    assert {*named} <= {*hiding.GROUPS, *control_names()}


def test_each_of_the_ten_tasks_takes_three_lines():
    """A task is a section with code; a method of one's own is the only longer thing, and no part of a task."""
    sections = (ROOT / "docs" / "how-to" / "library.md").read_text("utf-8").split("\n## ")[1:]
    tasks = {
        name.splitlines()[0]: [code for kind, _, code in FENCE.findall(name) if kind == "python"]
        for name in sections
        if "```" in name
    }
    assert len(tasks) == 10
    for codes in tasks.values():
        lines = [line for code in codes if "def " not in code for line in code.splitlines()]
        assert 0 < len([line for line in lines if line.strip()]) <= 3
