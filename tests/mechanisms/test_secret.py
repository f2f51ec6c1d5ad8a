"""Secret noise: the distribution of real numbers rounded to a public grid, without the exact value in the last bits."""

import copy
import math
import os
import pickle
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpviz.mechanisms import OsBits, SecretGenerator, gaussian, laplace
from dpviz.mechanisms import secret as module
from dpviz.tools.audit.last_bits import SMALLEST, last_bit

N = 100_000
# Chance that a correct sampler fails a test of its distribution.
CHANCE = 1e-6
LAWS = {"laplace": stats.laplace, "gaussian": stats.norm}


def seeded(seed):
    """Return a secret generator fed by a seed, so that a test is reproducible."""
    return SecretGenerator(OsBits(np.random.default_rng(seed).bytes))


def draw(law, value, scale, rng):
    return laplace(value, scale=scale, rng=rng) if law == "laplace" else gaussian(value, sigma=scale, rng=rng)


def coarse(monkeypatch):
    """Make the grid as wide as the scale, so that single chances can be counted."""
    monkeypatch.setattr(module, "GRID_BITS", 0)
    monkeypatch.setattr(module, "SLACK", 0.0)


def fits(law, value, found, *, scale=1.0):
    """Check that counts of the places -6 to 6 fit the rounded distribution: Pearson's test."""
    edges = np.arange(-6, 7) + 0.5
    chances = np.diff(LAWS[law].cdf(np.r_[-np.inf, edges, np.inf], loc=value, scale=scale))
    counts = np.bincount(np.clip(found.astype(int) + 6, 0, 13), minlength=14)
    kept = chances * N > 5
    rest = max(N - counts[kept].sum(), 0), 1.0 - chances[kept].sum()
    expected = np.r_[chances[kept] * N, rest[1] * N] if rest[1] * N > 5 else chances[kept] * N / chances[kept].sum()
    observed = np.r_[counts[kept], rest[0]] if rest[1] * N > 5 else counts[kept]
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > CHANCE


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, -1.25])
def test_the_law_is_the_rounded_one_of_real_numbers(law, value, monkeypatch):
    coarse(monkeypatch)
    found = draw(law, np.full(N, value), 1.0, seeded(1))
    assert np.array_equal(found, np.rint(found))
    assert fits(law, value, found)
    # A tenth of the scale, or of a step of the value, would be seen.
    assert not fits(law, value, found, scale=1.1)
    assert not fits(law, value + 0.1, found)
    assert not fits("laplace" if law == "gaussian" else "gaussian", value, found)


@pytest.mark.parametrize("law", LAWS)
def test_the_usual_grid_is_so_fine_that_nothing_of_the_law_is_lost(law):
    found = draw(law, np.zeros(N), 3.0, seeded(2))
    assert stats.kstest(found / 3.0, LAWS[law].cdf).pvalue > CHANCE
    assert stats.kstest(found / 3.3, LAWS[law].cdf).pvalue < CHANCE


@pytest.mark.parametrize("law", LAWS)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 1000))
def test_every_release_lies_on_a_grid_that_follows_from_the_scale_alone(law, value, scale, seed):
    found = draw(law, np.full(50, value), scale, seeded(seed))
    grid = float(module.grid_of(np.array(scale * (1.0 + module.SLACK))))
    assert math.frexp(grid)[0] == 0.5, "a power of two"
    assert scale * 2.0**-22 <= grid <= scale * 2.0**-19
    assert np.array_equal(found, np.rint(found / grid) * grid)


@pytest.mark.parametrize("law", LAWS)
def test_intervals_round_as_whole_numbers_do(law, monkeypatch):
    rng = np.random.default_rng(3)
    value, scale = rng.uniform(-50, 50, 300), rng.uniform(0.01, 9.0, 300)
    quick = draw(law, value, scale, seeded(4))
    monkeypatch.setattr(module, "LEAST_ERROR", 10.0)  # nothing is certain: every place is found by whole numbers
    exact = draw(law, value, scale, seeded(4))
    assert np.array_equal(quick, exact)
    assert not np.array_equal(quick, draw(law, value + 1e-4 * scale, scale, seeded(4))), "a hundred steps are seen"


@pytest.mark.parametrize("law", LAWS)
def test_the_last_bits_tell_nothing_where_those_of_floating_point_do(law):
    """Mironov's attack on 0 against 1: near 0 a sum with 1 is a multiple of 2^-53, and noise around 0 is seldom one."""

    def telling(rng):
        near = [draw(law, np.full(N, value), 1.0, rng) for value in (0.0, 1.0)]
        return [float((last_bit(each[np.abs(each) < 0.25]) < -53).mean()) for each in near]

    around_zero, around_one = telling(np.random.default_rng(5))
    assert around_zero > 0.5
    assert around_one == 0.0
    assert telling(seeded(5)) == [0.0, 0.0]


def test_the_last_bit_of_a_number():
    numbers = np.array([1.0, -6.0, 0.75, 0.1, 5e-324, 0.0])
    assert list(last_bit(numbers)) == [0.0, 1.0, -2.0, -55.0, -1074.0, SMALLEST]


def test_no_noise_is_none():
    value = np.array([0.1, 5.0, -3.3])
    assert np.array_equal(laplace(value, scale=0.0, rng=seeded(6)), value)
    mixed = gaussian(value, sigma=np.array([0.0, 1.0, 0.0]), rng=seeded(6))
    assert mixed[0] == value[0]
    assert mixed[2] == value[2]
    assert mixed[1] != value[1]


def test_sums_in_any_order_stay_within_what_the_noise_is_widened_by():
    """n numbers in [-1, 1] sum to within n^2 2^-53 (Higham 2002, 4.2); twice that is below a SLACK of D = 1/2."""
    most = 740_000
    assert 2 * most**2 * 2.0**-53 <= 0.5 * module.SLACK
    numbers = np.random.default_rng(7).uniform(-1, 1, 100_000)
    exact = math.fsum(numbers)
    for order in (numbers, numbers[::-1], np.sort(numbers)):
        assert abs(float(np.cumsum(order)[-1]) - exact) <= len(numbers) ** 2 * 2.0**-53


def test_nobody_can_copy_or_repeat_it():
    rng = SecretGenerator()
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            way(rng)
    first, other = (SecretGenerator().random(1000) for _ in range(2))
    assert not np.intersect1d(first, other).size
    children = [child.random(100) for child in rng.spawn(3)]
    assert len(np.unique(children)) == 300


def test_words_are_wiped_when_they_are_read():
    bits = OsBits(np.random.default_rng(8).bytes)
    rng = SecretGenerator(bits)
    rng.random(10)
    assert not bits.words[1:11].any()
    assert bits.words[11:].any()
    bits.forget()
    assert not bits.words[1:].any()


def test_numbers_that_numpy_draws_are_the_words_of_the_source():
    rng, words = seeded(8), np.frombuffer(np.random.default_rng(8).bytes(8 * 200), dtype=np.uint64)
    assert np.array_equal(rng.random(60), (words[:60] >> np.uint64(11)) * 2.0**-53)
    assert np.array_equal(rng.integers(2**64, size=40, dtype=np.uint64), words[60:100])
    assert np.array_equal(rng.integers(2**32, size=100, dtype=np.uint32), words[100:] >> np.uint64(32))


def test_an_interrupt_while_the_buffer_is_filled_leaves_no_number_undrawn(monkeypatch):
    interrupts, told = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda each: told.append(each.exc_type))

    def fill(n):
        if len(interrupts) < 3:
            interrupts.append(n)
            raise KeyboardInterrupt
        return np.random.default_rng(8).bytes(n)

    assert np.array_equal(SecretGenerator(OsBits(fill)).random(60), seeded(8).random(60))
    assert told == [KeyboardInterrupt] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts processes without forking")
def test_a_forked_process_draws_other_noise():
    rng = SecretGenerator()
    rng.random()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, rng.random(20).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 1000))
    assert len(theirs) == 20
    assert not np.intersect1d(theirs, rng.random(20)).size


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_numpy_s_own_draws_have_their_laws(name):
    law = {"random": "uniform", "standard_normal": "norm", "standard_exponential": "expon"}[name]
    assert stats.kstest(getattr(seeded(9), name)(N), law).pvalue > CHANCE


PLACES = st.fractions(0, 1, max_denominator=2**40).filter(lambda each: each < 1)


@pytest.mark.parametrize("law", LAWS)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(0, 40), PLACES, st.booleans())
def test_a_release_is_the_value_and_slightly_wider_noise_rounded_once(law, value, scale, whole, rest, negative):
    """G round((v + s (1 + 2^-12) Z) / G), G a power of two from 2^-21 to 2^-20 of that scale: for a Z that is given."""

    def drawn(_words, wholes, parts):
        wholes[:] = whole
        parts[:] = 0
        parts[:, 0] = module.DEPTH
        parts[:, 1] = int(rest * 2**64)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "exponentials", drawn)
        patched.setattr(module, "half_normals", drawn)
        patched.setattr(module, "_fair_bits", lambda _words, n: np.full(n, negative))
        (found,) = draw(law, np.array([value]), scale, seeded(0))
    noise = Fraction(scale * (1.0 + 2.0**-12)) * (whole + Fraction(int(rest * 2**64), 2**64))
    grid = Fraction(2) ** (math.frexp(scale * (1.0 + 2.0**-12))[1] - 21)
    exact = Fraction(value) - noise if negative else Fraction(value) + noise
    assert found == float(math.floor(exact / grid + Fraction(1, 2)) * grid)
