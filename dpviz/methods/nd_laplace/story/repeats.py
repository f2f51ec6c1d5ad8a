"""Releasing the same record again and again: each release costs ε again, and the guesses close in."""

from functools import lru_cache

import numpy as np

from dpviz import attacks
from dpviz.core import FloatArray, PointsRelease, frozen
from dpviz.mechanisms import nd_laplace_noise
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.methods.nd_laplace.story.told import PointsContext, placed, plane_of
from dpviz.plots import Audience, Axis, Kind, Layer, Role, Scene, always
from dpviz.solvers import geometric_median
from dpviz.stories.ground_layers import box_layer
from dpviz.stories.panel import Fact, ceiled
from dpviz.stories.stage import Clock, Stage
from dpviz.stories.view import View

MOST = 50  # releases of one record
TRIED = (1, 2, 3, 5, 8, 13, 20, 30, 50)
N_RECORDS = 400  # invented ones behind the measured errors


def again(told: PointsContext, n_releases: int, *, seed: int) -> FloatArray:
    """Return the chosen record's release, and `n_releases` - 1 more of it (m, d), box units: one person's own."""
    record = told.result.trace[0].nonprivate_points[[told.record]]
    rng = np.random.default_rng([seed, told.record])
    more = nd_laplace.fit(np.repeat(record, MOST - 1, axis=0), told.words.box, told.params, rng=rng).release.points
    return np.concatenate([told.released[[told.record]], told.words.box.to_unit(more)])[:n_releases]


def guesses(told: PointsContext, releases: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the geometric median (d,) of releases (m, d), all in box units; distances are the noise's."""
    release = PointsRelease(releases / told.scales)
    return attacks.reconstruct_mean(release) * told.scales, attacks.reconstruct_median(release) * told.scales


def repeat_scene(told: PointsContext, view: View, releases: FloatArray) -> Scene:
    """Return all releases of the record with both guesses: one person's own picture."""
    plane = plane_of(view, told)
    stage = Stage(plane, Clock(-1, ("still",)))
    mean, median = guesses(told, releases)
    secret = Audience.CURATOR

    def marks(name: str, where: FloatArray, role: Role, symbol: str, size: float) -> Layer:
        rows = np.full(len(where), told.record)
        xy = placed(where, plane, rows)[None]
        return Layer(name, Kind.MARKS, role, secret, {"xy": xy}, always(1), symbol=symbol, size=size, isolate=False)

    return Scene(
        title=f"Record {told.record}, released {len(releases)} times",
        alt="Scatter plot of all releases of one record with their mean and their geometric median.",
        caption="Blue is what would be seen after so many releases of the same record.",
        x=plane.x,
        y=plane.y,
        axes_public=not plane.nonprivate,
        layers=(
            *box_layer(stage, public=told.words.box_public),
            marks("Releases", releases, Role.RELEASED, "circle", 6.0),
            marks("Where it is", told.unit[[told.record]], Role.EXACT, "ring", 13.0),
            marks("Guess: mean", mean[None], Role.REFERENCE, "diamond", 11.0),
            marks("Guess: geometric median", median[None], Role.VIOLATION, "cross", 12.0),
        ),
    )


def repeat_facts(told: PointsContext, releases: FloatArray) -> tuple[Fact, ...]:
    """Return how far off both guesses are: one person's own."""
    true, words = told.unit[told.record], told.measure.words
    off = [float(np.linalg.norm((guess - true) / told.scales)) for guess in guesses(told, releases)]
    return (
        Fact("Mean is off by", words(off[0]), "Distance to the record.", False),
        Fact("Geometric median is off by", words(off[1]), "The likeliest place of the record.", False),
    )


def budget_facts(told: PointsContext, n_releases: int) -> tuple[Fact, ...]:
    """Return what so many releases of one record cost together: public."""
    proved = told.result.guarantee.proved
    if proved is None:
        return (Fact("Spent", "no limit established", "There is no proof for this run.", True),)
    total = attacks.spent(proved.epsilon, n_releases).epsilon * told.measure.radius
    value = f"ε = {ceiled(total)} per {told.measure.said}"
    return (
        Fact(f"Spent by {n_releases} {'releases' if n_releases > 1 else 'release'}", value, "Budgets add up.", True),
    )


def error_chart(told: PointsContext, n_releases: int) -> Scene:
    """Return the root mean square error of both guesses against the number of releases, by law: public."""
    d, epsilon = told.words.box.d, told.params.epsilon
    tried = np.array(TRIED, dtype=np.float64)
    measured = measured_errors(d) / epsilon
    x = np.log10(tried)
    curves = (
        ("Mean, exactly", attacks.mean_error(epsilon, d, tried), Role.REFERENCE, False),
        ("Geometric median, measured", measured, Role.VIOLATION, False),
        ("Best possible for many", attacks.median_error(epsilon, d, tried), Role.NOISE, True),
    )
    unit = 100.0 if told.measure.shares else 1.0
    layers = [
        Layer(
            name,
            Kind.LINES,
            role,
            Audience.NOISE,
            {"xy": np.stack([x, np.log10(unit * y)], axis=1)[None, None]},
            always(1),
            size=2.0,
            dash=dash,
            isolate=False,
        )
        for name, y, role, dash in curves
    ]
    at = {"x": np.array([np.log10(n_releases)])}
    layers.append(Layer("Now", Kind.CURSOR, Role.REFERENCE, Audience.PUBLIC, at, always(1), legend=False))
    low = float(np.log10(unit * curves[2][1].min()))
    high = float(np.log10(unit * curves[0][1].max()))
    return Scene(
        title="How far off the guesses are",
        alt="Line chart of the error of two guesses against the number of releases of the same record.",
        caption=f"Root mean square distance, before the box is looked at; measured on {N_RECORDS} invented records.",
        x=Axis("releases of one record", view=(-0.05, float(x[-1]) + 0.05), log=True),
        y=Axis(
            "error",
            "% of the range" if told.measure.shares else told.measure.unit,
            (low - 0.1, high + 0.1),
            log=True,
        ),
        layers=tuple(layers),
        equal=False,
        scrubber=False,
    )


@lru_cache(maxsize=64)
def measured_errors(d: int) -> FloatArray:
    """Return the geometric median's root mean square error for each of TRIED at ε = 1, by law: no record is used."""
    rng = np.random.default_rng(0)
    draws = nd_laplace_noise(N_RECORDS * MOST, d, epsilon=1.0, rng=rng).displacement.reshape(N_RECORDS, MOST, d)
    errors = [np.sqrt((geometric_median(draws[:, :m]) ** 2).sum(axis=1).mean()) for m in TRIED]
    return frozen(np.array(errors))
