"""Draws ahead of iterations: the numbers of generators spawned one by one, and no trace of a secret seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.mechanisms import SecretGenerator, public_rng
from dpviz.methods.convergent_kmeans.algorithm import lookahead
from dpviz.methods.convergent_kmeans.algorithm.lookahead import AT_ONCE, chances
from dpviz.solvers import controller_angle, tosses, zone_offset, zones

SEEDS = st.one_of(
    st.integers(0, 2**140),
    st.lists(st.integers(0, 2**70), min_size=1, max_size=4),
    st.integers(0, 2**31).map(np.int64),
)


@given(SEEDS, st.integers(1, 2 * AT_ONCE + 1), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_each_iteration_draws_what_spawned_generators_do(seed, n, k, d, past):
    """Twice, because the second run uses cached draws."""
    for _ in range(2):
        drawn = list(chances(n, (k, d), 1.0, past=past, rng=np.random.default_rng(seed)))
        assert len(drawn) == n
        for chance, rng in zip(drawn, np.random.default_rng(seed).spawn(n), strict=True):
            noise_rng, zone_rng, sample_rng = rng.spawn(3)
            for part, wanted in enumerate(noise_rng.spawn(2)):
                assert (chance.noise.child(part).generator().random(3) == wanted.random(3)).all()
            uniforms = zone_rng.random((k, 2))
            assert (chance.lam == zone_offset(uniforms[:, 0])).all()
            angle = controller_angle(uniforms[:, 1]) if d > 1 else np.zeros(k)
            np.testing.assert_array_equal(chance.gamma, angle if past else np.full(k, np.nan))
            if past:
                assert (chance.turns == zone_rng.standard_normal((k, d))).all()
            else:
                assert chance.turns is None
            assert (chance.draw.sides == tosses(k, d, rng=sample_rng)[1]).all()


def test_a_childs_draws_are_not_its_parents():
    parent = np.random.default_rng(8)
    first, second = parent.spawn(2)
    lams = [next(chances(1, (3, 2), 1.0, past=True, rng=rng)).lam for rng in (np.random.default_rng(8), first, second)]
    assert len({lam.tobytes() for lam in lams}) == 3


@pytest.mark.parametrize(
    ("rng", "kept"),
    [
        (public_rng(2**64 - 1), 1),
        # Children of a public generator are public.
        (public_rng(3).spawn(1)[0], 1),
        (np.random.default_rng(3), 0),  # a seed that nobody calls public may be somebody's secret
        (np.random.default_rng(2**100), 0),
        (SecretGenerator(), 0),
    ],
)
def test_only_what_is_public_is_remembered(rng, kept):
    lookahead._cached_tosses.cache_clear()
    zones.cached_angles.cache_clear()
    assert len(list(chances(3, (2, 2), 1.0, past=True, rng=rng))) == 3
    assert lookahead._cached_tosses.cache_info().currsize == kept
    assert zones.cached_angles.cache_info().currsize == kept


def test_a_generator_without_a_seed_is_refused():
    generator = np.random.Generator(np.random.MT19937(1))
    legacy = np.random.RandomState(1)._bit_generator
    assert next(chances(1, (1, 1), 1.0, past=True, rng=generator)) is not None
    with pytest.raises(TypeError, match="default_rng"):
        next(chances(1, (1, 1), 1.0, past=True, rng=np.random.Generator(legacy)))
