"""Releases and pictures of seeded runs, as hashes.

    python -m tests.recorded writes today's hashes, for this machine's arithmetic python -m tests.recorded --against
    REV computes both sides on this machine, and lists the differences from REV of Git

A changed hash means a changed release or picture: the changelog gives the reason.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import math
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy
import scipy.special
import sklearn

from dpviz import methods
from dpviz.core import Box, Event, knobs
from dpviz.data import DATASETS, load, size_limits, target_pairs
from dpviz.plots import scene_hash
from dpviz.stories import View, Words
from dpviz.stories.run import Run
from tests.numeric import numeric_environment

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_suffix(".json")
EPSILONS = (0.1, 1.0, 8.0)
N, SEED = 300, 5


def records(d: int) -> tuple[np.ndarray, Box]:
    """Return three clumps in the unit cube, some of them on its walls."""
    rng = np.random.default_rng(d)
    points = rng.random((3, d))[rng.integers(3, size=N)] + 0.1 * rng.standard_normal((N, d))
    return np.clip(points, 0.0, 1.0), Box.cube(0.0, 1.0, d)


def needs(name: str, d: int) -> dict[str, Any]:
    """Return the required arguments of a method."""
    return {"targets": np.random.default_rng(7).random((30, d)), "epsilon": 1.0} if name == "source_target" else {}


# Further parameters that a choice needs.
WITH = {"orientation=future": {"mode": "published"}, "noise=gaussian": {"delta": 1e-6}}


def modes(name: str) -> Iterator[dict[str, Any]]:
    """Yield changes to a method's defaults: nothing, ε, and one choice or switch at a time."""
    yield {}
    for knob in knobs(methods.ALGORITHMS[name].Params):
        if knob.name == "epsilon":
            yield from ({"epsilon": epsilon} for epsilon in EPSILONS)
        elif knob.kind == "choice":
            for value, _ in knob.choices:
                if value != knob.default:
                    yield {knob.name: value, **WITH.get(f"{knob.name}={value}", {})}
        elif knob.kind == "bool":
            yield {knob.name: not knob.default}


def releases() -> dict[str, str]:
    """Return the hash of each method's release in each mode, with two and three features."""
    found = {}
    for name, algorithm in methods.ALGORITHMS.items():
        for d in (2, 3):
            points, box = records(d)
            for mode in modes(name):
                said = ", ".join(f"{key}={value}" for key, value in mode.items()) or "as it is"
                params = algorithm.Params(**{**needs(name, d), **mode})
                result = algorithm.fit(points, box, params, rng=np.random.default_rng(SEED))
                spent = [list(_numbers(event)) for event in result.events]
                claims = [
                    (each.epsilon, each.delta) for each in (result.guarantee.published, result.guarantee.proved) if each
                ]
                found[f"{name}, d = {d}, {said}"] = _hash(result.release, spent, claims)
    return found


def pictures() -> dict[str, str]:
    """Return the hash of each method's picture, for the curator and for the public."""
    found = {}
    points, box = records(2)
    words = Words("Clumps", box, ("x", "y"), ("", ""))
    for name, algorithm in methods.ALGORITHMS.items():
        try:
            story = methods.run_class(name)
        except (KeyError, StopIteration):
            continue
        params = algorithm.Params(**needs(name, 2))
        result = algorithm.fit(points, box, params, rng=np.random.default_rng(SEED))
        told = story.from_result(result, params, points, words, story.find_reference(points, words, result, params))
        with patch.object(Run, "illustration_seed", SEED):
            scene = told.draw_scene(View())
        found[name] = scene_hash(scene)
        found[f"{name}, public"] = scene_hash(scene.public())
    return found


def datasets() -> dict[str, str]:
    """Return the hash of the records of each set that comes along, drawn or projected where it is."""
    found = {name: load(name, n=size_limits(name).default) for name in DATASETS}
    points: dict[str, Any] = {name: dataset.points for name, dataset in found.items()}
    for name in ("digits", "moved_digits", "first_aid"):
        pair = getattr(target_pairs, name)(rng=np.random.default_rng(SEED))
        points[f"source-target, {name}"] = [pair.source, pair.targets]
    return {name: _hash(each) for name, each in points.items()}


def arithmetic() -> str:
    """Return a key of the libraries and of the computations that dpviz leaves to them.

    Matrix products and NumPy's vector functions are not among it: their last bits depend on the processor, and none of
    them reaches a release or a picture (`dpviz/core/algebra.py`, `dpviz/core/functions.py`).
    """
    rng = np.random.default_rng(0)
    a = rng.random((33, 33))
    scalars = [function(x) for function in (math.exp, math.log, math.sin, math.lgamma) for x in a[0].tolist()]
    powers = [math.pow(*pair) for pair in zip(a[0].tolist(), a[1].tolist(), strict=True)]
    drawn = (rng.standard_normal(99), rng.laplace(size=99), rng.standard_gamma(3.0, 99), rng.exponential(size=99))
    special = (scipy.special.ndtr(a), scipy.special.gammainc(3.0, a), scipy.special.expit(a))
    added = (a.sum(axis=0), a.sum(), np.einsum("ij,jk", a, a), sum(a[0].tolist()))
    versions = (np.__version__, scipy.__version__, sklearn.__version__)
    return _hash(scalars, powers, *drawn, *special, *added, *versions)


def _numbers(event: Event) -> Iterator[float | str]:
    """Yield an event's kind and numbers, and those of the events in it."""
    yield type(event).__name__
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if isinstance(value, float):
            yield value.hex()
        elif isinstance(value, tuple):
            for each in value:
                yield from _numbers(each)
        elif dataclasses.is_dataclass(value):
            yield from _numbers(value)


def _hash(*values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        _feed(digest, value)
    return digest.hexdigest()[:16]


def _feed(digest: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _feed(digest, getattr(value, field.name))
    elif isinstance(value, tuple | list):
        digest.update(f"[{len(value)}".encode())
        for each in value:
            _feed(digest, each)
    elif isinstance(value, Enum):
        digest.update(value.name.encode())
    else:
        digest.update(f"{value!r};".encode())


KINDS = ("releases", "pictures", "datasets")
# As on a machine with other kernels for matrices, other vector functions and more cores.
ELSEWHERE = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OMP_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "2",
}
# Output of a second process about the packages in a folder, requested by that folder's own tests.
ASKED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import dpviz
from tests import recorded
assert dpviz.__file__.startswith(sys.argv[1]), dpviz.__file__
datasets = getattr(recorded, "datasets", dict)
print(json.dumps([recorded.arithmetic(), recorded.releases(), recorded.pictures(), datasets()]))
"""


@dataclasses.dataclass(frozen=True)
class Hashes:
    """Results of one kind of arithmetic."""

    arithmetic: str
    releases: dict[str, str]
    pictures: dict[str, str]
    datasets: dict[str, str]


def here() -> Hashes:
    """Return the hashes of this process."""
    return Hashes(arithmetic(), releases(), pictures(), datasets())


def kept() -> dict[str, Hashes]:
    """Return the recorded results, by arithmetic."""
    written = json.loads(FILE.read_text("utf-8"))
    return {name: Hashes(name, **each) for name, each in written.items()}


def computed(root: Path = ROOT, settings: Mapping[str, str] | None = None) -> Hashes:
    """Return the hashes of the packages below `root`, from a process with more `settings`."""
    environment = numeric_environment(PYTHONPATH=str(root), **(settings or {}))
    command = [sys.executable, "-c", ASKED, str(root)]
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Hashes(*json.loads(done.stdout.splitlines()[-1]))


def changed(found: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Return the cases whose hashes differ, or that one side lacks."""
    return sorted(case for case in found.keys() | before.keys() if found.get(case) != before.get(case))


def against(revision: str) -> int:
    """Print the differences in releases and pictures from a Git revision on this machine; return 1 if there are any."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=False)
        if packed.returncode:
            print(f"git knows no revision {revision!r} here.", file=sys.stderr)
            return 2
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(folder, filter="data")
        before, now = computed(Path(folder).resolve()), computed()
    differing = 0
    for what in KINDS:
        found, others = getattr(now, what), getattr(before, what)
        for case in changed(found, others):
            differing += 1
            print(f"{what}, {'gone' if case not in found else 'new' if case not in others else 'other'}: {case}")
    print(f"Hashes that differ from {revision}: {differing}.")
    return int(differing > 0)


def write() -> None:
    """Write this machine's hashes; hashes of different arithmetic stay, unless one of this machine's has changed."""
    found, before = here(), kept()
    if before.get(found.arithmetic, found) != found:
        before = {}
    sections = {}
    for each in (*before.values(), found):
        sections[each.arithmetic] = {what: getattr(each, what) for what in KINDS}
    FILE.write_text(json.dumps(sections, indent=1, sort_keys=True) + "\n", "utf-8")


def main() -> int:
    """Read the command line, and write or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.recorded", description=__doc__.split("\n")[0])
    parser.add_argument("--against", metavar="REV", help="a Git revision to compare with on this machine")
    options = parser.parse_args()
    if options.against:
        return against(options.against)
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
