"""Neighboring data sets on which a broken promise shows most. All records are made up."""

from dataclasses import dataclass

import numpy as np

from dpviz.core import Adjacency, Box, Confidential, FloatArray, Points, frozen

RECORDS = 20  # in the box's middle, so that the record in the corner is alone in moving a sum; ours
GAPS = 4001  # records of the counterexample to Liebenow et al., lemma 1
GAP = 0.00994  # data units: half of its large gaps
WIDTH = 40.2  # of its box
# A place between two of the 20 packed centers of seed 0: two ways of adding up a score put it on two sides.
BETWEEN = (0.5492964540159488, 0.7296474498157)
CROWD = 16_000  # copies of it: with one less, assignment went another way until 0.1.0
LATTICE_CORNER = (0.75, 0.25)  # of halved cubes, cells and bins; halfway between the audit's two targets, too


@dataclass(frozen=True, slots=True, eq=False)
class Pair(Confidential):
    """Two neighboring data sets and the public box."""

    name: str  # "" for the usual one
    words: str  # one plain sentence
    points: Points  # (n, d)
    neighbour: Points  # (n', d)
    box: Box
    adjacency: Adjacency
    distance: float = 0.0  # between the two places of a record that moves; 0 where one comes or goes


def corner(d: int) -> FloatArray:
    """Return the unit box's corner (d,) that is high along every second axis: off the ray through the middle."""
    return np.asarray(np.arange(d) % 2 == 0, dtype=np.float64)


def corner_record() -> Pair:
    """Return records in the middle, with and without one in a corner: each coordinate's sum moves by half the box.

    The corner lies off the ray through the middle, so that a ratio of coordinates moves too.
    """
    points = np.vstack([np.full((RECORDS, 2), 0.5), corner(2)])
    return _pair("", "Records in the box's middle, with and without one in a corner.", points, points[:-1])


def corner_moved() -> Pair:
    """Return records in the middle and one that moves from a corner to the opposite one."""
    points = np.vstack([np.full((RECORDS, 2), 0.5), corner(2)])
    other = points.copy()
    other[-1] = 1.0 - other[-1]
    return _pair(
        "", "Records in the box's middle, and one that moves from a corner to the opposite one.", points, other
    )


def farthest_places() -> Pair:
    """Return one record that moves from a corner to the opposite one: others are perturbed without it."""
    words = "One record that moves from a corner of the box to the opposite one."
    return _pair("", words, corner(2)[None], 1.0 - corner(2)[None])


def alternating_gaps() -> Pair:
    """Return the counterexample to Liebenow et al., lemma 1: gaps are small along one axis where they are large along
    the other, and without the first record they meet.
    """
    large = (2 + np.random.default_rng(0).uniform(-0.2, 0.2, (GAPS - 1, 2))) * GAP
    even = (np.arange(GAPS - 1) % 2 == 0)[:, None] == np.array([True, False])
    columns = np.concatenate([np.zeros((1, 2)), np.cumsum(np.where(even, 0.02 * GAP, large), axis=0)])
    points = np.column_stack([columns[:, 0], columns[::-1, 1]])
    words = (
        "Gaps that are small along one axis where they are large along the other, with and without the first record."
    )
    box = Box.cube(0.0, WIDTH, 2)
    return Pair("gaps", words, frozen(points), frozen(points[1:].copy()), box, Adjacency.ADD_REMOVE)


def between_centers() -> Pair:
    """Return many copies of one record that lies between two public centers, with and without one of them."""
    return _copies(BETWEEN, CROWD, "between two public centers")


def lattice_corner() -> Pair:
    """Return copies of one record in a corner of many a grid's cells, with and without one of them."""
    return _copies(LATTICE_CORNER, RECORDS, "in a corner of grids' cells")


def pairs_in(box: Box, adjacency: Adjacency, *, alone: bool = False) -> tuple[Pair, ...]:
    """Return neighbors in a public box for a method that nothing is known of: one record, far away from the others.

    It is in a corner, or moves to the opposite one: off the ray through the middle, as far from the data's zero as the
    box goes, and away from where the others are. So a noise shows that forgot how wide the box is, how far from 0, or
    how far apart records may be. `alone` leaves the others out.
    """

    def opposite(place: FloatArray) -> FloatArray:
        return np.where(place == box.low, box.high, box.low)

    middle = np.tile((box.low + box.high) / 2.0, (RECORDS, 1))
    slanting = np.where(corner(box.d) > 0, box.high, box.low)
    far = np.where(np.abs(box.high) >= np.abs(box.low), box.high, box.low)
    ends = np.where((np.arange(RECORDS) % 2 == 0)[:, None], far, opposite(far))
    places = (
        ("Records in the box's middle", middle, slanting, "a corner"),
        ("Records in the box's middle", middle, far, "the corner farthest from 0"),
        ("Records in one corner of the box", np.tile(opposite(far), (RECORDS, 1)), far, "the opposite one"),
        ("Records in two opposite corners of the box", ends, far, "one of them"),
    )
    found = []
    for where, others, place, there in places[:1] if alone else places:
        records = np.vstack([others[:0] if alone else others, place])
        if adjacency is Adjacency.ADD_REMOVE:
            words, neighbour = f"{where}, with and without one in {there}.", records[:-1].copy()
        else:
            moving = f"that moves from {there} to the one across"
            words = f"One record {moving}." if alone else f"{where}, and one {moving}."
            neighbour = np.vstack([records[:-1], opposite(place)])
        distance = 0.0 if len(neighbour) < len(records) else float(np.linalg.norm(place - opposite(place)))
        found.append(Pair("", words, frozen(records), frozen(neighbour), box, adjacency, distance))
    return tuple(found)


def own_pair(points: Points, box: Box, record: int, adjacency: Adjacency, *, shares: bool = False) -> Pair:
    """Return records (n, d), clipped into the box, with and without row `record`, or with it in the farthest corner.

    `shares` measures how far it moves in widths of the box. Raises ValueError for a row that there is not.
    """
    if not 0 <= record < len(points):
        raise ValueError(f"The record was {record}, but it must be a row from 0 to {len(points) - 1}.")
    clipped = box.clip(points)
    if adjacency is Adjacency.ADD_REMOVE:
        rest = np.delete(clipped, record, axis=0)
        return Pair("own", f"Your records, with and without record {record}.", clipped, rest, box, adjacency)
    other = clipped.copy()
    other[record] = np.where(clipped[record] > (box.low + box.high) / 2.0, box.low, box.high)
    step = other[record] - clipped[record]
    distance = float(np.linalg.norm(step / box.widths if shares else step))
    words = f"Your records, and the same with record {record} moved to the farthest corner of the box."
    return Pair("own", words, clipped, other, box, adjacency, distance)


def _copies(place: tuple[float, float], n: int, where: str) -> Pair:
    points = np.tile(np.array(place), (n, 1))
    words = f"Records on borders: {n:,} copies of one record {where}, with and without one of them."
    return _pair("borders", words, points, points[:-1])


def _pair(name: str, words: str, points: Points, neighbour: Points) -> Pair:
    moved = len(points) == len(neighbour)
    distance = float(np.linalg.norm(points[-1] - neighbour[-1])) if moved else 0.0
    adjacency = Adjacency.REPLACE if moved else Adjacency.ADD_REMOVE
    return Pair(name, words, frozen(points), frozen(neighbour.copy()), Box.cube(0.0, 1.0, 2), adjacency, distance)
