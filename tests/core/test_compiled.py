"""Machine code is kept on the disk where that is possible, and runs where it is not."""

import errno

import numpy as np
import pytest
from numba.core.caching import FunctionCache

from dpviz.core import compiled


def doubled(values):
    return 2.0 * values


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_takes_nothing_stops_nobody(reason, monkeypatch):
    asked = []

    def refuse(_self, sig, _data):
        asked.append(sig)
        raise OSError(reason, "no")

    monkeypatch.setattr(FunctionCache, "save_overload", refuse)
    found = compiled(doubled)(np.arange(3.0))
    assert list(found) == [0.0, 2.0, 4.0]
    assert asked, "or nothing would have been kept in the first place"
