"""Settings with which a different process computes as this one does: to the bit, in as many threads."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = ("OMP_", "OPENBLAS_", "MKL_", "NPY_", "NUMBA_", "GLIBC_TUNABLES", "LD_LIBRARY_PATH")


def numeric_environment(**more: str) -> dict[str, str]:
    """Return this process's settings of threads, kernels and vector functions, and `more`: nothing else of it."""
    return {**{name: value for name, value in os.environ.items() if name.startswith(PREFIXES)}, **more}


def run_python(
    *arguments: object, cwd: Path = ROOT, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return the result of this Python with other arguments; a process that hangs raises TimeoutExpired."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=600, check=False)
