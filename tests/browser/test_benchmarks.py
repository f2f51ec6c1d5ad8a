"""Benchmarks that need a browser, started as a person starts them: one of each kind, on few records."""

import subprocess
import sys

import pytest

from tests.browser.servers import ROOT
from tests.test_benchmarks import BROWSED, NAMED


@pytest.mark.slow
@pytest.mark.parametrize("name", BROWSED)
def test_what_needs_a_browser_runs(name):
    """Each benchmark runs in its own process, as a person starts it: one benchmark of each kind."""
    kinds = {benchmark.run.func.__name__: benchmark.name for benchmark in NAMED[name] if hasattr(benchmark.run, "func")}
    kinds |= {benchmark.name: benchmark.name for benchmark in NAMED[name] if not hasattr(benchmark.run, "func")}
    command = [sys.executable, "-m", "benchmarks", "--small", *kinds.values()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count(" tried\n") >= len(kinds)
