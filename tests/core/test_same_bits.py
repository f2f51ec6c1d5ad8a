"""Elementary functions and matrix algebra of our own: right by other libraries, and each answer by its own numbers."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.core import algebra, functions

# Each docstring's claim, in units in the last place, and its range.
CLAIMED = {
    "exp": (1.0, (-745.0, 709.0)),
    "log": (1.0, (1e-320, 1e308)),
    "expm1": (4.0, (-40.0, 40.0)),
    "log1p": (4.0, (-0.999, 40.0)),
    "sin": (2.0, (-1e5, 1e5)),
    "cos": (2.0, (-1e5, 1e5)),
    "tan": (4.0, (-1.57, 1.57)),
    "arcsin": (2.0, (-1.0, 1.0)),
    "arccos": (4.0, (-1.0, 1.0)),
}
EXACT = {"arcsin": "asin", "arccos": "acos"}
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 710.0, -746.0, 1e308])


def units_off(found, exact):
    """Return the error of `found` in units in the last place."""
    return float(abs(mpmath.mpf(float(found)) - exact) / mpmath.mpf(float(np.spacing(abs(float(exact))))))


@pytest.mark.parametrize("name", CLAIMED)
def test_a_function_is_as_exact_as_it_says(name):
    claimed, (low, high) = CLAIMED[name]
    rng = np.random.default_rng(0)
    few = rng.uniform(low, high, 400)
    near = few * 10.0 ** rng.uniform(-12, 0, 400)
    if name == "log":
        few, near = 10.0 ** rng.uniform(-320, 308, 400), 1.0 + rng.uniform(-0.5, 1.0, 400)
    x = np.clip(np.concatenate([few, near]), low, high)
    with mpmath.workprec(300):
        exact = [getattr(mpmath, EXACT.get(name, name))(mpmath.mpf(float(each))) for each in x]
        assert max(map(units_off, getattr(functions, name)(x), exact)) < claimed


@pytest.mark.parametrize("name", CLAIMED)
def test_a_function_has_the_values_of_numpy_at_the_edges(name):
    with np.errstate(all="ignore"):
        given, wanted = getattr(functions, name)(EDGES), getattr(np, name)(EDGES)
        far = np.abs(EDGES) > functions.FAR if name in ("sin", "cos", "tan") else np.zeros(len(EDGES), dtype=bool)
    # An angle of 1e308 has no correct digit, so none is required.
    finite = np.isfinite(EDGES) & far
    np.testing.assert_allclose(given[~finite], wanted[~finite], rtol=1e-14)
    assert np.abs(given[finite]).max(initial=0.0) < 1.0 or name == "tan"


def test_the_angle_of_a_place_has_the_signs_and_the_digits_of_numpy():
    rng = np.random.default_rng(1)
    edges = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    y, x = (each.ravel() for each in np.meshgrid(edges, edges))
    np.testing.assert_allclose(functions.arctan2(y, x), np.arctan2(y, x), rtol=1e-15)
    number = ~np.isnan(np.arctan2(y, x))
    assert np.array_equal(np.signbit(functions.arctan2(y, x))[number], np.signbit(np.arctan2(y, x))[number])
    y, x = rng.standard_normal(500), rng.standard_normal(500) * 10.0 ** rng.uniform(-5, 5, 500)
    np.testing.assert_allclose(functions.arctan2(y, x), np.arctan2(y, x), rtol=4e-16)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=600), st.data())
def test_an_answer_depends_on_its_own_number_alone(numbers, data):
    x, some = np.array(numbers), data.draw(st.integers(0, len(numbers) - 1))
    for name in (*CLAIMED, "power"):
        function = getattr(functions, name) if name != "power" else lambda each: functions.power(np.abs(each), 0.3)
        with np.errstate(all="ignore"):
            whole, alone = function(x), function(x[some])
            turned = function(x[::-1])[::-1]
        np.testing.assert_array_equal(whole[some], alone)
        np.testing.assert_array_equal(turned, whole)


SHAPES = [((), 1), ((), 5), ((3,), 2), ((2, 3), 4), ((0,), 3), ((1,), 0), ((), 40)]


@pytest.mark.parametrize(("stack", "m"), SHAPES)
def test_algebra_is_that_of_the_matrix_library(stack, m):
    rng = np.random.default_rng(m)
    a, right = rng.standard_normal((*stack, m, m)), rng.standard_normal((*stack, m, 3))
    symmetric = a + np.swapaxes(a, -1, -2)
    positive = a @ np.swapaxes(a, -1, -2) + np.eye(m)
    close = {"rtol": 1e-9, "atol": 1e-9 * max(m, 1)}
    np.testing.assert_allclose(algebra.product(a, right), a @ right, **close)
    np.testing.assert_allclose(algebra.product(a, np.eye(m)), a, rtol=0.0)  # one for all of a stack
    np.testing.assert_allclose(algebra.solved(positive, right), np.linalg.solve(positive, right), **close)
    lower = algebra.cholesky(positive)
    np.testing.assert_allclose(lower, np.linalg.cholesky(positive), **close)
    np.testing.assert_allclose(algebra.inverse_lower(lower) @ lower, np.broadcast_to(np.eye(m), a.shape), **close)
    values, vectors = algebra.eigen(symmetric)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric), **close)
    np.testing.assert_allclose((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2), symmetric, **close)
    np.testing.assert_allclose(np.swapaxes(vectors, -1, -2) @ vectors, np.broadcast_to(np.eye(m), a.shape), **close)
    q, diagonal = algebra.orthonormal(a)
    wanted, triangle = np.linalg.qr(a)
    np.testing.assert_allclose(q, wanted, **close)
    np.testing.assert_allclose(diagonal, np.diagonal(triangle, axis1=-2, axis2=-1), **close)


def test_matrices_that_have_no_answer_say_so():
    flat = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert not np.isfinite(algebra.solved(flat, np.eye(2))).all()
    assert np.isnan(algebra.cholesky(-np.eye(2))).any()
    values, vectors = algebra.eigen(np.zeros((3, 3)))
    assert np.array_equal(values, np.zeros(3))
    assert np.array_equal(vectors, np.eye(3))


def test_an_entry_of_a_product_is_summed_in_one_order_whatever_is_beside_it():
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal((700, 37)), rng.standard_normal((37, 90))
    whole = algebra.product(left, right)
    for i, j in ((0, 0), (699, 89), (45, 7), (46, 88)):
        alone = 0.0
        for x, y in zip(left[i], right[:, j], strict=True):
            alone += x * y
        assert whole[i, j] == alone
    assert np.array_equal(algebra.product(left[13:14], right[:, 5:6]), whole[13:14, 5:6])
    assert np.array_equal(algebra.product(np.asfortranarray(left), right[:, ::-1])[:, ::-1], whole)


def test_a_matrix_is_turned_on_its_own():
    rng = np.random.default_rng(3)
    many = rng.standard_normal((50, 6, 6))
    many += np.swapaxes(many, 1, 2)
    many[::7] *= 1e-12
    values, vectors = algebra.eigen(many)
    for i in (0, 7, 31):
        assert np.array_equal(algebra.eigen(many[i])[0], values[i])
        assert np.array_equal(algebra.eigen(many[i])[1], vectors[i])
    assert algebra.length(np.array([3.0, 4.0])) == math.hypot(3.0, 4.0)
