"""Benchmark of a slider move on the server: run, story, scene and bytes of the picture in advance of the rerun.

It measures the processor time of the function behind the picture's URL, so other work on the machine counts little.
`benchmarks.latency` measures the same moves from key to picture in a browser. Every value of the slider is new.
"""

import logging
import threading
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.latency import MODES, ROOT, SIZES
from benchmarks.registry import Benchmark, Measure, sized

# Values of the slider, evenly over its range.
VALUES = 20
WARM_UP = 2
# Records for a trial of the benchmarks.
SMALL = 500
# Leaves 30 of the 100 ms for the browser and the round trip.
MOST_MS = 70.0
# At a large ε the grid has up to 65,536 cells, nearly as many as there are records, and a search from several starts
# visits them repeatedly. Both cores of a machine share the counting, and this figure is their sum. The same holds for
# the mixture of Morse.
OWN_MS = {("EUGkM", SIZES[-1]): 150.0, ("Morse", SIZES[-1]): 85.0}


def offered(mode: str, n: int) -> Any:
    """Open the page without a browser and return its session's offer of pictures."""
    from streamlit.testing.v1 import AppTest

    name, _, _, rest = MODES[mode]
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    seed = int(time.time() * 10) % 10**8
    app.query_params.update({"data": "blobs", "n": str(n), "noise_seed": str(seed), **rest})
    app.switch_page(f"pages/{name}.py")
    app.run()
    # Without a server, the logger reports a missing session at every move. Streamlit sets its level when it makes it.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").setLevel(logging.ERROR)
    return app.session_state["dpviz:ahead"]


def move(mode: str, n: int) -> Measure:
    """Draw at one value after the other, in a separate thread like the server; the figure is the 95th percentile."""
    offer = offered(mode, sized(n, SMALL))
    places = np.linspace(0, len(offer.values) - 1, WARM_UP + sized(VALUES, 1)).astype(int)
    taken: list[float] = []

    def draw() -> None:
        for place in np.unique(places):
            # With many records there are two threads.
            start = time.thread_time() if n < SIZES[-1] else time.process_time()
            list(offer.draw(offer.values[place]))
            end = time.thread_time() if n < SIZES[-1] else time.process_time()
            taken.append(1e3 * (end - start))

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    counted = taken[WARM_UP:]
    return Measure(float(np.percentile(counted, 95)), f"{np.median(counted):.1f} ms", f"{len(counted)} values of ε")


BENCHMARKS = tuple(
    Benchmark(f"server's p95 (median): ε, {mode}, n = {n:,}", partial(move, mode, n), OWN_MS.get((mode, n), MOST_MS))
    for n in SIZES
    for mode in MODES
)
