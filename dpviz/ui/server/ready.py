"""What is there before the first visitor comes: the home page's small pictures, the machine code, what loads slowly."""

import threading

from dpviz.data.reading import load_parsers
from dpviz.ui.server.descriptors import take_descriptors
from dpviz.ui.thumbnails import THUMBNAILS, address

PATIENCE = 3.0  # seconds of silence
TOLD = "Making machine code, once after an installation or a change: up to half a minute."


def make() -> None:
    """Draw all of the small pictures, and say on the terminal what is going on if that takes a while."""
    take_descriptors()
    told = threading.Timer(PATIENCE, print, (TOLD,), {"flush": True})
    told.daemon = True
    told.start()
    try:
        for name in THUMBNAILS:
            for dark in (False, True):
                address(name, dark=dark)
        load()
    finally:
        told.cancel()


def load() -> None:
    """Load what the package leaves until it is needed, so that no reader waits for it."""
    load_parsers()
    import scipy.ndimage
    import scipy.optimize
    import scipy.signal
    import scipy.stats  # noqa: F401
    import sklearn.cluster  # type: ignore[import-untyped]  # it ships no types
    import sklearn.metrics  # type: ignore[import-untyped]  # noqa: F401
