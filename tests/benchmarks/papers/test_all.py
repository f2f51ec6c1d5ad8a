"""One command makes every paper's tables and a page of them; a failed table does not stop the others."""

import dataclasses
import re
from types import MappingProxyType

import pytest
import sklearn.cluster  # noqa: F401  # whose threads are counted below
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks import papers
from benchmarks.papers import PAPERS, RESULTS, __main__
from benchmarks.papers.__main__ import main
from benchmarks.papers.page import write_page
from dpviz.tables import Column, ResultTable, read_tables
from tests.tools.compare.test_document import EVIL, Tags

SYSTEMS = ["convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target"]


def tables(name):
    columns = (Column("set", "Set", ""), Column("paper", "Paper", "%"), Column("measured", "Ours", "%"))
    rows = ({"set": EVIL, "paper": 1.5, "measured": 2.5}, {"set": "b", "paper": None, "measured": 3})
    return (ResultTable("one", f"Table of {name}", EVIL, columns, rows, (f"{name} differs, because.",)),)


@pytest.fixture
def asked(monkeypatch):
    """Each paper's own entry, with tables that take no time; returns the requests."""
    found = []

    def maker(name):
        def make(folder, runs, seed, jobs, only):
            assert only is None
            if name == "morse" and not (folder / "pulsar").exists():
                raise ValueError("Pulsar is missing.")
            found.append((name, runs, seed, jobs))
            return tables(name)

        return make

    tiny = {name: dataclasses.replace(entry, make=maker(name)) for name, entry in PAPERS.items()}
    for module in (__main__, papers):
        monkeypatch.setattr(module, "PAPERS", MappingProxyType(tiny))
    return found


def test_tables_are_made_on_one_thread_also_where_there_are_more(monkeypatch, tmp_path):
    threads = []

    def make(*_):
        threads.extend(each["num_threads"] for each in threadpool_info())
        return tables("dpm")

    monkeypatch.setattr(papers, "PAPERS", {"dpm": dataclasses.replace(PAPERS["dpm"], make=make)})
    with threadpool_limits(3):
        assert max(each["num_threads"] for each in threadpool_info()) > 1
        papers.reproduce("dpm", tmp_path, tmp_path / "tables.json", runs=1, seed=0, jobs=1)
    assert {*threads} == {1}


def command(folder, *more):
    return ["all", "--data", str(folder), "--out", str(folder / "out"), *more]


def test_one_command_makes_all_tables_and_the_page(asked, tmp_path, capsys):
    (tmp_path / "pulsar").touch()
    assert main(command(tmp_path, "--runs", "2", "--seed", "7")) == 0
    assert asked == [(name, 2, 7, 1) for name in SYSTEMS]
    for name in SYSTEMS:
        report = read_tables(tmp_path / "out" / f"{name}.json")
        assert f"{name} --data data --out {name}.json --runs 2 --seed 7" in report.command
    page = (tmp_path / "out" / "reproduction.html").read_text("utf-8")
    found = Tags(page)
    assert [
        identity for tag, attributes in found.tags if tag == "section" for _, identity in attributes.items()
    ] == SYSTEMS
    for name in SYSTEMS:
        assert f"{name} differs, because." in found.text
        assert PAPERS[name].title in found.text
    for words in ("Paper (%)", "Ours (%)", "1.5", "2.5", EVIL):
        assert words in found.text
    assert not {tag for tag, _ in found.tags} & {"script", "img", "link", "iframe"}
    links = {value for _, attributes in found.tags for key, value in attributes.items() if key in ("href", "src")}
    assert links == {f"#{name}" for name in SYSTEMS}, "nothing on it asks a network"
    assert not re.search(r"url\(|@import", page)
    assert str(tmp_path) not in page
    assert "5 of 5 papers" in capsys.readouterr().out


def test_without_a_number_each_paper_has_its_own_runs(asked, tmp_path):
    (tmp_path / "pulsar").touch()
    assert main(command(tmp_path)) == 0
    assert [runs for _, runs, _, _ in asked] == [PAPERS[name].runs for name in SYSTEMS]


def test_what_cannot_be_made_keeps_nobody_else_from_it(asked, tmp_path, capsys):
    assert main(command(tmp_path, "--runs", "1")) == 1
    said = capsys.readouterr()
    assert "Pulsar is missing" in said.err
    assert "4 of 5 papers" in said.out
    assert len(asked) == 4
    assert PAPERS["morse"].title not in (tmp_path / "out" / "reproduction.html").read_text("utf-8")


def test_committed_tables_fill_the_page(tmp_path):
    reports = {name: read_tables(RESULTS / f"{name}.json") for name in SYSTEMS}
    write_page(reports, tmp_path / "page.html")
    found = Tags((tmp_path / "page.html").read_text("utf-8"))
    rows = sum(len(table.rows) + 1 for report in reports.values() for table in report.tables)
    assert sum(tag == "tr" for tag, _ in found.tags) == rows
    for report in reports.values():
        assert all(note in found.text for table in report.tables for note in table.notes)
