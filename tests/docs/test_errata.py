"""Errata have working links, and each figure in their text is what their script prints."""

import dataclasses
import re

import pytest

from docs.building import errata, methods
from dpviz.methods import CATALOGUE

ERRATA = errata.read_errata()
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?:e-?\d+)?")


def find_numbers(text: str) -> set[float]:
    return {float(each.replace(",", "")) for each in NUMBER.findall(text)}


def check_figures(erratum, printed: str) -> None:
    """Fail if a figure in bold is not printed, or a printed one is not in the text."""
    text = " ".join((erratum.shown, erratum.holds))
    bold = find_numbers(" ".join(re.findall(r"\*\*(.+?)\*\*", text)))
    assert bold, "An erratum needs a figure in bold."
    assert bold <= find_numbers(printed)
    assert find_numbers(printed) <= find_numbers(text)


@pytest.fixture(params=ERRATA, ids=lambda each: each.script)
def shown(request, capsys, monkeypatch):
    """Return an erratum, and the output of its script."""
    monkeypatch.chdir(errata.SCRIPTS.parents[2])
    exec(compile(request.param.code, request.param.script, "exec"), {"__name__": "erratum"})
    return request.param, capsys.readouterr().out


def test_script_prints_the_figures_of_its_erratum(shown):
    erratum, printed = shown
    check_figures(erratum, printed)
    for figure in re.finditer(r"\*\*\d[\d.]*", erratum.shown):
        wrong = f"{erratum.shown[: figure.end()]}7{erratum.shown[figure.end() :]}"
        with pytest.raises(AssertionError):
            check_figures(dataclasses.replace(erratum, shown=wrong), printed)


def test_each_script_belongs_to_an_erratum():
    assert sorted(each.script for each in ERRATA) == sorted(path.stem for path in errata.SCRIPTS.glob("*.py"))


def test_every_method_of_a_paper_lists_its_errata():
    assert {name for each in ERRATA for name in each.methods} == {*CATALOGUE}
    everything = errata.page()
    for name, method in CATALOGUE.items():
        page, own = methods.page(method, None), [each for each in ERRATA if name in each.methods]
        assert len({each.anchor for each in own}) == len(own)
        for each in own:
            assert page.count(f"### {each.title} {{#{each.anchor}}}") == 1
            assert f'id="{name}-{each.anchor}"></span>[{each.title}](methods/{name}.md#{each.anchor})' in everything
