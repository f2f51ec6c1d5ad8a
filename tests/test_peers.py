"""The peers: the page agrees with the figures, a small run measures correctly, and the yardstick spends epsilon."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from benchmarks import histogram, peers
from benchmarks.peers_page import page
from dpviz.accounting import spent_epsilon
from dpviz.core import Adjacency, Box
from dpviz.data import load
from dpviz.tools.compare.runs import ENTRIES

ROOT = Path(__file__).resolve().parent.parent
BOX = Box(np.array([3.0, -1.0]), np.array([9.0, 1.0]))


def test_the_page_is_made_from_the_committed_figures():
    report = json.loads((ROOT / "benchmarks" / "peers.json").read_text("utf-8"))
    text = (ROOT / "docs" / "peers.md").read_text("utf-8")
    assert text == page(report)
    report["figures"][5]["worst_cost"] += 1.0
    assert text != page(report)


def test_a_small_run_without_other_packages(tmp_path):
    out, text = tmp_path / "peers.json", tmp_path / "peers.md"
    asked = ["--sets", "iris", "--seeds", "1", "--without-diffprivlib", "--out", str(out), "--page", str(text)]
    assert peers.main(asked) == 0
    report = json.loads(out.read_text("utf-8"))
    assert text.read_text("utf-8") == page(report)
    rows = {row["peer"]: row for row in report["figures"]}
    assert {ENTRIES[key].name for key in peers.OURS} < set(rows)
    assert set(report["left_out"]) == {peers.GOOGLE, peers.DIFFPRIVLIB}
    assert not any(row["refused"] for row in rows.values())
    assert [name for name, row in rows.items() if row["proved"] is None] == [peers.SKLEARN]
    # Apart from the package's own sums: 1e-4 is the last digit that is written.
    data = load("iris")
    floor = KMeans(3, n_init=5, random_state=0).fit(data.points).inertia_
    middle = ((data.points - (data.box.low + data.box.high) / 2) ** 2).sum()
    assert rows["No data: middle of the box"]["cost"] == pytest.approx(middle / floor, abs=1e-4)
    assert rows[peers.SKLEARN]["cost"] == 1.0


@pytest.mark.parametrize("asked", [["--sets", "iris", "iris"], ["--sets", "nothing"], ["--sets", "--files", "none"]])
def test_what_cannot_be_read_is_said(asked, capsys):
    assert peers.main([*asked, "--without-diffprivlib"]) == 1
    assert asked[-1] in capsys.readouterr().err


def largest_move(counts, points, others):
    """Return the most that one of `others` moves the counts of `points` in sum."""
    before = counts(points)
    return max(np.abs(counts(np.vstack([points, other])) - before).sum() for other in others)


def test_one_record_moves_the_histogram_by_one():
    rng = np.random.default_rng(0)
    points = BOX.from_unit(rng.random((200, 2)))
    walls = np.array([BOX.low, BOX.high, BOX.high + 5.0, BOX.low - 5.0, BOX.from_unit(np.array([0.5, 0.5]))])
    others = np.vstack([walls, points[:3], BOX.from_unit(rng.random((20, 2)))])
    assert largest_move(lambda x: histogram.nonprivate_counts(x, BOX), points, others) == 1.0

    def from_the_records(x):
        return histogram.nonprivate_counts(x, Box(x.min(axis=0), x.max(axis=0)))

    assert largest_move(from_the_records, points, others) > 1.0


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 3.0])
def test_the_histogram_spends_epsilon_and_no_more(epsilon, monkeypatch):
    drawn = []

    def laplace(value, *, scale, rng):
        drawn.append(scale)
        return value + rng.laplace(scale=scale, size=np.shape(value))

    monkeypatch.setattr(histogram, "laplace", laplace)
    made = histogram.fit(BOX.from_unit(np.full((9, 2), 0.3)), BOX, 3, epsilon, rng=np.random.default_rng(0))
    (noise,) = made.events
    assert drawn == [noise.scale]
    assert spent_epsilon(made.events, Adjacency.ADD_REMOVE) == epsilon == made.guarantee.proved.epsilon
    assert made.release.centers.shape == (3, 2)


def test_without_noise_the_histogram_is_k_means_on_the_middles_of_its_cells():
    m = histogram.cells_per_axis(2)
    unit = (np.array([[3, 3], [3, 20], [25, 8]]) + 0.5) / m
    made = histogram.fit(BOX.from_unit(np.repeat(unit, 7, axis=0)), BOX, 3, math.inf, rng=np.random.default_rng(0))
    found = BOX.to_unit(made.release.centers)
    assert found[np.lexsort(found.T[::-1])] == pytest.approx(unit, abs=1e-12)
    with pytest.raises(ValueError, match="got 17"):
        histogram.fit(np.zeros((3, 17)), Box.cube(0.0, 1.0, 17), 2, 1.0, rng=np.random.default_rng(0))
