"""Opening of a page: its places are close to the exact ones, and the rest of the state comes later."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpviz.core import frozen
from dpviz.plots import Audience, Axis, Frame, Kind, Layer, Role, Scene, pack
from dpviz.plots.page import PackedPicture, PageState, dense, state_of
from dpviz.plots.scene import UNRELEASED, always, rows_at
from dpviz.publishing.files import MEANINGS, Coarse, coded, in_order, opening, sketched
from tests.publishing.test_site import letters_to_bytes

UNIT = [[0.0, 1.0], [0.0, 1.0]]
# A quarter of a pixel of a picture of 1,000 pixels, plus the rounding of sums of doubles.
QUARTER = 0.25 / 1000.0 + 1e-12


def read(coarse: Coarse) -> np.ndarray:
    """Return the places that a page decodes from codes."""
    n = len(coarse.packed) // (2 * len(coarse.low))
    low, high = np.frombuffer(coarse.packed, np.uint8).reshape(-1, 2, n).astype(int).transpose(1, 0, 2)
    codes = (low + 256 * high).T
    if coarse.order is not None:
        codes[:, 0] = np.cumsum(codes[:, 0])
    return np.where(codes == 0, np.nan, np.array(coarse.low) + (codes - 1) * np.array(coarse.step))


@pytest.mark.parametrize("width", [2, 4])
def test_a_coarse_place_is_within_a_quarter_of_a_pixel(width: int) -> None:
    values = np.random.default_rng(3).random((1, 500, width)).astype(np.float32)
    values[0, ::7] = np.nan
    coarse = coded(values.tobytes(), values.shape, UNIT)
    assert coarse is not None
    assert np.array_equal(np.isnan(read(coarse)), np.isnan(values[0])), "what is nowhere stays so"
    assert np.nanmax(np.abs(read(coarse) - values[0])) <= QUARTER
    assert len(coarse.packed) == 500 * width * 2
    if width == 2:
        ordered = in_order(coarse)
        assert ordered.order is not None
        assert np.array_equal(read(ordered), read(coarse)[ordered.order], equal_nan=True)
        assert len(zlib.compress(ordered.packed)) < 0.8 * len(zlib.compress(coarse.packed))


def test_places_far_out_of_view_stay_exact() -> None:
    values = np.random.default_rng(3).random((1, 500, 2)).astype(np.float32)
    # Two bytes cannot reach this value in steps of half a thousandth of the shown range.
    values[0, 0] = 40.0
    assert coded(values.tobytes(), values.shape, UNIT) is None
    assert coded(values.tobytes(), values.shape, [[0.0, 3.0]] * 2) is not None
    nowhere = np.full((1, 9, 2), np.nan, np.float32)
    assert coded(nowhere.tobytes(), nowhere.shape, UNIT) is None


def state() -> PageState:
    """Return a state with a layer of each kind: drawn, drawn as bytes, switched off, from another frame, and small."""
    rng = np.random.default_rng(5)

    def marks(name: str, n: int, rows: np.ndarray, **options: bool) -> Layer:
        places = {"xy": frozen(rng.random((1, n, 2)))}
        return Layer(name, Kind.MARKS, Role.RELEASED, Audience.RELEASED, places, rows, **options)

    groups = frozen(rng.integers(0, 4, (2, 700), dtype=np.uint8))
    points = {"xy": frozen(rng.random((1, 700, 2))), "group": groups}
    layers = (
        Layer("Records", Kind.POINTS, Role.CLUSTER, Audience.CURATOR, points, frozen(np.array([0, 1], np.int16))),
        marks("Off", 80, always(2), shown=False),
        marks("Before", 80, rows_at(2, {0: 0})),
        marks("Few", 5, always(2)),
    )
    scene = Scene("t", "a", "c", Axis("x"), Axis("y"), layers, frames=(Frame("1"), Frame("2")), start_frame=1)
    words = [f"{MEANINGS}>what a word means</div>", "<p>said</p>"]
    return state_of('<div data-leaf="0"></div>', words, [PackedPicture("picture", {}, pack(scene))])


def test_what_comes_late_makes_the_state_whole() -> None:
    whole = state()
    first = opening(whole, {})
    assert {**first.blobs, **first.late} == whole.blobs, "what comes late takes the place of what was there"
    assert not first.blobs.keys() & first.coarse.keys()
    (picture,) = whole.directory["pictures"]
    places, groups, off, before, few = (key for key in picture["arrays"])
    assert set(first.coarse) == {places}
    assert first.absent == {off: 640, before: 640}
    assert {few, picture["header"], whole.directory["leaves"][1]} <= set(first.blobs) - set(first.late)
    assert set(first.late) == {places, groups, off, before, whole.directory["leaves"][0]}
    assert groups.endswith(".700"), "rows that are much alike are told by what changes"
    coarse = first.coarse[places]
    assert coarse.size == len(whole.blobs[places])
    points = np.frombuffer(whole.blobs[places], np.float32).reshape(-1, 2)[coarse.order]
    assert np.abs(read(coarse) - points).max() <= QUARTER
    for each in (0, 1):
        of_row = [np.frombuffer(blobs[groups], np.uint8)[700 * each :][:700] for blobs in (first.blobs, whole.blobs)]
        assert np.array_equal(of_row[0], of_row[1][coarse.order]), "each point is in its group"


def test_the_color_that_records_lose_is_sorted_with_them() -> None:
    rng = np.random.default_rng(6)
    places, group = rng.random((1, 700, 2)), rng.integers(0, 4, (1, 700), dtype=np.uint8)
    drain = rng.integers(0, 5, (1, 700), dtype=np.uint8)
    layers = (
        Layer("Records", Kind.POINTS, Role.CLUSTER, Audience.CURATOR, {"xy": places, "group": group}, always(1)),
        Layer.from_arrays("c", Kind.ENSEMBLE, UNRELEASED, {"xy": rng.random((1, 64, 5, 2)), "drain": drain}),
    )
    whole = state_of(
        "<div></div>", [], [PackedPicture("p", {}, pack(Scene("t", "a", "c", Axis("x"), Axis("y"), layers)))]
    )
    first = opening(whole, {})
    (picture,) = whole.directory["pictures"]
    records, groups, draws, drained = picture["arrays"]
    order = first.coarse[records].order
    assert order is not None
    assert first.coarse[draws].order is None, "draws are told apart by their number"
    for key, values in ((groups, group), (drained, drain)):
        assert np.array_equal(np.frombuffer(first.blobs[key], np.uint8)[:700], values[0][order])
        assert first.late[key] == whole.blobs[key]


def test_curves_and_draws_of_a_stage_stay_coarse() -> None:
    rng = np.random.default_rng(7)
    curves = rng.random((1, 9, 40, 2))
    # NaN breaks each curve.
    curves[0, :, ::5] = np.nan
    places = {"curves": curves, "draws": rng.random((1, 64, 5, 2)), "marks": rng.random((1, 100, 2))}
    layers = tuple(
        Layer.from_arrays(name, kind, UNRELEASED, {"xy": places[name]}, always(1))
        for name, kind in (("curves", Kind.LINES), ("draws", Kind.ENSEMBLE), ("marks", Kind.MARKS))
    )
    packed = pack(Scene("t", "a", "c", Axis("x"), Axis("y"), layers))
    for staged, n_coarse in ((True, 2), (False, 0)):
        whole = state_of("<div></div>", [], [PackedPicture("p", {"stage": staged}, packed)])
        (picture,) = whole.directory["pictures"]
        sketches = sketched(whole)
        assert set(sketches) == set(picture["arrays"][:n_coarse]), "the places of marks stand in the table"
        for key, name in zip(picture["arrays"], places, strict=False):
            if key in sketches:
                exact = np.asarray(places[name], np.float32).reshape(-1, 2)
                assert np.array_equal(np.isnan(read(sketches[key])), np.isnan(exact))
                assert np.nanmax(np.abs(read(sketches[key]) - exact)) <= QUARTER
        first = opening(whole, sketches)
        assert set(first.coarse) == set(picture["arrays"])
        assert set(first.late) == set(picture["arrays"][n_coarse:]), "of the others the exact ones follow"


@given(arrays.arrays(np.uint16, st.tuples(st.integers(1, 50), st.integers(1, 4))))
def test_codes_hold_their_numbers(codes: np.ndarray) -> None:
    columns = codes.shape[1]
    coarse = Coarse(0, (0.0,) * columns, (1.0,) * columns, codes)
    for each in (coarse, in_order(coarse)):
        found = np.nan_to_num(read(each) + 1.0, nan=0.0)
        assert np.array_equal(found, each.codes)
    order = in_order(coarse).order
    assert order is not None
    assert np.array_equal(in_order(coarse).codes, codes[order])


@given(st.binary(max_size=200))
def test_letters_hold_their_bytes(data: bytes) -> None:
    letters = dense(data)
    assert letters_to_bytes(letters, len(data)) == data
    assert not set(letters) & set("'\"\\\n\r\u2028\u2029\ufeff"), "nothing that a text in a script would end at"
    # Encoding raises for half a letter (a lone surrogate).
    letters.encode("utf-16-le")


def test_every_pair_of_bytes_has_letters() -> None:
    data = np.arange(1 << 16, dtype=">u2").tobytes()
    letters = dense(data)
    assert letters_to_bytes(letters, len(data)) == data
    assert min(map(ord, letters)) == 0x100
    assert len(letters) < 1.04 * (1 << 16)
