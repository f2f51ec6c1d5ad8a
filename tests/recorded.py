"""What seeded runs release and show, as hashes.

    python -m tests.recorded                writes down today's, for each kind of arithmetic that can be tried here
    python -m tests.recorded --against REV  computes both sides on this machine, and says what differs from REV of Git

A hash that changes is a release or a picture that changed: the changelog says why.
"""

import argparse
import dataclasses
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from dpviz import methods
from dpviz.core import Box, Event, knobs
from dpviz.plots import scene_hash
from dpviz.stories import View, Words
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
    """Return what a method cannot do without."""
    return {"targets": np.random.default_rng(7).random((30, d)), "epsilon": 1.0} if name == "source_target" else {}


# What a choice needs beside itself.
WITH = {"orientation=future": {"mode": "published"}, "noise=gaussian": {"delta": 1e-6}}


def modes(name: str) -> Iterator[dict[str, Any]]:
    """Yield what to change of a method's defaults: nothing, ε, and one choice or switch at a time."""
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
    """Return the hash of what each method releases in each mode, in two and three features."""
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
    """Return the hash of each method's picture, as it is and as the public sees it."""
    found = {}
    points, box = records(2)
    words = Words("Clumps", box, ("x", "y"), ("", ""))
    for name, algorithm in methods.ALGORITHMS.items():
        try:
            story = methods.story_of(name)
        except (KeyError, StopIteration):
            continue
        params = algorithm.Params(**needs(name, 2))
        result = algorithm.fit(points, box, params, rng=np.random.default_rng(SEED))
        told = story.context(result, params, points, words, story.reference(points, words, result, params))
        scene = story.scene(told, View(), rng=np.random.default_rng(SEED))
        found[name] = scene_hash(scene)
        found[f"{name}, public"] = scene_hash(scene.public())
    return found


def arithmetic() -> str:
    """Return what stands for this machine's arithmetic and these libraries': elsewhere last bits may differ."""
    rng = np.random.default_rng(0)
    a = rng.random((33, 33))
    tried = (
        a @ a,
        np.linalg.eigh(a + a.T)[1],
        np.exp(a),
        np.log(a),
        np.tan(a),
        a.sum(axis=0),
        np.einsum("ij,jk", a, a),
    )
    return _hash(*tried, np.__version__, scipy.__version__, sklearn.__version__)


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


# Settings under which the matrix library and NumPy work as they do on other processors.
KINDS: dict[str, dict[str, str]] = {
    "as it is": {},
    "kernels of Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "kernels of Skylake": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Haswell"},
    "two threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
}
# What another process prints of the packages in a folder, asked by that folder's own tests: its names are its own.
ASKED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import dpviz
from tests import recorded
assert dpviz.__file__.startswith(sys.argv[1]), dpviz.__file__
print(json.dumps([recorded.arithmetic(), recorded.releases(), recorded.pictures()]))
"""


@dataclasses.dataclass(frozen=True)
class Hashes:
    """What one kind of arithmetic gives."""

    arithmetic: str
    releases: dict[str, str]
    pictures: dict[str, str]


def kept() -> dict[str, Hashes]:
    """Return what is written down, by arithmetic."""
    written = json.loads(FILE.read_text("utf-8"))
    return {name: Hashes(name, each["releases"], each["pictures"]) for name, each in written.items()}


def computed(root: Path = ROOT, settings: Mapping[str, str] | None = None) -> Hashes:
    """Return the hashes of the packages below `root`, computed in another process with more `settings`."""
    environment = numeric_environment(PYTHONPATH=str(root), **(settings or {}))
    command = [sys.executable, "-c", ASKED, str(root)]
    done = subprocess.run(command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Hashes(*json.loads(done.stdout.splitlines()[-1]))


def changed(found: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    """Return the cases whose hashes differ, or that one side lacks."""
    return sorted(case for case in found.keys() | before.keys() if found.get(case) != before.get(case))


def against(revision: str) -> int:
    """Print what a Git revision releases and shows otherwise on this machine; return 1 when something differs."""
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=False)
        if packed.returncode:
            print(f"git knows no revision {revision!r} here.", file=sys.stderr)
            return 2
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(folder, filter="data")
        before, now = computed(Path(folder).resolve()), computed()
    differing = 0
    for what, found, others in (
        ("release", now.releases, before.releases),
        ("picture", now.pictures, before.pictures),
    ):
        for case in changed(found, others):
            differing += 1
            print(f"{what} {'gone' if case not in found else 'new' if case not in others else 'other'}: {case}")
    print(f"{differing} of {len(now.releases) + len(now.pictures)} hashes differ from {revision}.")
    return int(differing > 0)


def write() -> None:
    """Write down today's hashes, once for each kind of arithmetic that makes a difference.

    What stands there of kinds that cannot be tried here stays, unless a hash that can has changed.
    """
    found: dict[str, Hashes] = {}
    before = kept()
    for kind, settings in KINDS.items():
        try:
            hashes = computed(settings=settings)
        except subprocess.CalledProcessError as error:
            if error.returncode >= 0:
                raise
            print(f"This processor has no {kind}.")
            continue
        if found.setdefault(hashes.arithmetic, hashes) != hashes:
            raise SystemExit(f"Hashes differ with {kind}, though {hashes.arithmetic} stands for that, too.")
    if all(before.get(name, each) == each for name, each in found.items()):
        found = before | found
    sections = {name: {"releases": each.releases, "pictures": each.pictures} for name, each in sorted(found.items())}
    FILE.write_text(json.dumps(sections, indent=1) + "\n", "utf-8")


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
