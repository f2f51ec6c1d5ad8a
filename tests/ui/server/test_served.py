"""Delivery of a component's script: fetched once, or inline if Streamlit does not allow a fetch."""

from collections.abc import Callable

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from dpviz.assets import module


def page() -> None:
    from dpviz.ui.controls import epsilon_slider
    from dpviz.ui.live import live
    from tests.browser.apps.scenes import filled, tradeoff

    epsilon_slider(key="epsilon", value=1.0, label="\u03b5", values=(0.5, 1.0, 2.0))
    live(tradeoff(), key="curves")
    live(filled(), key="grid")


def components() -> list:
    app = AppTest.from_function(page, default_timeout=30).run()
    assert [error.message for error in app.exception] == []
    return [element.proto for element in app.get("bidi_component")]


def test_messages_name_the_script_instead_of_carrying_it() -> None:
    # A second Streamlit in the same process does not have the first one's components.
    for _ in range(2):
        found = components()
        assert [one.component_name for one in found] == ["dpviz.epsilon", "dpviz.live", "dpviz.live"]
        assert [one.js_source_path for one in found] == ["epsilon.js", "live.js", "live.js"]
        assert [one.js_content for one in found] == ["", "", ""]
        assert all(".dpviz-" in one.css_content for one in found)
        assert max(one.ByteSize() for one in found) < 20_000


def fail(*_: object) -> None:
    raise TypeError("changed")


@pytest.mark.parametrize("changed", [fail, lambda *_: None], ids=["refuses", "does nothing"])
def test_the_script_travels_along_where_streamlit_does_not_serve_it(
    monkeypatch: pytest.MonkeyPatch, changed: Callable[..., None]
) -> None:
    monkeypatch.setattr(BidiComponentManager, "register_from_manifest", changed)
    found = components()
    assert [one.component_name for one in found] == ["dpviz_epsilon", "dpviz_live", "dpviz_live"]
    assert [one.js_source_path for one in found] == ["", "", ""]
    assert found[0].js_content == module("epsilon")
    assert found[1].js_content == found[2].js_content == module("live")
