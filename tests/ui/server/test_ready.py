"""What is made before the first visitor comes, and what the terminal says meanwhile."""

import subprocess
import sys
import time

import pytest

from dpviz.ui.server import ready
from dpviz.ui.thumbnails import THUMBNAILS

SLOW_TO_LOAD = (
    *("scipy.optimize", "scipy.stats", "scipy.signal", "scipy.ndimage", "sklearn.cluster", "sklearn.metrics"),
    *(f"dpviz.data.{name}" for name in ("geojson", "parquet", "parsing", "workbook")),
)


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


def test_processes_that_read_no_file_load_no_parser():
    """Nor do background processes, commands and exported scripts: pandas and pyarrow are a third of all imports."""
    code = "import sys, dpviz.methods; print(sys.modules.keys() & {'pandas', 'pyarrow', 'streamlit'} or 'none')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"


def test_what_is_slow_to_load_waits_until_it_is_needed_and_the_app_has_it_before_anybody_comes():
    """Every command, script and worker imports the catalogue; a third of that was libraries most of them never call."""
    code = (
        "import sys, dpviz.navigation; from dpviz.ui.server import ready\n"
        "def loaded(): return ' '.join(name for name in sys.argv[1:] if name in sys.modules)\n"
        "before = loaded(); ready.load(); print(before); print(loaded())"
    )
    command = [sys.executable, "-c", code, "dp_accounting", *SLOW_TO_LOAD]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", " ".join(SLOW_TO_LOAD)]
