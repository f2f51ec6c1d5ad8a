"""The audit from the command line, and the table that is committed."""

from pathlib import Path

import pytest

from dpviz.experiments import audit, audit_cases, read_tables
from dpviz.experiments.__main__ import main

FILE = Path(__file__).resolve().parents[2] / "assets" / "audit" / "methods.json"
CAUGHT = {
    "convergent_kmeans:mode=published",
    "convergent_kmeans:mode=published,orientation=future",
    "dpm:calibration=published:gaps",
}


@pytest.fixture
def few(monkeypatch):
    """Audit two quick methods only."""
    found = {key: audit_cases.cases()[key] for key in ("nd_laplace", "lloyd")}
    monkeypatch.setattr(audit, "cases", lambda: found)


@pytest.mark.usefixtures("few")
def test_one_command_writes_the_table(tmp_path, capsys):
    out = tmp_path / "new" / "audit.json"
    assert main(["audit", "--out", str(out), "--runs", "40", "--seed", "3"]) == 0
    report = read_tables(out)
    assert report.command == "python -m dpviz.experiments audit --out audit.json --runs 40 --seed 3"
    assert report.table("audit").values("key") == ("nd_laplace", "lloyd")
    assert report.table("audit").values("runs") == (400, 40)
    assert str(tmp_path) not in out.read_text("utf-8")
    assert "2/2 lloyd" in capsys.readouterr().err
    again = tmp_path / "audit.json"
    assert main(["audit", "--out", str(again), "--runs", "40", "--seed", "3"]) == 0
    assert read_tables(again).tables == report.tables


@pytest.mark.usefixtures("few")
def test_bad_numbers_are_refused(tmp_path, capsys):
    assert main(["audit", "--out", str(tmp_path / "a.json"), "--runs", "5"]) == 1
    assert "runs was 5" in capsys.readouterr().err


def test_the_committed_table_is_whole_and_says_what_the_text_says():
    report = read_tables(FILE)
    table = report.table("audit")
    assert table.values("key") == tuple(audit_cases.cases())
    assert table.columns == audit.COLUMNS
    verdicts = dict(zip(table.values("key"), table.values("verdict"), strict=True))
    assert {key for key, said in verdicts.items() if said == audit.VIOLATION} == CAUGHT
    for row in table.rows:
        case = audit_cases.cases()[row["key"]]
        assert row["mode"] == case.mode
        if row["proved"] is not None:
            assert row["verdict"] == audit.NONE_FOUND
            assert row["measured"] <= row["proved"] * 1.05 + 0.05  # 95 % confidence in each of many
    assert all("verified" not in str(said) for said in verdicts.values())
