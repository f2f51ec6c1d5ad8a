"""Sums have the same bits on many processors: sums use one thread, even if their library is loaded late."""

import json
import os
import subprocess
import sys

NUMBERS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # tests set some of them, a user none
COUNTED = """
import json
from threadpoolctl import threadpool_info, threadpool_limits
from dpviz.core.algebra import one_thread
def most(limit):
    with limit:
        import sklearn.cluster
        return max(each["num_threads"] for each in threadpool_info())
print(json.dumps([most({limit}), len(threadpool_info())]))
"""


def counted(limit: str) -> list[int]:
    """Return the most threads of any library within a limit, and the number of libraries, in a separate process."""
    environment = {name: value for name, value in os.environ.items() if name not in NUMBERS}
    # The number of a machine with three processors.
    environment["OMP_NUM_THREADS"] = "3"
    code = COUNTED.replace("{limit}", limit)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    found: list[int] = json.loads(done.stdout)
    return found


def test_what_is_loaded_within_the_limit_has_one_thread():
    most, n_libraries = counted("one_thread()")
    assert most == 1
    assert n_libraries >= 2, "a matrix library and scikit-learn's"


def test_a_limit_before_anything_is_loaded_would_not_reach_it():
    assert counted("threadpool_limits(1)")[0] == 3
