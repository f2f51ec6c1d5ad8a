"""How many files and lines this process may have open."""

import contextlib


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
