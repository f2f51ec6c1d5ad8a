"""What is made before the first visitor comes, and what the terminal says meanwhile."""

import time

import pytest

from dpviz.ui.server import ready
from dpviz.ui.thumbnails import THUMBNAILS


@pytest.mark.parametrize(("patience", "told"), [(0.01, True), (60.0, False)])
def test_all_small_pictures_are_made_and_a_long_wait_is_explained(monkeypatch, capsys, patience, told):
    made = []

    def address(name, *, dark):
        made.append((name, dark))
        time.sleep(0.02)

    monkeypatch.setattr(ready, "address", address)
    monkeypatch.setattr(ready, "PATIENCE", patience)
    ready.make()
    assert sorted(made) == sorted((name, dark) for name in THUMBNAILS for dark in (False, True))
    assert (ready.TOLD in capsys.readouterr().out) is told
