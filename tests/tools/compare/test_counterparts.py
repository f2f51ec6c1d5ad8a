"""Agreement of clusters, against brute force and scikit-learn, also if a small cost hides a group."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from dpviz.core import Box, FoundClusters
from dpviz.solvers import assign
from dpviz.tools.compare import runs
from dpviz.tools.compare.runs import ALIKE, COUNTERPART_COLUMNS, OTHERS, Counterparts, TrialPart, typical


def clusters(points, centers):
    centers = np.array(centers, dtype=np.float64)
    return FoundClusters(centers, assign(points, centers))


def crowds(rng, places, sizes, width=0.01):
    return np.concatenate(
        [place + width * rng.normal(size=(n, 2)) for place, n in zip(places, sizes, strict=True)]
    ).clip(0, 1)


def test_a_small_cost_that_hides_a_group_which_does_not_exist_is_said():
    """A wide crowd is cut in two, and two small crowds share one center: the cost hardly rises."""
    rng = np.random.default_rng(0)
    wide = np.array([0.3, 0.3]) + 0.12 * rng.normal(size=(2_000, 2))
    places = [[0.85, 0.8], [0.85, 0.85], [0.1, 0.9], [0.9, 0.1]]
    points = np.concatenate([wide, crowds(rng, places, [40, 40, 300, 300])]).clip(0, 1)
    exact = clusters(points, [wide.mean(axis=0), *places])
    halves = [wide[wide[:, 0] < 0.3].mean(axis=0), wide[wide[:, 0] >= 0.3].mean(axis=0)]
    other = clusters(points, [*halves, [0.87, 0.825], *places[2:]])
    costs = [((points - each.centers[each.nonprivate_labels]) ** 2).sum() for each in (exact, other)]
    assert costs[1] < 1.02 * costs[0], "the cost does not show it"
    found = Counterparts.match(other, exact)
    assert found.nonprivate_found == {0, 3, 4}, "a center beside the middle of two crowds is neither of them"
    assert found.nonprivate_ari < ALIKE[0][0]
    assert "3 of 5 clusters without privacy are found again" in found.sentence
    assert "Released centers 1 and 2 share one cluster." in found.sentence
    assert found.sentence.endswith("Released center 3 has no counterpart without privacy.")
    (words, again) = found.facts()
    assert again.value == "3 of 5"
    assert not words.public
    assert not again.public
    same = Counterparts.match(clusters(points, exact.centers[::-1]), exact)
    assert same.sentence == "All 5 clusters without privacy are found again (almost the same groups, ARI 1)."


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 7))
def test_counterparts_are_those_of_brute_force_and_agreement_is_scikit_learns(seed, k, m):
    rng = np.random.default_rng(seed)
    points = rng.random((60, 2))
    exact, other = clusters(points, rng.random((k, 2))), clusters(points, rng.random((m, 2)))
    found = Counterparts.match(other, exact)
    assert found.nonprivate_ari == adjusted_rand_score(exact.nonprivate_labels, other.nonprivate_labels)
    for i, center in enumerate(other.centers):
        lengths = [np.linalg.norm(center - each) for each in exact.centers]
        j = int(np.argmin(lengths))
        fellows = [np.linalg.norm(exact.centers[j] - each) for h, each in enumerate(exact.centers) if h != j]
        assert found.nonprivate_nearest[i] == j
        # A sum of two squares and a root: a few roundings of numbers up to 2.
        assert found.nonprivate_distances[i] == pytest.approx(lengths[j], abs=1e-14)
        assert found.nonprivate_near[i] == (not fellows or lengths[j] < min(fellows) / 2)
    assert len(found.lines()) == m
    assert {len(line) for line in found.lines()} == {len(COUNTERPART_COLUMNS)}
    order = rng.permutation(m)
    turned = Counterparts.match(clusters(points, other.centers[order]), exact)
    assert turned.nonprivate_found == found.nonprivate_found, "centers have no order"
    same = Counterparts.match(exact, exact)
    assert same.nonprivate_found == set(range(k))
    assert (same.nonprivate_ari, same.alike) == (1.0, ALIKE[0][1])
    assert same.oddities == ""


def test_groups_by_chance_are_other_ones():
    rng = np.random.default_rng(0)
    exact, chance = (FoundClusters(rng.random((4, 2)), rng.integers(4, size=5_000)) for _ in range(2))
    found = Counterparts.match(chance, exact)
    # The index of two random groupings has mean 0, and here a deviation below 0.001.
    assert abs(found.nonprivate_ari) < 0.006
    assert found.alike == OTHERS


def test_runs_are_repeated_to_the_bit_and_held_against_k_means_on_their_own_records():
    rng = np.random.default_rng(0)
    points, box = crowds(rng, [[0.2, 0.2], [0.8, 0.3], [0.5, 0.8]], [80, 80, 80], 0.04), Box((0.0, 0.0), (1.0, 1.0))
    for part in (TrialPart("eugkm", 3.0, 3, 0, 6, 240), TrialPart("eugkm", 3.0, 3, 0, 6, 120, parts=True)):
        made = runs.rows(points, box, None, part)
        found = runs.counterparts(points, box, None, part)
        assert len(found) == len(made)
        for i, (row, one) in enumerate(zip(made, found, strict=True)):
            trial = runs.trials(points, box, None, part)[i]
            sample = trial.source.dataset().points
            exact = KMeans(3, n_init=20, random_state=0).fit(sample)
            assert len(one.nonprivate_nearest) == len(row[runs.CENTERS])
            # Three crowds far apart: k-means finds them from any of many starts, so the labels are the same.
            assert one.nonprivate_ari == pytest.approx(
                adjusted_rand_score(exact.labels_, assign(sample, row[runs.CENTERS])), abs=1e-12
            )
        again = runs.look(points, box, None, part).counterparts
        assert again.nonprivate_ari == found[0].nonprivate_ari
        np.testing.assert_array_equal(again.nonprivate_distances, found[0].nonprivate_distances)


def test_over_runs_it_is_said_how_many_find_all_and_a_run_that_released_nothing_finds_none():
    points = np.array(list(itertools.product([0.1, 0.9], [0.2, 0.8])) * 5)
    exact = clusters(points, [[0.1, 0.2], [0.1, 0.8], [0.9, 0.2], [0.9, 0.8]])
    halves = clusters(points, [[0.1, 0.5], [0.9, 0.5]])
    whole, part = (Counterparts.match(each, exact) for each in (exact, halves))
    assert typical([whole, whole, part]).startswith(
        "Are they the same clusters? 2 of three runs find all four clusters that k-means finds without privacy"
    )
    assert "median agreement (ARI) is 0, " in typical([whole, None, None])
    assert typical([]) == typical([None]) == ""


def test_nothing_of_it_is_in_a_repr():
    points = np.random.default_rng(0).random((30, 2))
    found = Counterparts.match(clusters(points, [[0.123, 0.5]]), clusters(points, [[0.2, 0.5], [0.7, 0.1]]))
    assert "0.1" not in repr(found)
