"""nD-Laplace's law: what drawing again costs near walls; no chart of it needs a record."""

import dataclasses

import pytest

from dpviz.mechanisms import redraw_loss
from dpviz.methods.nd_laplace import charts
from tests.methods.nd_laplace.test_run import tell


def test_the_price_of_drawing_again_is_highest_in_the_corner_and_none_in_the_middle():
    run = tell(domain="redraw", level=10.0)
    box = charts.square_of(run)
    (heat,) = [layer for layer in charts.loss_scene(run).layers if layer.name == "Lost above ε"]
    lost = 1.0 + heat.arrays["value"][0, 0] / 255.0
    corner = redraw_loss(box, epsilon=run.params.epsilon)
    assert lost[0, 0] > 1.5
    assert lost[0, 0] <= corner + 0.01
    assert lost[45, 45] < 1.05
    assert 1.0 < corner <= 2.0
    assert lost == pytest.approx(lost[::-1, ::-1], abs=0.02), "opposite corners cost the same"


@pytest.mark.parametrize("where", charts.PLACES)
def test_the_law_alone_needs_no_record(where):
    run = tell()
    empty = dataclasses.replace(run, unit=run.unit[:0])
    for made in (lambda each: charts.density_scene(each, where), charts.profile_chart):
        assert made(run).caption == made(empty).caption
    rows = charts.dimension_rows(run)
    assert rows[1]["Mean move"] == "1.5 m"
    assert rows[-1]["Lands inside, from a corner"].startswith("under")
    assert rows[0]["Lands inside, from a corner"] == "50 in 100"
