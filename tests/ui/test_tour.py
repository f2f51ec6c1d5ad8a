"""The tour is offered on a method's page, and not before what a link shows."""

import pytest
from streamlit.testing.v1 import AppTest


def script():
    from dpviz.navigation import control_names
    from dpviz.ui import hiding, lessons, tour

    hiding.read_link(control_names())
    lessons.begin("convergent_kmeans")
    hiding.begin()
    tour.offer("convergent_kmeans")


@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ({}, True),
        ({"hide": "seeds"}, False),
        ({"hide": "tour"}, False),
        ({"size": "projector"}, False),
        ({"lesson": "epsilon"}, False),
    ],
)
def test_it_is_offered_but_to_whoever_came_by_a_link(query, offered):
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update(query)
    app.run()
    assert list(app.exception) == []
    assert bool(app.get("bidi_component")) is offered
