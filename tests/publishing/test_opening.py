"""What a page opens with: how near its places are to the exact ones, and that the rest of the state comes later."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpviz.core import frozen
from dpviz.plots import Audience, Axis, Frame, Kind, Layer, Role, Scene, pack
from dpviz.plots.scene import always, rows_at
from dpviz.publishing.opening import MEANINGS, Coarse, coded, opening, twelve_bits
from dpviz.ui.export.states import PackedPicture, PageState, dense, state_of
from tests.publishing.test_site import letters_to_bytes

UNIT = [[0.0, 1.0], [0.0, 1.0]]
QUARTER = 0.25 / 1000.0  # of a pixel of a picture of 1,000


def read(coarse: Coarse) -> np.ndarray:
    """Return what a page makes of codes: numbers of 12 bits, from their own digits."""
    digits = coarse.codes.hex()
    codes = np.array([int(digits[i : i + 3], 16) for i in range(0, len(digits) // 3 * 3, 3)])
    n = len(codes) // len(coarse.low) * len(coarse.low)
    rows = codes[:n].reshape(-1, len(coarse.low))
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
    assert len(coarse.codes) == 500 * width * 12 // 8


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
    assert {**first.blobs, **first.late} == whole.blobs
    (picture,) = whole.directory["pictures"]
    places, groups, off, before, few = (key for key in picture["arrays"])
    assert set(first.coarse) == {places}
    assert first.absent == {off: 640, before: 640}
    assert {groups, few, picture["header"], whole.directory["leaves"][1]} <= set(first.blobs) - set(first.late)
    assert set(first.late) == {places, off, before, whole.directory["leaves"][0]}
    assert groups.endswith(".700"), "rows that are much alike are told by what changes"
    told = json.loads(json.dumps(first.told))
    size, low, step = told["coarse"][places]
    again = read(SimpleNamespace(low=low, step=step, codes=first.blobs[places]))
    assert size == len(whole.blobs[places])
    assert np.abs(again - np.frombuffer(whole.blobs[places], np.float32).reshape(-1, 2)).max() <= QUARTER


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
