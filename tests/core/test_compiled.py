"""Machine code is kept on the disk where that is possible, and runs where it is not."""

import errno

import numpy as np
import pytest
from numba.core import caching

from dpviz.core import compiled


def doubled(values):
    return 2.0 * values


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
def test_a_disk_that_takes_nothing_stops_nobody(reason, monkeypatch):
    asked = []

    def refuse(_self, sig, _data):
        asked.append(sig)
        raise OSError(reason, "no")

    monkeypatch.setattr(caching.FunctionCache, "save_overload", refuse)
    found = compiled(doubled)(np.arange(3.0))
    assert list(found) == [0.0, 2.0, 4.0]
    assert asked, "or nothing would have been kept in the first place"


def test_what_is_kept_of_a_class_that_is_gone_is_compiled_again(monkeypatch):
    """An older source's index may name its own class, which then cannot be read."""
    kept, read = [], caching.IndexDataCacheFile._load_index

    def older(self):
        if not kept:
            raise AttributeError("Can't get attribute '_Nearest'")
        return read(self)

    monkeypatch.setattr(caching.IndexDataCacheFile, "_load_index", older)
    monkeypatch.setattr(caching.IndexDataCacheFile, "_save_index", lambda _self, index: kept.append(index))
    assert list(compiled(doubled)(np.arange(3.0))) == [0.0, 2.0, 4.0]
    assert kept[0] == {}
