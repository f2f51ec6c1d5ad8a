"""Comparison of other packages with dpviz's methods on the same records, epsilon, k and public box.

`python -m benchmarks.peers --out benchmarks/peers.json --page docs/peers.md` runs all peers and writes the figures
and their page. diffprivlib does not work with the scikit-learn version that dpviz needs, so it gets a separate
environment, in `--environment FOLDER` (created once, then kept) or in a temporary folder. `--without-diffprivlib`
leaves it out. `--folder FOLDER --files NAME ...` adds CSV files; their bounds are taken from the records.
"""

import argparse
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks import histogram
from benchmarks.peers_page import page
from dpviz.core import Adjacency, Centers, Labels, Result
from dpviz.core.algebra import one_thread
from dpviz.data import Dataset, known_groups, load, read_table
from dpviz.methods import ALGORITHMS
from dpviz.metrics import adjusted_rand, nonprivate_cost
from dpviz.solvers import assign, public_start
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.sweep import expand_grid
from dpviz.tools.trials import FLOOR_STARTS, Trial, cluster_figures, nonprivate_clusters, versions

# Bundled sets, with all their records.
SETS = ("blobs", "imbalanced", "mixture", "iris")
# Keys of ENTRIES.
OURS = ("convergent_kmeans", "dpm", "dplloyd", "fastlloyd", "eugkm", "gupt", "privgene", "morse", "lsh_splits", "em_mc")
SKLEARN, DIFFPRIVLIB = "scikit-learn KMeans", "diffprivlib KMeans"
NEEDED = ("diffprivlib==0.6.6", "scikit-learn<1.7")
GOOGLE = "Google's differential-privacy clustering"
WHY_NO_GOOGLE = (
    "It is not in a package index, so it would have to be built from its repository. LSH-Splits, in the tables, is our "
    "own implementation of the same idea."
)
# k if no one knows the number of groups.
DEFAULT_K = 5
SUFFIX = ".csv.gz"
MIDDLE, PACKED, HISTOGRAM = "No data: middle of the box", "No data: k packed centers", "Noisy histogram + KMeans"
Proved = tuple[float, float, str]  # epsilon, delta, neighbors


@dataclass(frozen=True, slots=True)
class PeerSet:
    """Records for all peers, with the requested number of clusters."""

    name: str
    k: int
    data: Dataset


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one peer. Curator only, because it is measured on the true records."""

    # Cost of at most k centers.
    cost: float
    # ARI of the released clusters; None without known classes.
    ari: float | None
    # Processor time on one thread, s.
    seconds: float
    # None if nothing is proved.
    proved: Proved | None
    # Number of released centers.
    own_k: int
    # Cost of all released centers.
    own_cost: float
    # ARI with the groups of scikit-learn's KMeans without privacy.
    same: float


# seed -> run
OneRun = Callable[[int], Run]


@dataclass(frozen=True, slots=True)
class Peer:
    """One peer on one set: its runs, or the reason for their absence."""

    name: str
    runs: tuple[Run, ...] = ()
    refused: str = ""
    # Privacy figures according to the peer's own code, if requested.
    looked_into: dict[str, float] | None = None


def peer_sets(names: list[str], folder: Path, files: list[str]) -> Iterator[PeerSet]:
    """Yield sets of the gallery by name, then files of the folder; k is the number of known groups.

    Raises ValueError for a name that is unknown or given twice, and for a missing file.
    """
    if len({*names, *files}) < len(names) + len(files):
        raise ValueError(f"The sets must all be different, got {', '.join([*names, *files])}. Remove the duplicate.")
    for name in names:
        yield PeerSet(name, known_groups(name) or DEFAULT_K, load(name))
    for name in files:
        file = folder / f"{name}{SUFFIX}"
        if not file.is_file():
            raise ValueError(f"There is no file {file}. Name the folder with --folder, and files without {SUFFIX}.")
        table = read_table(file)
        label = "label" if "label" in (*table.numeric_columns, *table.text_columns) else None
        features = [column for column in table.numeric_columns if column != label]
        data = table.dataset(features, label, missing="drop", title=name)
        yield PeerSet(name, DEFAULT_K if data.labels is None else len(np.unique(data.labels)), data)


@functools.lru_cache(maxsize=4)
def without_privacy(one: PeerSet) -> KMeans:
    """Return scikit-learn's KMeans on all records: the reference for costs and for groups."""
    return KMeans(one.k, n_init=FLOOR_STARTS, random_state=0).fit(one.data.points)


def agreements(one: PeerSet, labels: Labels) -> tuple[float | None, float]:
    """Return the ARI of a run's groups with the known classes, if there are some, and with KMeans' groups."""
    ari = None if one.data.labels is None else adjusted_rand(one.data.labels, labels)
    return ari, adjusted_rand(np.asarray(without_privacy(one).labels_, dtype=np.intp), labels)


def measured(one: PeerSet, centers: Centers, seconds: float, proved: Proved | None) -> Run:
    """Measure centers (m, d), data units, with every record at its nearest center."""
    points = one.data.points
    labels = assign(points, np.ascontiguousarray(centers))
    ari, same = agreements(one, labels)
    cost = nonprivate_cost(points, centers, labels)
    return Run(cost, ari, seconds, proved, len(centers), cost, same)


def drawn(one: PeerSet, proved: Proved | None, centers: Callable[[np.random.Generator], Centers]) -> OneRun:
    """Return the function that measures the centers of a seed."""

    def run(seed: int) -> Run:
        start = time.process_time()
        found = centers(np.random.default_rng(seed))
        return measured(one, found, time.process_time() - start, proved)

    return run


def repeated(name: str, n_seeds: int, run: OneRun) -> Peer:
    """Run a function once per seed."""
    try:
        return Peer(name, tuple(run(seed) for seed in range(n_seeds)))
    # The method does not accept these records, and the error states the reason.
    except ValueError as error:
        return Peer(name, refused=str(error))


def without_records(one: PeerSet) -> dict[str, OneRun]:
    """Return the reference for all costs and two baselines without data, which a method should beat."""
    box, free = one.data.box, (0.0, 0.0, Adjacency.ADD_REMOVE.value)
    middle = box.from_unit(np.full((1, box.d), 0.5))

    def another_start(rng: np.random.Generator) -> Centers:
        made = KMeans(one.k, n_init=FLOOR_STARTS, random_state=int(rng.integers(2**31))).fit(one.data.points)
        return np.asarray(made.cluster_centers_)

    def packed(rng: np.random.Generator) -> Centers:
        return box.from_unit(public_start(one.k, box.d, seed=None, rng=rng))

    return {
        SKLEARN: drawn(one, None, another_start),
        MIDDLE: drawn(one, free, lambda _: middle),
        PACKED: drawn(one, free, packed),
    }


def private_runs(one: PeerSet, epsilon: float, n_seeds: int, keys: Iterable[str]) -> dict[str, OneRun]:
    """Return the noisy histogram, and dpviz's methods (keys of ENTRIES) under their names on the Compare page."""
    proved = (epsilon, 0.0, Adjacency.ADD_REMOVE.value)
    points, box = one.data.points, one.data.box

    def noisy_histogram(rng: np.random.Generator) -> Centers:
        return histogram.fit(points, box, one.k, epsilon, rng=rng).release.centers

    found = {HISTOGRAM: drawn(one, proved, noisy_histogram)}
    for key in keys:
        found[ENTRIES[key].name] = partial(_house_run, one, house_trials(one, key, epsilon, n_seeds))
    return found


def house_trials(one: PeerSet, key: str, epsilon: float, n_seeds: int) -> Sequence[Trial]:
    """Return the runs of one of dpviz's methods (a key of ENTRIES)."""
    data = {"name": one.name, "records": one.data, "k": one.k}
    grid = {"epsilon": epsilon, "data": [data], "methods": [ENTRIES[key].declared()]}
    return expand_grid(grid, {"start": n_seeds})


def house_result(one: PeerSet, trial: Trial) -> Result[Any, Any]:
    """Run one trial like a sweep. Raises ValueError for records or parameters that the method rejects."""
    rng = np.random.default_rng(trial.noise_key)
    return ALGORITHMS[trial.method].fit(one.data.points, one.data.box, trial.params(one.data.box), rng=rng)


def _house_run(one: PeerSet, trials: Sequence[Trial], seed: int) -> Run:
    trial, data = trials[seed], one.data
    algorithm = ALGORITHMS[trial.method]
    with one_thread():
        start = time.process_time()
        result = house_result(one, trial)
        seconds = time.process_time() - start
        figures: Any = cluster_figures(result.release, algorithm, data, trial)[0]
        clusters = nonprivate_clusters(algorithm, result.release, data.points, data.box, one.k)
    claim = result.guarantee.proved
    proved = None if claim is None else (claim.epsilon, claim.delta, claim.adjacency.value)
    ari, same = agreements(one, clusters.nonprivate_labels)
    return Run(figures["inertia"], ari, seconds, proved, figures["k_found"], figures["found_inertia"], same)


def environment(folder: Path) -> Path:
    """Return the Python of an environment with diffprivlib; create the environment if it is missing."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(folder, with_pip=True)
    if subprocess.run([python, "-c", "import diffprivlib.models"], capture_output=True, check=False).returncode:
        subprocess.run([python, "-m", "pip", "install", "-q", *NEEDED], capture_output=True, check=True, text=True)
    return python


def asked_environment(chosen: argparse.Namespace, temporary: Path) -> tuple[Path | None, dict[str, str]]:
    """Return the Python of diffprivlib's environment, or the reason for leaving it out."""
    if chosen.without_diffprivlib:
        return None, {DIFFPRIVLIB: "It was left out of this run."}
    try:
        return environment(chosen.environment or temporary), {}
    except (subprocess.CalledProcessError, OSError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip()
        return None, {DIFFPRIVLIB: f"It could not be installed: {said.splitlines()[-1]}"}


def diffprivlib(python: Path, one: PeerSet, epsilon: float, n_seeds: int) -> tuple[Peer, dict[str, str]]:
    """Run diffprivlib in its environment and return it with the environment's versions."""
    box, script = one.data.box, Path(__file__).with_name("peers_diffprivlib.py")
    with tempfile.TemporaryDirectory() as folder:
        records = Path(folder) / "records.npz"
        np.savez(records, unit=box.to_unit(one.data.points))
        command = [str(python), str(script), str(records), str(one.k), str(epsilon), str(n_seeds)]
        alone = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, check=False, text=True, env=alone)
    if done.returncode:
        return Peer(DIFFPRIVLIB, refused=done.stderr.strip().splitlines()[-1]), {}
    said = json.loads(done.stdout)
    runs = (measured(one, box.from_unit(np.array(run["unit_centers"])), run["seconds"], None) for run in said["runs"])
    return Peer(DIFFPRIVLIB, tuple(runs), looked_into=said["looked_into"]), said["versions"]


def figures(one: PeerSet, peers: list[Peer]) -> Iterator[dict[str, Any]]:
    """Yield one row for each peer on a set: medians over seeds, the worst cost, and the weakest guarantee."""
    (base,) = (median(run.cost for run in peer.runs) for peer in peers if peer.name == SKLEARN)
    for peer in peers:
        row: dict[str, Any] = {"set": one.name, "peer": peer.name, "refused": peer.refused}
        if peer.runs:
            ratios = [run.cost / base for run in peer.runs]
            aris = [run.ari for run in peer.runs if run.ari is not None]
            proved = [run.proved for run in peer.runs if run.proved is not None]
            row |= {
                "cost": round(median(ratios), 4),
                "worst_cost": round(max(ratios), 4),
                "ari": round(median(aris), 4) if aris else None,
                "ms": round(1e3 * median(run.seconds for run in peer.runs), 2),
                "proved": max(proved) if len(proved) == len(peer.runs) else None,
                "looked_into": peer.looked_into,
            }
        yield row


def compared(chosen: argparse.Namespace) -> dict[str, Any]:
    """Run all and return the report."""
    found: list[dict[str, Any]] = []
    sets: list[dict[str, Any]] = []
    theirs: dict[str, str] = {}
    left_out = {GOOGLE: WHY_NO_GOOGLE}
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(1):
        python, why_not = asked_environment(chosen, Path(temporary))
        left_out |= why_not
        for one in peer_sets(chosen.sets, chosen.folder, chosen.files):
            runs = without_records(one) | private_runs(one, chosen.epsilon, chosen.seeds, OURS)
            peers = [repeated(name, chosen.seeds, run) for name, run in runs.items()]
            if python is not None:
                peer, theirs = diffprivlib(python, one, chosen.epsilon, chosen.seeds)
                peers.insert(list(runs).index(HISTOGRAM) + 1, peer)
            found += figures(one, peers)
            public = not one.data.bounds_from_data
            sets.append({"name": one.name, "n": one.data.n, "d": one.data.d, "k": one.k, "public_box": public})
            print(f"{one.name}: {one.data.n:,} records, {len(peers)} peers", flush=True)
    return {
        "command": _command(chosen),
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "processor": platform.machine()},
        "versions": dict(versions()) | theirs,
        "epsilon": chosen.epsilon,
        "seeds": chosen.seeds,
        "left_out": left_out,
        "sets": sets,
        "figures": found,
    }


def _command(chosen: argparse.Namespace) -> str:
    words = ["python -m benchmarks.peers", f"--epsilon {chosen.epsilon:g} --seeds {chosen.seeds}"]
    words.append(f"--sets {' '.join(chosen.sets)}")
    words += [f"--folder FOLDER --files {' '.join(chosen.files)}"] if chosen.files else []
    words += ["--without-diffprivlib"] if chosen.without_diffprivlib else []
    return " ".join([*words, "--out benchmarks/peers.json --page docs/peers.md"])


def main(arguments: list[str]) -> int:
    """Run, and write or print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0, metavar="E", help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each; default: %(default)s")
    parser.add_argument("--sets", nargs="*", default=list(SETS), metavar="NAME", help=f"default: {' '.join(SETS)}")
    parser.add_argument("--folder", type=Path, default=Path(), metavar="FOLDER", help="that the files are in")
    parser.add_argument("--files", nargs="*", default=[], metavar="NAME", help=f"without {SUFFIX}")
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="for diffprivlib; default: a temporary one")
    parser.add_argument("--without-diffprivlib", action="store_true", help="leave it out, and install nothing")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON file that gets the figures")
    parser.add_argument("--page", type=Path, metavar="FILE", help="Markdown file that gets the tables")
    chosen = parser.parse_args(arguments)
    if chosen.seeds < 1 or not chosen.epsilon > 0:
        parser.error(f"seeds and epsilon must be above 0, got {chosen.seeds} and {chosen.epsilon}.")
    try:
        # The same values as after reading the file.
        report = json.loads(json.dumps(compared(chosen)))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if chosen.page is not None:
        chosen.page.write_text(page(report), "utf-8")
    else:
        print(page(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
