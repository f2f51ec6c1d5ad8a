"""nD-Laplace's distribution: the cost of drawing again near walls; its charts need no records."""

import numpy as np
import pytest

from dpviz.mechanisms import redraw_loss
from dpviz.methods.nd_laplace import charts
from tests.methods.nd_laplace.test_run import tell


def test_the_price_of_drawing_again_is_highest_in_the_corner_and_none_in_the_middle():
    run = tell(domain="redraw", level=10.0)
    box = charts.square_of(run.words.box, run.params)
    (heat,) = [
        layer for layer in charts.loss_scene(run.params, run.words, run.measure).layers if layer.name == "Lost above ε"
    ]
    lost = 1.0 + heat.arrays["value"][0, 0] / 255.0
    corner = redraw_loss(box, epsilon=run.params.epsilon)
    assert lost[0, 0] > 1.5
    assert lost[0, 0] <= corner + 0.01
    assert lost[45, 45] < 1.05
    assert 1.0 < corner <= 2.0
    assert lost == pytest.approx(lost[::-1, ::-1], abs=0.02), "opposite corners cost the same"


@pytest.mark.parametrize("where", charts.PLACES)
def test_the_density_at_a_place_peaks_there(where):
    run = tell()
    scene = charts.density_scene(run.params, run.words, run.measure, where)
    values, (x, y) = scene.layers[0].arrays["value"][0, 0], charts.PLACES[where]
    row, column = np.unravel_index(values.argmax(), values.shape)
    assert abs(column + 0.5 - x * charts.CELLS) <= 1.0
    assert abs(row + 0.5 - y * charts.CELLS) <= 1.0


def test_more_features_move_points_farther():
    run = tell()
    rows = charts.dimension_rows(run.params, run.words.box, run.measure)
    assert rows[1]["Mean move"] == "1.5 m"
    assert rows[-1]["Lands inside, from a corner"].startswith("under")
    assert rows[0]["Lands inside, from a corner"] == "50 in 100"
