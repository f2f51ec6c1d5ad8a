"""The live picture's scripts compute the same as Python: packed arrays, borders, hazes and assignments."""

import base64
from typing import Any

import numpy as np
import pytest

from dpviz.core import voronoi_borders
from dpviz.plots import Scene, pack, read_header
from dpviz.plots.svg import haze
from dpviz.ui.live import wrap
from tests.browser.apps.scenes import chart, everything, hostile
from tests.node import evaluate


@pytest.mark.parametrize("scene", [everything(), chart(), hostile()], ids=["scatter", "chart", "hostile"])
def test_a_script_reads_a_packed_scene(scene: Scene) -> None:
    data = wrap({"key": "ε"}, pack(scene))
    read = evaluate(
        ["live_base"],
        """const all = Uint8Array.from(atob(a), (character) => character.charCodeAt(0));
           const odd = new Uint8Array(all.length + 3); // as inside a message: at an offset that no array accepts
           odd.set(all, 3);
           const { header, body } = live.readHeader(odd.subarray(3));
           const scene = live.unpack(body);
           const plain = ({ shape, data }) => ({ shape, data: Array.from(data, (v) => (v === v ? v : null)) });
           const layers = scene.layers.map(({ arrays }) => Object.fromEntries(
             Object.entries(arrays).map(([name, array]) => [name, plain(array)])));
           return { key: header.key, hash: scene.hash, layers };""",
        base64.b64encode(data).decode(),
    )
    assert read["key"] == "ε"
    assert read["hash"] == read_header(pack(scene))["hash"]
    for layer, arrays in zip(scene.layers, read["layers"], strict=True):
        assert set(arrays) == set(layer.arrays)
        for name, array in layer.arrays.items():
            got = np.array([np.nan if v is None else v for v in arrays[name]["data"]]).reshape(arrays[name]["shape"])
            wanted = array.astype(np.float32) if array.dtype.kind == "f" else array
            np.testing.assert_array_equal(got, wanted)


def test_borders_are_those_of_the_other_renderers() -> None:
    rng = np.random.default_rng(0)
    places = [rng.random((k, 2)) for k in (1, 2, 3, 5, 9, 20) for _ in range(10)]
    for centers in places[15:40]:
        # Put one place on the spot of another.
        centers[1] = centers[0]
    found = evaluate(
        ["places"],
        """return a.map((centers) => {
             const borders = [];
             live.eachBorder((i, c) => centers[i][c], centers.length, (...ends) => borders.push(ends));
             return borders;
           });""",
        [each.tolist() for each in places],
    )
    for centers, borders in zip(places, found, strict=True):
        wanted = voronoi_borders(centers[None])[0]
        wanted = wanted[np.isfinite(wanted[:, 0])]
        long = [ends for ends in borders if np.hypot(ends[0] - ends[2], ends[1] - ends[3]) > 1e-6]

        def sorted_ends(ends: Any) -> Any:
            pairs = np.asarray(ends, dtype=float).reshape(-1, 2, 2)
            pairs = np.array([sorted(pair.tolist()) for pair in pairs]).reshape(-1, 4)
            return pairs[np.lexsort(np.round(pairs, 6).T[::-1])]

        # Corners come from other sums: a few roundings of numbers of size 1, a million times as much for thin cells.
        np.testing.assert_allclose(sorted_ends(long), sorted_ends(wanted), atol=1e-8)


@pytest.mark.parametrize("spread", [0.0, 0.004, 0.03, 0.2])
def test_a_haze_is_as_wide_and_as_opaque_as_on_paper(spread: float) -> None:
    rng = np.random.default_rng(1)
    draws = rng.random((1, 5, 2)) + spread * rng.standard_normal((64, 5, 2))
    width, opacity = haze(draws, 4.0, 0.5)
    found = evaluate(
        ["live_fog"],
        """const { width, alpha } = live.hazeOf(live.spreadOf({ arrays: { xy: a } }, 0), 64, 4.0, 0.5);
           return [width, alpha];""",
        {"shape": [1, *draws.shape], "data": draws.ravel().tolist()},
    )
    # The median of 64 numbers is one of the middle two here, and their mean there.
    assert found == pytest.approx([width, opacity], rel=0.1)
