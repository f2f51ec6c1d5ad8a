"""Settings with which a different process computes as this one does: to the bit, in as many threads."""

import os

PREFIXES = ("OMP_", "OPENBLAS_", "MKL_", "NPY_", "NUMBA_", "GLIBC_TUNABLES", "LD_LIBRARY_PATH")


def numeric_environment(**more: str) -> dict[str, str]:
    """Return this process's settings of threads, kernels and vector functions, and `more`: nothing else of it."""
    return {**{name: value for name, value in os.environ.items() if name.startswith(PREFIXES)}, **more}
