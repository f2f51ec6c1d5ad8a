"""The audit from the command line, and the committed table."""

import pytest

from dpviz.assets import FOLDER as ASSETS
from dpviz.experiments import INTERRUPTED, main
from dpviz.tables import read_tables
from dpviz.tools.audit import cases as audit_cases
from dpviz.tools.audit import table as audit
from dpviz.tools.audit.table import SUFFIX

FILE = ASSETS / "audit" / "methods.json"
CAUGHT = {
    "convergent_kmeans:mode=published",
    "convergent_kmeans:mode=published,orientation=future",
    "dpm:calibration=published:gaps",
    "noisy_count:sampler=quick",
}


@pytest.fixture
def few(monkeypatch):
    """Audit only two quick methods."""
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
def test_modes_that_nothing_is_proved_of_may_have_fewer_runs(tmp_path):
    out = tmp_path / "audit.json"
    assert main(["audit", "--out", str(out), "--runs", "40", "--runs-unproved", "20"]) == 0
    report = read_tables(out)
    assert report.table("audit").values("runs") == (400, 20)
    assert report.command.endswith("--runs 40 --runs-unproved 20 --seed 0")


@pytest.mark.usefixtures("few")
def test_an_interrupted_table_goes_on_where_it_was(tmp_path, monkeypatch):
    out, part = tmp_path / "audit.json", tmp_path / f"audit.json{SUFFIX}"
    whole = tmp_path / "whole.json"
    command = ["audit", "--runs", "40", "--out"]
    assert main([*command, str(whole)]) == 0
    made = []

    def interrupted(pairs, **given):
        if made:
            raise KeyboardInterrupt
        made.append(pairs[0].key)
        return worst(pairs, **given)

    worst = audit.worst
    with monkeypatch.context() as patch:
        patch.setattr(audit, "worst", interrupted)
        assert main([*command, str(out)]) == INTERRUPTED
    assert not out.exists()
    assert part.exists()
    again = []
    monkeypatch.setattr(audit, "worst", lambda pairs, **given: again.append(pairs[0].key) or worst(pairs, **given))
    assert main([*command, str(tmp_path / "other.json"), "--seed", "1"]) == 0
    assert again == ["nd_laplace", "lloyd"], "other lines are another table's"
    again.clear()
    assert main([*command, str(out)]) == 0
    assert again == ["lloyd"], "what was there is not run again"
    assert read_tables(out).tables == read_tables(whole).tables
    assert not part.exists()


@pytest.mark.usefixtures("few")
def test_bad_numbers_are_refused(tmp_path, capsys):
    assert main(["audit", "--out", str(tmp_path / "a.json"), "--runs", "5"]) == 1
    assert "runs must be at least 20, got 5" in capsys.readouterr().err


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
            assert row["runs"] >= 20_000
            assert row["verdict"] == audit.NONE_FOUND
            # Each of many bounds has 95 % confidence.
            assert row["measured"] <= row["proved"] * 1.05 + 0.05
    assert all("verified" not in str(said) for said in verdicts.values())
