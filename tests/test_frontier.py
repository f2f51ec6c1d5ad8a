"""The frontier: the page agrees with the figures, and a small run measures correctly and resumes."""

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from benchmarks import frontier, leaves, peers, separated
from benchmarks.frontier_page import FEW, SOME, best, costs, geometric, page
from benchmarks.registry import Measure
from dpviz.tools.compare.runs import ENTRIES

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def report():
    """Return the committed figures."""
    return json.loads((ROOT / "benchmarks" / "frontier.json").read_text("utf-8"))


def test_the_page_is_made_from_the_committed_figures(report):
    text = (ROOT / "docs" / "frontier.md").read_text("utf-8")
    assert text == page(report)
    report = json.loads(json.dumps(report))
    report["sets"]["s1"]["figures"]["1"]["EUGkM (noisy grid)"]["cost"] += 100.0
    assert text != page(report)


def test_what_dpms_cost_is_made_of_is_of_the_same_runs(report):
    """Released, it is the cost that the frontier measured; the sentence that noise is not why holds."""
    for one in report["sets"].values():
        for epsilon, made in one["parts"].items():
            assert made[leaves.RELEASED] == one["figures"][epsilon][ENTRIES["dpm"].name]["beside_own_k"]
    few = [one["parts"]["1"] for one in report["sets"].values() if one["d"] <= FEW[1]]
    released, exact, moved = (
        geometric(each[name] for each in few) for name in (leaves.RELEASED, leaves.EXACT, leaves.MOVED)
    )
    assert exact > 0.95 * released
    assert moved < 1.35 < released


def test_every_method_is_there_on_every_set_and_epsilon(report):
    expected = {ENTRIES[key].name for key in frontier.OURS} | {peers.HISTOGRAM, peers.DIFFPRIVLIB}
    assert list(report["sets"]) == list(frontier.SETS)
    for one in report["sets"].values():
        assert set(one["figures"]["any"]) == {peers.SKLEARN, peers.MIDDLE, peers.PACKED}
        assert set(one["figures"]) == {"any", "1", "0.1", "10"}
        assert all(set(one["figures"][epsilon]) == expected for epsilon in ("1", "0.1", "10"))


def test_the_goals_at_one_hold_in_the_committed_figures(report):
    def mean(name, field="cost"):
        found = costs(report, ENTRIES[name].name, "1", FEW, field)
        assert len(found) >= 25
        return geometric(found)

    assert mean("eugkm") <= 1.12
    assert mean("convergent_kmeans") <= 1.6
    assert mean("dpm", "own_cost") <= 2.0
    assert round(geometric(best(report, "1", FEW)), 2) <= 1.10
    assert geometric(best(report, "0.1", FEW)) <= 1.45
    assert geometric(costs(report, ENTRIES["convergent_kmeans"].name, "1", SOME)) <= 1.20
    shares = [of_set["1"]["found"] for of_set in report["separated"].values()]
    assert sum(shares) / len(shares) >= 0.7


def timeless(report):
    """Return the figures of every set, without how long they took."""
    rows = {
        (name, epsilon, peer): {key: value for key, value in row.items() if key != "ms"}
        for name, one in report["sets"].items()
        for epsilon, figures in one["figures"].items()
        for peer, row in figures.items()
    }
    return rows, {key: value for key, value in report.items() if key != "sets"}


def test_a_small_run_measures_right_and_goes_on(tmp_path, capsys, monkeypatch):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.normal(0, 1, (60, 2)), rng.normal(9, 1, (60, 2))])
    rows = ["x,y,label", *(f"{x},{y},{i // 60}" for i, (x, y) in enumerate(points))]
    (tmp_path / "lsun.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    monkeypatch.setattr(frontier, "OURS", ("eugkm", "dpm"))
    monkeypatch.setattr(separated, "SEEDS", 1)
    monkeypatch.setattr(separated, "MADE", {"two": ((400, 400), 2)})
    monkeypatch.setattr(separated, "HARD", "two")
    monkeypatch.setattr(separated, "MOONS", (500,))
    monkeypatch.setattr(frontier, "synth_inertia", lambda: Measure(5.0, "", ""))
    monkeypatch.setattr(leaves, "synth_parts", lambda: dict.fromkeys((leaves.EXACT, leaves.ONCE), 1.0))
    out, text = tmp_path / "frontier.json", tmp_path / "frontier.md"
    asked = ["--folder", str(tmp_path), "--sets", "lsun", "--seeds", "3", "--without-diffprivlib"]
    asked += ["--out", str(out), "--page", str(text)]
    assert frontier.main(asked) == 0
    made = json.loads(out.read_text("utf-8"))
    assert text.read_text("utf-8") == page(made)
    one = made["sets"]["lsun"]
    assert (one["n"], one["d"], one["k"]) == (120, 2, 2)
    floor = KMeans(2, n_init=5, random_state=0).fit(points).inertia_
    assert one["inertia"] == pytest.approx(floor, rel=1e-9)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    # Bounds are those of the records, rounded outward: the middle is nearly theirs.
    nearly = pytest.approx(((points - middle) ** 2).sum() / floor, rel=0.05)
    assert one["figures"]["any"][peers.MIDDLE]["cost"] == nearly
    tree = one["figures"]["10"]["DPM, repaired"]
    assert tree["own_k"] == 2 or tree["cost"] != tree["beside_own_k"]
    capsys.readouterr()
    assert frontier.main([*asked, "--again", "EUGkM (noisy grid)"]) == 0
    assert [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()] == ["EUGkM (noisy grid)"] * 3
    assert timeless(json.loads(out.read_text("utf-8"))) == timeless(made)
    with pytest.raises(SystemExit):
        frontier.main([*asked, "--seeds", "4"])


def test_what_takes_too_long_is_left_out_with_the_reason(monkeypatch):
    def busy(seed):
        end = time.process_time() + (30.0 if seed else 0.0)
        while time.process_time() < end:
            pass
        return peers.Run(1.0, None, 0.0, None, 2, 1.0, 0.5)

    monkeypatch.setattr(frontier, "LONGEST", 0.1)
    assert frontier.several("busy", 2, busy).refused == "One run takes more than 0.1 s."
    monkeypatch.setattr(frontier, "PATIENCE", 0.0)
    assert len(frontier.several("busy", 5, busy).runs) == 1


def test_found_clusters_are_those_that_a_leaf_stands_for():
    labels = np.repeat([0, 1, 2], [10, 10, 10])
    assert separated.found(labels, labels) == 1.0
    assert separated.found(labels, np.zeros(30, dtype=int)) == 0.0
    halves = np.where(np.arange(30) < 5, 3, labels)
    assert separated.found(labels, halves) == pytest.approx(2 / 3), "a half is not more than a half"
    assert separated.found(labels, np.where(np.arange(30) < 4, 3, labels)) == 1.0


def test_made_clusters_stand_apart():
    sizes = (200, 100, 50)
    points, labels = separated.made(sizes, 3, 0)
    assert [(labels == i).sum() for i in range(3)] == list(sizes)
    means = np.array([points[labels == i].mean(axis=0) for i in range(3)])
    nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.99
    assert (separated.made(sizes, 3, 1)[0] != points).all()
