"""What is made before the first visitor comes: the home page's small pictures, and with them the machine code."""

import contextlib
import threading

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


def take_descriptors() -> None:
    """Let this process open as many files and lines as the system allows it: each open page takes four."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):  # some systems say a limit that they do not grant
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
