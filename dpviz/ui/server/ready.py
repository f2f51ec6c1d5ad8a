"""What is made before the first visitor comes: the home page's small pictures, and with them the machine code."""

import threading

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
    finally:
        told.cancel()
