"""Text next to every page's picture: the public text is the same for all records."""

import numpy as np
import pytest

from dpviz.core import Box
from dpviz.data import Dataset
from dpviz.ui import frame
from dpviz.ui.state import plain


@pytest.fixture
def described(monkeypatch):
    """Return a function that returns the captions `_describe` writes."""

    def read(dataset, *, public):
        said = []
        monkeypatch.setattr(frame.st, "caption", said.append)
        frame._describe(dataset, public=public)
        return said

    return read


def dataset(n, n_classes, clipped):
    rng = np.random.default_rng(n)
    labels = None if n_classes is None else np.arange(n) % n_classes
    known = {"note": "A set.", "nonprivate_n_clipped": clipped}
    return Dataset(rng.random((n, 2)), labels, Box.cube(0.0, 1.0, 2), ("x", "y"), "Set", **known)


def test_the_public_is_told_nothing_of_how_many_records_there_are(described):
    sets = [dataset(*each) for each in ((0, None, 0), (1, 1, 0), (900, None, 3), (901, 4, 3), (902, 5, 40))]
    public = [described(each, public=True) for each in sets]
    assert public == [[f"2 features. {plain('A set.')}"]] * len(sets)
    curators = [described(each, public=False) for each in sets]
    assert len({*map(tuple, curators)}) == len(sets)
    assert curators[-1][0].startswith("902 records, 2 features, 5 known classes")
    assert "40" in curators[-1][1]
