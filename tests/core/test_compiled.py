"""Machine code is kept on the disk where that is possible, runs where it is not, and is not needed.

What every method releases without Numba is compared in `tests/test_recorded.py`; here is what takes more records.
"""

import errno
import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest

import dpviz
from dpviz.core import compiled
from dpviz.mechanisms import OsBits, SecretGenerator
from dpviz.solvers.nearest import nearest_among
from tests.numeric import numeric_environment
from tests.recorded import ROOT

MANY = 16_500  # a lattice is worth it
WITHOUT = """
import json, sys
sys.modules.update(numba=None, llvmlite=None)
from dpviz.core.compiled import HAS_NUMBA
from tests.core.test_compiled import hashes
assert not HAS_NUMBA
print(json.dumps(hashes()))
"""


def doubled(values):
    return 2.0 * values


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_takes_nothing_stops_nobody(reason, monkeypatch):
    caching = pytest.importorskip("numba.core.caching")
    asked = []

    def refuse(_self, sig, _data):
        asked.append(sig)
        raise OSError(reason, "no")

    monkeypatch.setattr(caching.FunctionCache, "save_overload", refuse)
    found = compiled(doubled)(np.arange(3.0))
    assert list(found) == [0.0, 2.0, 4.0]
    assert asked, "or nothing would have been kept in the first place"


def test_what_is_kept_of_a_class_that_is_gone_is_compiled_again(monkeypatch):
    """An older source's index may name a class of its own, which then cannot be read."""
    caching = pytest.importorskip("numba.core.caching")
    kept, read = [], caching.IndexDataCacheFile._load_index

    def older(self):
        if not kept:
            raise AttributeError("Can't get attribute '_Nearest'")
        return read(self)

    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", older)
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_index", lambda _self, index: kept.append(index))
    assert list(compiled(doubled)(np.arange(3.0))) == [0.0, 2.0, 4.0]
    assert kept[0] == {}


def hashes():
    """Return hashes of what is computed in another way where records are many, or noise is secret."""
    rng = np.random.default_rng(3)
    points, found = rng.random((MANY, 2)), {}
    points[:1000] = np.round(points[:1000], 1)  # on walls, and equally far from two centers
    partition = nearest_among(points).partition(np.round(rng.random((7, 2)), 1))
    found["lattice"] = (partition.nonprivate_labels, partition.sums.nonprivate_sums, partition.nonprivate_squares)
    targets = np.round(rng.random((60, 2)), 1)  # some of them twice, at equal distances from many records
    fit = dpviz.run("source_target", points, bounds=((0, 0), (1, 1)), seed=1, epsilon=1.0, targets=targets)
    found["ties"] = (fit.release.centers,)
    rng = SecretGenerator(OsBits(np.random.default_rng(4).bytes))
    exact, scale = np.arange(50.0) / 7.0, np.linspace(0.1, 9.0, 50)
    found["secret"] = (rng.rounded_laplace(exact, scale), rng.rounded_gaussian(exact, scale))
    return {name: hashlib.sha256(b"".join(map(np.ndarray.tobytes, each))).hexdigest() for name, each in found.items()}


def test_many_records_and_secret_noise_have_the_same_bits_without_numba():
    environment = numeric_environment(PYTHONPATH=str(ROOT))
    command = [sys.executable, "-c", WITHOUT]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == hashes()
