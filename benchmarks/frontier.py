"""Frontier: the cost of centers on the shared sets, for every method that releases centers, other packages and no data.

`python -m benchmarks.frontier --folder FOLDER --out benchmarks/frontier.json --page docs/frontier.md` measures every
method of the Compare page, the peers of `benchmarks.peers`, no data and no privacy on every set of SETS at three
epsilons. It rewrites the file after every set. After an interruption, the same command resumes and measures only
missing figures. It measures agreement and time at epsilon 1 for all. `--again NAME ...` measures peers again. Bounds
are taken from the records, which is not private; k is public.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks import leaves, peers, separated
from benchmarks.dpm import synth_inertia
from benchmarks.frontier_page import AT, page
from benchmarks.peers import OneRun, Peer, PeerSet, Run
from dpviz.tools.compare.runs import ENTRIES
from dpviz.tools.trials import versions

EPSILONS = (1.0, 0.1, 10.0)
# A peer with a longer run on a set is left out there, s of processor time.
LONGEST = 30.0
# After this time, no further run of a peer on a set begins, s of processor time.
PATIENCE = 60.0
# Methods with an epsilon for the whole run, not per unit of distance or per step.
OURS = tuple(
    key for key, entry in ENTRIES.items() if not entry.per_distance and "budget" not in dict(entry.entry.fields)
)
MORSE = ENTRIES["morse"].name
# Methods that choose the number of centers.
OWN_K = tuple(ENTRIES[key].name for key in ("dpm", "dpm_published"))

# File names without suffix -> k for a set without classes. All numeric columns are features.
SETS: dict[str, int | None] = {
    "iris": None,
    "mall_customers": 5,
    "seeds": None,
    "heart_statlog": None,
    "old_faithful": None,
    "penguins": None,
    "lsun": None,
    "wholesale": None,
    "pima_diabetes": None,
    "synthea_patients": 5,
    "insurance": 5,
    "superconductivity_sample": 5,
    "house5": 3,
    "heart_ctg": None,
    "us_airports": 5,
    "engytime": None,
    "mopsi_joensuu": 5,
    "s1": None,
    "s2": None,
    "s3": None,
    "chameleon_t4_8k": None,
    "pulsar": None,
    "airbnb_barcelona": None,
    "birch2_12k": None,
    "mopsi_finland": 5,
    "magic": None,
    "letter": None,
    "lifesci": 3,
    "credit_default": None,
    "image_rgb": 3,
    "gas_turbine": 5,
    "us_zipcodes": 5,
    "world_cities": 5,
    "shuttle_train": None,
    "adult_num": 5,
    "uber_nyc_apr14_50k": 5,
    "birch2": None,
    "gowalla_nyc": 5,
}


class TooSlowError(ValueError):
    """Error for a run that took more than LONGEST."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in the main thread if the block takes more than this processor time."""

    def over(_: int, __: FrameType | None) -> None:
        raise TooSlowError(f"One run takes more than {seconds:g} s.")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def several(name: str, n_seeds: int, run: OneRun) -> Peer:
    """Run a function once per seed: at most LONGEST for each run, and no new run after PATIENCE in total."""
    made: list[Run] = []
    begun = time.process_time()
    try:
        for seed in range(n_seeds):
            if made and time.process_time() - begun > PATIENCE:
                break
            with at_most(LONGEST):
                made.append(run(seed))
    # The method does not accept these records, or takes too long, and the error states the reason.
    except ValueError as error:
        return Peer(name, refused=str(error))
    return Peer(name, tuple(made))


class Set:
    """One of SETS during its measurement; the reference cost is computed once."""

    def __init__(self, name: str, folder: Path, n_seeds: int) -> None:
        """Load the set. Raises ValueError for a missing file."""
        (one,) = peers.peer_sets([], folder, [name])
        self.one, self.n_seeds = PeerSet(name, SETS[name] or one.k, one.data), n_seeds
        self.inertia = cache(self._inertia)

    def _inertia(self, k: int) -> float:
        """Return the inertia of scikit-learn's KMeans with k centers.

        It is the best of FLOOR_STARTS starts for our k, and the result of one start for a different k. It is 0 if there
        are as many centers as records.
        """
        if k == self.one.k:
            return float(peers.without_privacy(self.one).inertia_)
        points = self.one.data.points
        return float(KMeans(k, n_init=1, random_state=0).fit(points).inertia_) if k < len(points) else 0.0

    def figure(self, peer: Peer) -> dict[str, Any]:
        """Return a peer's figures: medians of costs over KMeans', agreements and times, and the number of runs."""
        if peer.refused:
            return {"refused": peer.refused}
        base = self.inertia(self.one.k)
        made: dict[str, Any] = {"cost": round(median(run.cost for run in peer.runs) / base, 4), "runs": len(peer.runs)}
        if self.one.data.labels is not None:
            made["ari"] = round(median(run.ari for run in peer.runs if run.ari is not None), 4)
        made["same"] = round(median(run.same for run in peer.runs), 4)
        made["ms"] = float(f"{1e3 * median(run.seconds for run in peer.runs):.3g}")
        made["proved"] = all(run.proved is not None for run in peer.runs)
        if peer.name in OWN_K:
            beside = [run.own_cost / floor for run in peer.runs if (floor := self.inertia(run.own_k)) > 0]
            made["own_k"] = median(run.own_k for run in peer.runs)
            made["own_cost"] = round(median(run.own_cost for run in peer.runs) / base, 4)
            made["beside_own_k"] = round(median(beside), 4) if beside else None
        return made

    def parts(self) -> dict[str, Any]:
        """Return epsilon -> parts of DPM's cost relative to KMeans with the same number of centers."""
        one, made = self.one, {}
        for epsilon in EPSILONS:
            runs = (peers.house_result(one, each) for each in peers.house_trials(one, "dpm", epsilon, self.n_seeds))
            made[f"{epsilon:g}"] = leaves.parts(one.data.points, runs, self.inertia)
        return made

    def to_values(self) -> dict[str, Any]:
        """Return the properties of the set."""
        data = self.one.data
        return {"n": data.n, "d": data.d, "k": self.one.k, "inertia": self.inertia(self.one.k)}


def measure(one: Set, have: dict[str, Any], python: Path | None, said: dict[str, str]) -> Iterator[str]:
    """Add missing figures to `have` (epsilon -> name -> figure), and yield the measurements, epsilon by epsilon."""
    for epsilon in (None, *EPSILONS):
        of_epsilon = have.setdefault("any" if epsilon is None else f"{epsilon:g}", {})
        if epsilon is None:
            runs = peers.without_records(one.one)
        else:
            runs = peers.private_runs(one.one, epsilon, one.n_seeds, OURS)
        told = ("same", "refused") if epsilon in (None, float(AT)) else ("cost", "refused")
        missing = [name for name in runs if not of_epsilon.get(name, {}).keys() & set(told)]
        for name in missing:
            of_epsilon[name] = one.figure(several(name, one.n_seeds, runs[name]))
        if epsilon is not None and python is not None and peers.DIFFPRIVLIB not in of_epsilon:
            peer, theirs = peers.diffprivlib(python, one.one, epsilon, one.n_seeds)
            of_epsilon[peer.name] = one.figure(peer)
            said |= theirs
            missing.append(peer.name)
        if missing:
            yield f"{one.one.name}, epsilon {epsilon}: {', '.join(missing)}"


def main(arguments: list[str]) -> int:
    """Resume from the file, and write it and its page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, metavar="FOLDER", help="that the files are in")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each; default: %(default)s")
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS), help="default: all")
    parser.add_argument("--again", nargs="*", default=[], metavar="NAME", help="peers that are measured anew")
    parser.add_argument("--environment", type=Path, metavar="FOLDER", help="for diffprivlib; default: a temporary one")
    parser.add_argument("--without-diffprivlib", action="store_true", help="leave it out, and install nothing")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON file that has the figures")
    parser.add_argument("--page", type=Path, metavar="FILE", help="Markdown file that gets the tables")
    chosen = parser.parse_args(arguments)
    report: dict[str, Any] = json.loads(chosen.out.read_text("utf-8")) if chosen.out.is_file() else {}
    if report.setdefault("seeds", chosen.seeds) != chosen.seeds:
        parser.error(f"--seeds must be {report['seeds']}, the number in {chosen.out}, got {chosen.seeds}.")
    report |= {"patience": PATIENCE, "left_out": {peers.GOOGLE: peers.WHY_NO_GOOGLE}}
    report["versions"] = report.get("versions", {}) | dict(versions())
    sets: dict[str, Any] = report.setdefault("sets", {})
    for of_epsilon in (each for one in sets.values() for each in one["figures"].values()):
        for name in chosen.again:
            of_epsilon.pop(name, None)
    runs, again = report.setdefault("separated_runs", separated.SEEDS), set(chosen.again)
    if "separated" not in report or again & set(OWN_K):
        report["separated"] = separated.shares_found(runs)
    if "bounded" not in report or again & set(OWN_K):
        report["bounded"] = separated.bounded(runs)
        report["clear_from"] = separated.clear_from()
    if "synth" not in report or again & set(OWN_K):
        report["synth"] = round(synth_inertia().value, 2)
        report["synth_parts"] = leaves.synth_parts()
    if "moons" not in report or MORSE in again:
        report["moons"] = separated.moons_found(runs)
    with tempfile.TemporaryDirectory() as temporary, threadpool_limits(1):
        python, why_not = peers.asked_environment(chosen, Path(temporary))
        report["left_out"] |= why_not
        for name in chosen.sets:
            one = Set(name, chosen.folder, chosen.seeds)
            have = sets.get(name, {"figures": {}})
            for said in measure(one, have["figures"], python, report["versions"]):
                print(said, flush=True)
                sets[name] = one.to_values() | have
                _write(report, chosen.out)
            if "parts" not in have or again & set(OWN_K):
                sets[name] = one.to_values() | have | {"parts": one.parts()}
                _write(report, chosen.out)
    report["sets"] = {name: sets[name] for name in SETS if name in sets}
    _write(report, chosen.out)
    if chosen.page is not None:
        chosen.page.write_text(page(json.loads(chosen.out.read_text("utf-8"))), "utf-8")
    return 0


def _write(report: dict[str, Any], file: Path) -> None:
    """Write the file completely or not at all."""
    beside = file.with_suffix(".part")
    beside.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", "utf-8")
    beside.replace(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
