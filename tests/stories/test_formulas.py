"""The numbers in the formulas come from the run: its spending, release and guarantee, to the last bit."""

import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting import GaussianEvent, LaplaceEvent, PureEvent, gdp_epsilon
from dpviz.baselines import CATALOGUE as BASELINES
from dpviz.core import Box
from dpviz.methods import CATALOGUE
from dpviz.methods.convergent_kmeans.family import METHODS
from dpviz.methods.nd_laplace.run import PointsLook
from dpviz.solvers import assign
from dpviz.stories.panel import ceiled, floored, number
from dpviz.stories.spending import leaves
from dpviz.stories.teaching import ODDS, TOTAL, Known, parts, tex

BOX = Box.cube(0.0, 10.0, 2)
POINTS = np.random.default_rng(5).normal([3.0, 6.0], 1.5, (250, 2))
EPSILONS = st.floats(0.05, 20.0)
FEW = settings(max_examples=6, deadline=None, derandomize=True)
WORDS = {"frac", "sqrt", "ln", "cdot", "left", "right", "Pr", "propto", "sum", "max", "lVert", "rVert", "text", "score"}
# Functions, indices, and words that are read aloud.
WORDS |= {"offset", "after", "step", "e", "i", "q", "x", "Gamma", "tilde"}


def known(name, params, module=None, points=POINTS, look=None):
    """Run a method and return its public information, with the run."""
    result = (module or CATALOGUE[name]).fit(points, BOX, params, rng=np.random.default_rng(1))
    return Known(params, result.release, result.events, result.guarantee, BOX, look), result


def filled(name, it):
    """Return a run's formulas by name; each ends with its value in three digits, a limit never below its value."""
    found = CATALOGUE[name].reading.formulas(it)
    for each in found:
        said = tex(each.value, ceiled if each.is_limit else floored if each.is_least else number)
        assert re.search(rf"{re.escape(said)}(\\ \\text{{[^}}]*}})?$", each.with_numbers), each
    return {each.name: each for each in found}


def flat(events):
    return [leaf for event in events for leaf in leaves(event)]


@FEW
@given(epsilon=EPSILONS, k=st.integers(1, 6))
def test_repaired_kmeans(epsilon, k):
    module = CATALOGUE["convergent_kmeans"]
    it, result = known("convergent_kmeans", module.Params(epsilon=epsilon, n_clusters=k, start_seed=1))
    found = filled("convergent_kmeans", it)
    steps = len(result.trace)
    assert found["Budget of one iteration"].value == pytest.approx(0.98 * epsilon / steps)
    counts, sums = (next(leaf for leaf in flat(it.events) if leaf.label == label) for label in ("counts", "sums"))
    assert found["Noise of a count"].value == counts.scale
    assert found["Noise of a sum, on each axis of the unit box"].value == sums.scale
    assert found["Its parts"].value == pytest.approx(1 / counts.scale + 2 * 0.5 / sums.scale)
    last = result.trace[-1]
    assert found["Radius of a sampling zone"].value == last.zone_radius[0]
    shown = re.search(r"\(1 - ([\d.]+)\) \\cdot ([\d.]+)", found["Radius of a sampling zone"].filled)
    if shown:
        assert (1 - float(shown[1])) * float(shown[2]) == pytest.approx(last.zone_radius[0], rel=0.05)
    assert found[ODDS].value == pytest.approx(100 / (1 + math.exp(-epsilon)))


@FEW
@given(step=st.floats(0.01, 10.0), last=st.floats(0.01, 10.0))
def test_published_kmeans(step, last):
    module = CATALOGUE["convergent_kmeans"]
    budgets = {"epsilon_per_iteration": step, "epsilon_counts": last}
    params = module.Params(mode="published", n_clusters=3, start_seed=1, **budgets)
    it, result = known("convergent_kmeans", params)
    found = filled("convergent_kmeans", it)
    assert found["The paper's total: claimed, not established"].value == last + len(result.trace) * step
    assert found["Noise of a final count"].value == 1 / last
    # Nothing is proved.
    assert ODDS not in found
    ratio = [each for name, each in found.items() if name.startswith("The ratio")]
    # Noise on the count has not touched the ratio, which belongs to the exact sum.
    if ratio:
        unit = BOX.to_unit(BOX.clip(POINTS))
        total = unit[assign(unit, result.trace[-1].released_centers) == 0].sum(axis=0)
        assert ratio[0].value == pytest.approx(total[0] / total[1], rel=1e-9)


@pytest.mark.parametrize("name", sorted(set(METHODS) & set(BASELINES)))
def test_every_size_of_noise_in_the_familys_spending_is_written_once(name):
    module = BASELINES[name]
    it, _ = known(
        "convergent_kmeans", module.Params(n_clusters=3, **({"epsilon": 2.0} if name != "lloyd" else {})), module
    )
    found = CATALOGUE["convergent_kmeans"].reading.formulas(it)
    sizes = {leaf.scale for leaf in flat(it.events) if isinstance(leaf, LaplaceEvent)}
    sizes |= {leaf.sigma for leaf in flat(it.events) if isinstance(leaf, GaussianEvent)}
    sizes |= {leaf.epsilon for leaf in flat(it.events) if isinstance(leaf, PureEvent) and math.isfinite(leaf.epsilon)}
    assert {each.value for each in found if each.name not in (TOTAL, ODDS)} == sizes
    totals = [each.value for each in found if each.name == TOTAL]
    assert all(value <= 2.0 * (1 + 1e-9) for value in totals)
    # dwork halves every time and spends 2^-T less.
    if totals and name != "dwork":
        assert totals == pytest.approx([2.0])


@FEW
@given(epsilon=EPSILONS, published=st.booleans(), weight=st.floats(0.0, 20.0))
def test_dpm(epsilon, published, weight):
    module = CATALOGUE["dpm"]
    params = module.Params(
        epsilon=epsilon, calibration="published" if published else "repaired", emptiness_weight=weight
    )
    it, result = known("dpm", params)
    found, plan = filled("dpm", it), result.trace[0].plan
    assert found["Noise of the first count"].value == 1 / plan.count_epsilons[0]
    (least,) = [each for name, each in found.items() if name.startswith("A side with at most this many is refused")]
    assert least.value == plan.minimum_count
    assert f"2^{{{plan.free_levels}}}" in least.filled
    (delta,) = [each.value for name, each in found.items() if name.startswith("Delta")]
    assert delta == plan.delta
    splits = getattr(result.trace[1], "splits", ())
    if splits:
        assert found["How far one record moves a score of the first cut"].value == pytest.approx(splits[0].sensitivity)
        chance = found["Chance of a place: its factor per point of score"].value
        assert chance == pytest.approx(splits[0].epsilon / (2 * splits[0].sensitivity))
        deepest = found["Deeper levels get more"].value
        reached = len([event for event in it.events if getattr(event, "label", "").startswith("counts of level")])
        assert deepest == pytest.approx(plan.count_epsilons[reached], rel=1e-12)
    sigmas = [leaf.sigma for leaf in flat(it.events) if isinstance(leaf, GaussianEvent)]
    assert found["Noise of a center's sum, the widest cell's"].value == max(sigmas)


@FEW
@given(
    epsilon=EPSILONS,
    base=st.sampled_from(["dpmog_hard", "dpmog", "dplloyd_mog", "dpcube"]),
    calibration=st.sampled_from(["tight", "published"]),
    adjacency=st.sampled_from(["add_remove", "replace"]),
)
def test_morse(epsilon, base, calibration, adjacency):
    module = CATALOGUE["morse"]
    params = module.Params(
        epsilon=epsilon, base=base, calibration=calibration, adjacency=adjacency, n_components=4, n_iterations=3
    )
    it, result = known("morse", params)
    found = filled("morse", it)
    noises = {leaf.sigma for leaf in flat(it.events) if isinstance(leaf, GaussianEvent)}
    if base == "dpcube":
        assert noises <= {each.value for each in found.values()}
        return
    assert {found["Noise of every number released"].value} == noises == {result.release.sigma}
    if base != "dplloyd_mog":
        (mu,) = [each.value for name, each in found.items() if name.startswith("What the passes cost")]
        assert gdp_epsilon(mu, params.delta) == pytest.approx(result.guarantee.proved.epsilon)


@FEW
@given(epsilon=st.floats(0.01, 20.0), radius=st.floats(0.1, 15.0), domain=st.sampled_from(["none", "clamp", "remap"]))
def test_nd_laplace(epsilon, radius, domain):
    module = CATALOGUE["nd_laplace"]
    it, result = known("nd_laplace", module.Params(epsilon=epsilon, domain=domain), look=PointsLook(radius, "m"))
    found = filled("nd_laplace", it)
    assert found["Budget per unit of distance"].value == result.guarantee.proved.epsilon
    apart = found["Two places a radius apart: how much likelier one may make a release"]
    assert apart.value == pytest.approx(float(np.exp(np.float64(epsilon * radius))))
    error = found["Least error between two equally likely places a radius apart"].value
    assert error == pytest.approx(100 / (1 + math.exp(epsilon * radius)))
    assert found["Mean length of the noise: the perturbation area"].value == pytest.approx(2 / epsilon)
    doubled = filled("nd_laplace", dataclasses.replace(it, params=dataclasses.replace(it.params, domain="redraw")))
    assert doubled[apart.name].value == pytest.approx(float(np.exp(np.float64(2 * epsilon * radius))))


@FEW
@given(
    budget=st.floats(0.05, 10.0),
    method=st.sampled_from(["nna", "nas"]),
    noise=st.sampled_from(["laplace", "gaussian", "rho"]),
    calibration=st.sampled_from(["tight", "published"]),
    threshold=st.sampled_from(["published", "lemma"]),
)
def test_source_target(budget, method, noise, calibration, threshold):
    module = CATALOGUE["source_target"]
    given_budget = {"rho": budget} if noise == "rho" else {"epsilon": budget}
    given_budget |= {"delta": 1e-5} if noise == "gaussian" else {}
    params = module.Params(
        POINTS[:40],
        method=method,
        noise="laplace" if noise == "laplace" else "gaussian",
        calibration=calibration,
        threshold=threshold,
        t=20,
        **given_budget,
    )
    it, result = known("source_target", params)
    found = filled("source_target", it)
    (leaf,) = flat(it.events)
    size = leaf.scale if isinstance(leaf, LaplaceEvent) else leaf.sigma
    assert found["Noise of every number released"].value == size == result.release.scale
    moved = found["How far one record moves what is released"].value
    if noise == "laplace":
        assert moved == pytest.approx(size * budget)
        assert found["What is proved"].value == result.guarantee.proved.epsilon
    if noise == "rho":
        assert moved == pytest.approx(size * math.sqrt(2 * budget))
    if method == "nna":
        assert found["Noisy count from which a cell's average is released"].value == result.release.threshold


RUNS = {
    "convergent_kmeans": [{"start_seed": 1}, {"mode": "published", "start_seed": 1}],
    "dpm": [{}, {"calibration": "published"}],
    "morse": [{"base": base, "n_components": 4, "n_iterations": 2, "calibration": way}
              for base in ("dpmog", "dplloyd_mog", "dpcube") for way in ("tight", "published")],
    "nd_laplace": [{}, {"domain": "redraw"}],
    "source_target": [{"epsilon": 1.0}, {"epsilon": 1.0, "method": "nas", "delta": 1e-5, "noise": "gaussian"},
                      {"rho": 1.0, "noise": "gaussian"}],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(RUNS))
def test_every_symbol_is_explained(name):
    for options in RUNS[name]:
        targets = {"targets": POINTS[:30]} if name == "source_target" else {}
        it, _ = known(name, CATALOGUE[name].Params(**targets, **options))
        each_part = [part for names in CATALOGUE[name].reading.words(it) for part in parts(names)]
        listed = {re.split(r"[_(]", part)[0].removeprefix("\\tilde ") for part in each_part}
        for each in CATALOGUE[name].reading.formulas(it):
            general = re.sub(r"\\text\{[^}]*\}|_\{[^}]*\}|_\w|\^\{\(t\)\}", "", each.general)
            symbols = set(re.findall(r"\\?[A-Za-z]+", general))
            missing = {s for s in symbols if s not in listed and s.removeprefix("\\") not in WORDS}
            assert not missing, (each.general, missing)
