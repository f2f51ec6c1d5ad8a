"""The small grid that the tests of sweeps run, and what its rows must be however they are made."""

from dpviz.tools.sweep.grids import grid_of
from dpviz.tools.sweep.trials import TIME_COLUMNS

FOUND = {
    "epsilon": [0.5, 2],
    "seeds": {"data": 2, "noise": 4},
    "data": [{"name": "blobs", "n": 300, "k": 3, "overlap": 0.1}, {"name": "iris", "k": 3}],
    "methods": [{"name": "dpm", "calibration": ["repaired", "published"]}, {"name": "su"}, {"name": "lloyd"}],
}
GRID = grid_of(FOUND)
TOML = """
epsilon = [0.5, 2]
[seeds]
data = 2
noise = 4
[[data]]
name = "blobs"
n = 300
k = 3
overlap = 0.1
[[data]]
name = "iris"
k = 3
[[methods]]
name = "dpm"
calibration = ["repaired", "published"]
[[methods]]
name = "su"
[[methods]]
name = "lloyd"
"""


def by_key(rows):
    """Return rows by their key, without times."""
    return {row["key"]: {name: row[name] for name in row if name not in TIME_COLUMNS} for row in rows}
