"""What a page opens with: how near its places are to the exact ones, and that the rest of the state comes later."""

import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpviz.core import frozen
from dpviz.plots import Audience, Axis, Frame, Kind, Layer, Role, Scene, pack
from dpviz.plots.scene import UNRELEASED, always, rows_at
from dpviz.publishing.files import MEANINGS, Coarse, coded, in_order, opening, twelve_bits
from dpviz.ui.export.kept_page import PackedPicture, PageState, dense, state_of
from tests.publishing.test_site import letters_to_bytes

UNIT = [[0.0, 1.0], [0.0, 1.0]]
QUARTER = 0.25 / 1000.0 + 1e-12  # of a pixel of a picture of 1,000, and the rounding of sums of doubles


def read(coarse: Coarse) -> np.ndarray:
    """Return what a page makes of codes, from their own digits: in hexadecimal, or in binary along the curve."""
    if coarse.order is None:
        digits = coarse.packed.hex()
        codes = np.array([int(digits[i : i + 3], 16) for i in range(0, len(digits) // 3 * 3, 3)])
        codes = codes[: len(codes) // len(coarse.low) * len(coarse.low)]
    else:
        low, middle, high = np.frombuffer(coarse.packed, np.uint8).reshape(3, -1).astype(int)
        along = [f"{at:024b}" for at in np.cumsum(low + 256 * middle + 65_536 * high)]
        codes = np.array([[int(bits[1::2], 2), int(bits[::2], 2)] for bits in along])
    rows = codes.reshape(-1, len(coarse.low))
    return np.where(rows == 0, np.nan, np.array(coarse.low) + (rows - 1) * np.array(coarse.step))


@given(arrays.arrays(np.uint16, st.integers(1, 50), elements=st.integers(0, 4095)))
def test_twelve_bits_hold_their_numbers(codes: np.ndarray) -> None:
    digits = twelve_bits(codes).hex()
    assert [int(digits[3 * i : 3 * i + 3], 16) for i in range(len(codes))] == codes.tolist()


@pytest.mark.parametrize("width", [2, 4])
def test_a_coarse_place_is_within_a_quarter_of_a_pixel(width: int) -> None:
    values = np.random.default_rng(3).random((1, 500, width)).astype(np.float32)
    values[0, ::7] = np.nan
    coarse = coded(values.tobytes(), list(values.shape), UNIT)
    assert coarse is not None
    assert np.array_equal(np.isnan(read(coarse)), np.isnan(values[0])), "what is nowhere stays so"
    assert np.nanmax(np.abs(read(coarse) - values[0])) <= QUARTER
    assert len(coarse.packed) == 500 * width * 12 // 8
    if width == 2:
        ordered = in_order(coarse)
        assert ordered.order is not None
        assert np.array_equal(read(ordered), read(coarse)[ordered.order], equal_nan=True)
        assert len(zlib.compress(ordered.packed)) < 0.8 * len(zlib.compress(coarse.packed))


def test_places_far_out_of_view_stay_exact() -> None:
    values = np.random.default_rng(3).random((1, 500, 2)).astype(np.float32)
    values[0, 0] = 3.0  # in steps of a thousandth of what is shown, the others would be off by half a pixel
    assert coded(values.tobytes(), list(values.shape), UNIT) is None
    assert coded(values.tobytes(), list(values.shape), [[0.0, 3.0]] * 2) is not None
    assert coded(np.full((1, 9, 2), np.nan, np.float32).tobytes(), [1, 9, 2], UNIT) is None


def state() -> PageState:
    """Return a state with a layer of each kind: drawn, drawn as bytes, switched off, of another frame, and small."""
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
    first = opening(whole)
    assert {**first.blobs, **first.late} == whole.blobs, "what comes late takes the place of what was there"
    (picture,) = whole.directory["pictures"]
    places, groups, off, before, few = (key for key in picture["arrays"])
    assert set(first.coarse) == {places}
    assert first.absent == {off: 640, before: 640}
    assert {few, picture["header"], whole.directory["leaves"][1]} <= set(first.blobs) - set(first.late)
    assert set(first.late) == {places, groups, off, before, whole.directory["leaves"][0]}
    assert groups.endswith(".700"), "rows that are much alike are told by what changes"
    coarse = first.coarse[places]
    assert json.loads(json.dumps(first.parts))["coarse"][places] == [5600, [*coarse.low], [*coarse.step], True]
    assert coarse.packed == first.blobs[places]
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
        Layer.of("c", Kind.ENSEMBLE, UNRELEASED, {"xy": rng.random((1, 64, 5, 2)), "drain": drain}),
    )
    whole = state_of(
        "<div></div>", [], [PackedPicture("p", {}, pack(Scene("t", "a", "c", Axis("x"), Axis("y"), layers)))]
    )
    first = opening(whole)
    (picture,) = whole.directory["pictures"]
    records, groups, draws, drained = picture["arrays"]
    order = first.coarse[records].order
    assert order is not None
    assert first.coarse[draws].order is None, "draws are told apart by their number"
    for key, values in ((groups, group), (drained, drain)):
        assert np.array_equal(np.frombuffer(first.blobs[key], np.uint8)[:700], values[0][order])
        assert first.late[key] == whole.blobs[key]


@given(st.binary(max_size=200))
def test_letters_hold_their_bytes(data: bytes) -> None:
    letters = dense(data)
    assert letters_to_bytes(letters, len(data)) == data
    assert not set(letters) & set("'\"\\\n\r\u2028\u2029\ufeff"), "nothing that a text in a script would end at"
    letters.encode("utf-16-le")  # raises for half a letter


def test_every_pair_of_bytes_has_letters() -> None:
    data = np.arange(1 << 16, dtype=">u2").tobytes()
    letters = dense(data)
    assert letters_to_bytes(letters, len(data)) == data
    assert min(map(ord, letters)) == 0x100
    assert len(letters) < 1.04 * (1 << 16)
