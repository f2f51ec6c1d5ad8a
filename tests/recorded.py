"""What seeded runs release and show, as hashes: run as a script, it writes down those of today.

    python -m tests.recorded

A hash that changes is a release or a picture that changed: the changelog says why.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
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


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({"arithmetic": arithmetic(), "releases": releases(), "pictures": pictures()}, indent=1) + "\n",
        "utf-8",
    )
