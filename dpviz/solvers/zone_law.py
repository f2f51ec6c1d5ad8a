"""How far and how much aside the exponential mechanism draws in a zone: its law over (delta, alpha), integrated.

Lu & Shen, section 6.1. Notation as in `zones`; everything works row by row on (k,) arrays.
"""

import functools
import math

import numpy as np

from dpviz.core import FloatArray, frozen, functions

SCORE_SENSITIVITY = 2.0  # "local sensitivity" of q in the paper, section 6.1
CELLS = 64  # of the marginal's integration; Simpson's rule in each
CUT = 36.0  # e-folds kept of the marginal's tail: exp(-36) is below rounding
REMEMBERED = 64  # laws of some iterations at once, a few kilobytes each
_EDGES = np.linspace(0.0, 1.0, CELLS + 1) ** 2  # of the cells: finer where exp(-eps alpha) is steep


@functools.lru_cache(maxsize=REMEMBERED)
def known_angles(*arrays: bytes) -> FloatArray:
    """Return what `angles` draws, (k,), for lambda, epsilon and one uniform number of each zone."""
    lam, epsilon, uniforms = (np.frombuffer(each) for each in arrays)
    return frozen(angles(lam, epsilon, uniforms[:, None])[:, 0])


def angles(lam: FloatArray, epsilon: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Draw |alpha| (k, m), m times a zone, by inverting its numerically integrated marginal."""
    finite = np.isfinite(epsilon)
    rate = np.where(finite, epsilon, 0.0) / (2.0 * SCORE_SENSITIVITY)  # c
    ratio = (1.0 - lam) / lam
    # The tail beyond CUT e-folds is left out, so that the nodes stay where the mass is, whatever epsilon.
    with np.errstate(divide="ignore"):
        last = np.minimum(functions.arcsin(np.minimum(ratio, 1.0)), 0.5 * math.pi * CUT / rate)
    end = functions.arcsin(np.clip(functions.sin(last) / np.where(ratio > 0, ratio, 1.0), 0.0, 1.0))  # (k,)
    edges = end[:, None] * _EDGES
    middles = 0.5 * (edges[:, :-1] + edges[:, 1:])
    density = _marginal(lam[:, None], rate[:, None], np.concatenate([edges, middles], axis=1))
    at_edges, at_middles = density[:, : CELLS + 1], density[:, CELLS + 1 :]
    masses = (at_edges[:, :-1] + 4.0 * at_middles + at_edges[:, 1:]) / 6.0 * np.diff(edges, axis=1)
    phi = _invert(edges, at_edges, masses, uniforms)
    angle = functions.arcsin(np.minimum(ratio[:, None] * functions.sin(phi), 1.0))
    return np.where((finite & (ratio > 0))[:, None], angle, 0.0)


def reaches(lam: FloatArray, epsilon: FloatArray, angle: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Draw delta (k,) on the chord at `angle`, density proportional to exp(-c delta)."""
    sine = functions.sin(angle)
    half = np.sqrt(np.maximum((1.0 - lam) ** 2 - (lam * sine) ** 2, 0.0))
    first = lam * functions.cos(angle) - half
    finite = np.isfinite(epsilon)
    rate = np.where(finite, epsilon, 0.0) / (2.0 * SCORE_SENSITIVITY)
    tilted = -functions.log1p(uniforms * functions.expm1(-rate * 2.0 * half)) / np.where(rate > 0, rate, 1.0)
    step = np.where(rate > 0, tilted, uniforms * 2.0 * half)
    return first + np.where(finite, np.minimum(step, 2.0 * half), 0.0)


def _chord(lam: FloatArray, sin: FloatArray, cos: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return alpha, the chord's first delta and its length where lam sin(alpha) = (1-lam) sin(phi), given phi's.

    delta runs over lam cos(alpha) -+ sqrt((1-lam)^2 - lam^2 sin^2(alpha)), and that root is (1-lam) cos(phi): smooth
    where the chord shrinks to a point.
    """
    ratio = (1.0 - lam) / lam
    half = (1.0 - lam) * cos
    sine = ratio * sin
    return functions.arcsin(np.minimum(sine, 1.0)), lam * np.sqrt(np.maximum(1.0 - sine**2, 0.0)) - half, 2.0 * half


def _marginal(lam: FloatArray, rate: FloatArray, phi: FloatArray) -> FloatArray:
    """Density of phi up to a factor: d(alpha)/d(phi) exp(-eps |alpha| / (2 pi)) times the integral over delta.

    With c = eps / 4 the integral of exp(-c delta) over the chord is exp(-c first) (1 - exp(-c length)) / c.
    """
    sin, cos = functions.sin(phi), functions.cos(phi)
    angle, first, length = _chord(lam, sin, cos)
    ratio = (1.0 - lam) / lam
    # cos^2(alpha) = 1 - ratio^2 sin^2(phi), written as a sum: for lam = 1/2 the difference would round to 0 / 0.
    cosine = np.sqrt(cos**2 + (2.0 * lam - 1.0) / lam**2 * sin**2)
    slope = ratio * cos / cosine
    tilted = -functions.expm1(-rate * length) / np.where(rate > 0, rate, 1.0)
    over_delta = np.where(rate > 0, tilted, length)
    nearest = 2.0 * lam - 1.0
    return np.asarray(slope * over_delta * functions.exp(-rate * (2.0 * angle / math.pi + first - nearest)))


def _invert(edges: FloatArray, density: FloatArray, masses: FloatArray, uniforms: FloatArray) -> FloatArray:
    """Return phi (k, m) with the given shares of each row's mass below; the density is linear inside a cell."""
    rows = np.repeat(np.arange(len(edges)), uniforms.shape[1])
    below = np.concatenate([np.zeros((len(edges), 1)), np.cumsum(masses, axis=1)], axis=1)
    wanted = uniforms * below[:, -1:]
    counts = (below[:, None, :] <= wanted[:, :, None]).sum(axis=2)
    cell, wanted = np.clip(counts - 1, 0, masses.shape[1] - 1).ravel(), wanted.ravel()
    mass = masses[rows, cell]
    share = np.clip((wanted - below[rows, cell]) / np.where(mass > 0, mass, 1.0), 0.0, 1.0)
    left, right = density[rows, cell], density[rows, cell + 1]
    # Solve left t + (right - left) t^2 / 2 = share (left + right) / 2 for t in [0, 1], without cancellation.
    root = np.sqrt(np.maximum(left**2 + (right**2 - left**2) * share, 0.0))
    t = share * (left + right) / np.maximum(left + root, 1e-300)
    first = edges[rows, cell]
    phi = first + np.clip(t, 0.0, 1.0) * (edges[rows, cell + 1] - first)
    return np.asarray(phi.reshape(uniforms.shape))
