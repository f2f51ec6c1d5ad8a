"""The bundled comparison: complete, from the records that the app opens with, and the same if made anew."""

from dataclasses import replace

import numpy as np
import pytest

from dpviz.tools.compare import runs
from dpviz.tools.compare.page.runs import GRIDS, RUNS, TYPICAL
from dpviz.tools.compare.runs import CENTERS, COLUMNS, ENTRIES, EPSILONS, N_RUNS, packaged
from dpviz.tools.trials import GivenRecords
from dpviz.ui.data.picker import DEFAULT

# Rounding of a sum over 5,000 squared distances, which may be added in any order: 5,000 * 2^-53, twice.
RELATIVE = 1.2e-12
ADDED = ("inertia", "found_inertia", "floor_inertia", "inertia_ratio", "no_data_inertia")
TIMED = (*runs.DROPPED, "processor_seconds", CENTERS)


def digest():
    return GivenRecords.from_dataset(runs.dataset()).digest


def test_every_run_of_the_page_as_it_opens_is_there():
    assert DEFAULT == runs.DATA
    assert str(N_RUNS) == RUNS.default
    assert all(set(COLUMNS) <= set(grid) <= set(EPSILONS) for grid in GRIDS.values())
    assert packaged().records == digest()
    entries = [key for key, entry in ENTRIES.items() if entry.entry.on]
    assert len(entries) == 5
    for key in entries:
        for epsilon in EPSILONS:
            rows = packaged().find_rows(digest(), runs.part(key, epsilon))
            assert rows is not None
            assert [row["noise_seed"] for row in rows] == list(range(N_RUNS))


def test_other_runs_are_not_there():
    part = runs.part("dpm", 1.0)
    assert packaged().find_rows("other records", part) is None
    others = {"n_clusters": 4, "epsilon": 1.1, "entry": "dplloyd", "n": 200, "parts": True}
    for change in ({"first": 35, "n_runs": 10}, *({name: value} for name, value in others.items())):
        assert packaged().find_rows(digest(), replace(part, **change)) is None, change


@pytest.mark.parametrize("key", [key for key, entry in ENTRIES.items() if entry.entry.on])
@pytest.mark.parametrize(("epsilon", "first"), [(0.03, 4), (5.0, 37)])
def test_runs_made_anew_are_the_same(key, epsilon, first):
    """Releases to the bit, as far as the file writes them, on every processor; costs up to the order of their sums."""
    part = runs.part(key, epsilon, first, 2)
    kept, made = packaged().find_rows(digest(), part), runs.made(part)
    box = runs.dataset().box
    for old, new in zip(kept, made, strict=True):
        assert set(old) == set(new) - set(runs.DROPPED)
        for name in set(old) - set(TIMED):
            expected = pytest.approx(new[name], rel=RELATIVE) if name in ADDED else new[name]
            assert old[name] == expected, name
        assert runs.packed(old[CENTERS], box) == runs.packed(new[CENTERS], box)
        np.testing.assert_allclose(box.to_unit(old[CENTERS]), box.to_unit(new[CENTERS]), atol=0.5001 / runs.LEVELS)


def test_the_file_is_made_of_its_rows_alone():
    parts = [runs.part("dpm", 1.0, 0, 3), runs.part("eugkm", 0.1, 0, 3)]
    rows = {part: runs.made(part) for part in parts}
    for each in (row for lines in rows.values() for row in lines):
        each["processor_seconds"] = 0.012345
    assert runs.written(rows) == runs.written({part: list(map(dict, lines)) for part, lines in rows.items()})


def test_the_first_maps_are_typical():
    """The run that the maps open with is in the middle half of its method's runs at most values of ε."""
    inside = []
    for key in (key for key, entry in ENTRIES.items() if entry.entry.on):
        for epsilon in EPSILONS:
            costs = np.array([row["inertia_ratio"] for row in packaged().find_rows(digest(), runs.part(key, epsilon))])
            low, high = np.quantile(costs, [0.1, 0.9])
            inside.append(low <= costs[TYPICAL] <= high)
    assert np.mean(inside) > 0.8
