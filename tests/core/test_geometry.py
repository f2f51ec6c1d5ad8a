import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import geometry, voronoi_borders
from dpviz.core.geometry import WALL_GAP

# Tolerance in sides of the square. Qhull's own is about 1e-12 unless centers are nearly equal.
ROUNDING = 1e-9
GRID = 61  # places a side; odd, so that the middle is one of them


def borders_of(centers):
    """Return the borders (m, 4) of one picture."""
    return voronoi_borders(np.asarray(centers, dtype=float)[None])[0]


def distances(places, centers):
    """Return every distance, by definition, (m, k)."""
    return np.sqrt(((places[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2))


def along(borders, shares=(0.01, 0.5, 0.99)):
    """Return places on the borders."""
    return np.concatenate([borders[:, :2] + share * (borders[:, 2:] - borders[:, :2]) for share in shares])


def crossings(borders, first, second):
    """Return the number of borders (m, 4) that each edge (e, 2) to (e, 2) crosses."""

    def side(a, b, c):
        return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])

    start, end = borders[None, :, :2], borders[None, :, 2:]
    p, q = first[:, None], second[:, None]
    return ((side(start, end, p) * side(start, end, q) < 0) & (side(p, q, start) * side(p, q, end) <= 0)).sum(axis=1)


@pytest.mark.parametrize("k", [2, 3, 7, 40])
@pytest.mark.parametrize("seed", range(5))
def test_a_border_is_as_near_to_two_centers_and_to_no_third(k, seed):
    centers = np.random.default_rng(seed).random((k, 2))
    borders = borders_of(centers)
    places = along(borders)
    near = np.sort(distances(places, centers), axis=1)
    assert np.allclose(near[:, 0], near[:, 1], rtol=0, atol=ROUNDING)
    # At 1 % of its length from an end, a border has left the third center behind.
    if k > 2:
        lengths = np.tile(np.linalg.norm(borders[:, 2:] - borders[:, :2], axis=1), 3)
        assert (near[lengths > 1e-4, 2] > near[lengths > 1e-4, 1] + ROUNDING).all()
    assert (places >= -ROUNDING).all()
    assert (places <= 1 + ROUNDING).all()


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", range(3))
def test_labels_change_where_a_border_runs_and_nowhere_else(k, seed):
    rng = np.random.default_rng([seed, k])
    centers = rng.random((k, 2))
    borders = borders_of(centers)
    ticks = np.linspace(0.003, 0.9971, GRID)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1)
    labels = distances(grid.reshape(-1, 2), centers).argmin(axis=1).reshape(GRID, GRID)
    for one, other, same in (
        (grid[1:], grid[:-1], labels[1:] == labels[:-1]),
        (grid[:, 1:], grid[:, :-1], labels[:, 1:] == labels[:, :-1]),
    ):
        crossed = crossings(borders, one.reshape(-1, 2), other.reshape(-1, 2))
        # A cell is convex: an edge with both ends in it crosses nothing.
        assert ((crossed == 0) == same.reshape(-1)).all()


def test_pictures_with_fewer_borders_are_filled_up_with_nan():
    few = np.tile([[0.2, 0.2]], (4, 1))
    few[3] = 0.8
    many = np.array([[0.2, 0.2], [0.8, 0.2], [0.2, 0.7], [0.8, 0.9]])
    padded = voronoi_borders(np.stack([few, many, np.full((4, 2), 0.5)]))
    assert padded.shape == (3, len(borders_of(many)), 4)
    assert np.array_equal(padded[1], borders_of(many))
    assert np.array_equal(padded[0][:1], borders_of(few))
    assert np.isnan(padded[0][1:]).all()
    assert np.isnan(padded[2]).all()


places = st.floats(-0.1, 1.1).map(lambda x: round(x, 3))  # thousandths: ties and walls are common, near-ties are not


@given(st.lists(st.tuples(places, places), min_size=1, max_size=12))
def test_any_centers_give_borders_inside_the_square(drawn):
    centers = np.array(drawn)
    borders = borders_of(centers)
    assert np.isfinite(borders).all()
    assert (np.abs(borders - 0.5) <= 0.5 + 1e-6).all()
    if len(borders):
        near = np.sort(distances(along(borders), np.clip(centers, WALL_GAP, 1.0 - WALL_GAP)), axis=1)
        assert np.allclose(near[:, 0], near[:, 1], rtol=0, atol=1e-6)


def test_borders_of_a_rectangle_are_as_far_from_both_in_its_own_lengths():
    sides = (3.0, 0.5)
    centers = np.random.default_rng(0).random((9, 2))
    borders = voronoi_borders(centers[None], sides)[0]
    assert ((borders >= -ROUNDING) & (borders <= 1 + ROUNDING)).all()
    two = np.sort(distances(along(borders) * sides, centers * sides), axis=1)[:, :2]
    assert two[:, 0] == pytest.approx(two[:, 1], rel=1e-6)
    square = np.sort(distances(along(borders), centers), axis=1)[:, :2]
    assert np.abs(square[:, 0] - square[:, 1]).max() > 0.05, "the square's borders are others"


@pytest.mark.parametrize("seed", range(20))
def test_lines_cut_at_once_are_the_borders_of_a_diagram(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    sides = (1.0, float(rng.uniform(0.3, 3.0)))
    centers = np.clip(
        rng.uniform(-0.2, 1.2, (3, int(rng.integers(1, 2 * seed + 2)), 2)), 0, 1
    )  # some on walls and in corners
    centers[:, -1] = centers[:, 0]
    cut = voronoi_borders(centers, sides)
    monkeypatch.setattr(geometry, "FEW_CENTERS", 0)
    for ours, theirs in zip(cut, voronoi_borders(centers, sides), strict=True):
        one, two = described(ours), described(theirs)
        assert len(one) == len(two)
        gaps = np.abs(one[:, None] - two).max(axis=2)
        assert (gaps.min(axis=0, initial=np.inf) < ROUNDING).all()
        assert (gaps.min(axis=1, initial=np.inf) < ROUNDING).all()


def described(borders):
    """Return middle, extent and slope's sign of each border that is not a mere touch, whichever end comes first."""
    apart = borders[:, 2:] - borders[:, :2]
    long = np.linalg.norm(apart, axis=1) > 1e-6  # NaN is not
    borders, apart = borders[long], apart[long]
    middle = (borders[:, :2] + borders[:, 2:]) / 2
    return np.concatenate([middle, np.abs(apart), apart[:, :1] * apart[:, 1:]], axis=1)
