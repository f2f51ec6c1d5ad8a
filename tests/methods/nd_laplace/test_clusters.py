"""Clusters of nD-Laplace's released points: nothing flips without noise, and curves and clusters are public."""

import numpy as np
import pytest

from dpviz.methods.nd_laplace import clusters
from dpviz.solvers.local_clustering import METHODS
from dpviz.stories import View
from tests.methods.nd_laplace.test_run import tell


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_nothing_flips(method):
    run = tell(level=1e9, n=120)
    rows = clusters.clustered_rows(run.n, method)

    def compare(run):
        box, sample = run.words.box, run.result.release.points[rows].tobytes()
        return clusters.compare_clusters(box.from_unit(run.unit), box, sample, method, 3)

    found = compare(run)
    assert not found.flipped.any()
    assert found.agreement.ari == pytest.approx(1.0)
    noisy = tell(level=0.2, n=120)
    other = compare(noisy)
    assert other.agreement.ari < 0.8
    for scene in clusters.pair_scenes(noisy, View(), other):
        assert {layer.name for layer in scene.public().layers} == {"public bounds"}, (
            "clean clusters are nobody's business"
        )
    public = clusters.private_scene(noisy, View(), other.private)
    assert len(public.public().layers) == len(public.layers)


def test_many_agreements_grow_with_epsilon_and_depend_on_their_seed():
    run = tell(n=150)
    arguments = (run.words.box.from_unit(run.unit), run.words.box)

    def agree(level, seed=0):
        settings = (level / 1.5, *run.settings[1:])
        return clusters.cluster_many(*arguments, settings, "kmeans", 3, 4, seed).nonprivate_ari

    assert agree(200.0).mean() > 0.95 > 0.5 > agree(0.1).mean()
    assert np.array_equal(agree(2.0), agree(2.0))
    assert not np.array_equal(agree(2.0), agree(2.0, 1))


def test_parameter_curves_are_public_and_mark_their_choice():
    run = tell(n=150, level=100.0)
    found = clusters.parameter_curves(run.unit, run.words.box, run.result.release.points.tobytes())
    assert found.min_points == 4
    named = clusters.helper_charts(found)
    assert [name for name, _ in named] == ["elbow", "silhouettes", "gap", "distances"]
    for _, chart in named:
        assert not chart.public().is_empty
        assert any(layer.name == "Chosen" for layer in chart.layers)
