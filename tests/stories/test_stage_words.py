"""The words of the stage: their length, their truth, and numbers that follow from proofs and measurements."""

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import dpviz
from dpviz.accounting import gaussian_sigma
from dpviz.core import Adjacency, Box, Budget, Claim, Guarantee, attacker_odds
from dpviz.data import NEUTRAL, Dataset, load
from dpviz.methods import ALGORITHMS, CATALOGUE, run_class
from dpviz.methods.dpm.algorithm import Shares
from dpviz.methods.dpm.run import DPMRun
from dpviz.runs import run_of
from dpviz.stories import center_facts
from dpviz.stories.label import (
    ceiled_two,
    factor_words,
    guarantee_in_a_sentence,
    measured_leak,
    odds_measure,
)
from dpviz.stories.wording import MOST_CHARACTERS, MOST_WORDS, Doubt, doubt_left, in_words, length_words, things
from tests.hostile import PARTS
from tests.recorded import modes, needs
from tests.stage_words import EPSILONS, FOLDER, pages, text

# Words about protection, with the range of odds (above, up to) in which a headline may use them.
PROTECTION = {
    "nobody stands out": (50.0, 60.0),
    "can't be sure": (60.0, 75.0),
    "attackers must guess": (60.0, 75.0),
    "secret": (50.0, 75.0),
    "protection is thin": (75.0, 99.0),
    "almost nobody is protected": (99.0, 100.0),
    "almost no protection": (99.0, 100.0),
    "your home shows": (99.0, 100.0),
    "your place shows": (99.0, 100.0),
}
# With noise, these words are never true, whatever the number next to them. A guarantee holds at any ε.
NEVER = r"perfect|(?<!nearly )exact(?!ly right)|guarantee is gone|no longer protects|singled out"
HOSTILE = ("".join(PARTS[:20]), "<script>alert(1)</script>" * 4)


# One snapshot a page.


@pytest.mark.parametrize("page", sorted(pages()))
def test_a_page_says_what_is_written_down(page):
    wanted = (FOLDER / f"{page}.txt").read_text("utf-8")
    assert text(page) == wanted, "python -m tests.stage_words writes it anew"


def test_every_page_has_its_words():
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(pages())
    assert len(pages()) == len(CATALOGUE)


# Length and truth of the findings, over a grid.


def data_sets(d=2):
    """Yield records of many shapes, with classes and without, and with hostile names and units."""
    for name, n in (("blobs", 160), ("moons", 160), ("null", 60)):
        data = load(name, n=n, seed=3)
        yield replace(data, feature_names=HOSTILE, units=(HOSTILE[1],) * d, title=HOSTILE[0])
        yield replace(data, labels=None)
    yield replace(load("blobs", n=60, seed=1), points=np.full((60, 2), 5.0), labels=np.zeros(60, dtype=int))
    yield replace(load("city", n=120), units=("m", "m"))
    yield replace(load("blobs", n=2), labels=np.array([0, 1]))


EVERY = [
    pytest.param(name, mode, turn, id=f"{name}:{','.join(map(str, mode.values()))}")
    for name in ALGORITHMS
    for turn, mode in enumerate(each for each in modes(name) if "epsilon" not in each)
]


def runs(name, mode, turn):
    """Yield runs of a mode on every second data set, each at one of many budgets, proved or not."""
    algorithm, kind = ALGORITHMS[name], run_class(name)
    budgets = itertools.cycle((0.1, 10.0, 1.0, 3.0, 0.3, 20.0, 0.05))
    for seed, data in enumerate(data_sets()):
        if (seed + turn) % 2:
            continue
        given = {**needs(name, 2), **(algorithm.audit.settings if name == "lsh_splits" else {}), **mode}
        given["epsilon"] = next(budgets)
        if mode.get("domain") == "redraw" or (name == "source_target" and mode.get("noise") == "gaussian"):
            given["epsilon"] = max(given["epsilon"], 1.0)
        if name == "lloyd":
            given.pop("epsilon")
        elif name == "nd_laplace":
            given["epsilon"] /= float(data.box.widths.max() / 5.0)
        elif name == "source_target":
            given["targets"] = data.box.from_unit(given["targets"])
        if "n_clusters" in algorithm.parameters:
            given["n_clusters"] = min(1 + seed % 3, data.n)
        params = algorithm.Params(**given)
        result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(seed))
        yield run_of(kind, result, params, data, result.guarantee)
        unproved = replace(data, bounds_from_data=True)
        yield run_of(kind, result, params, unproved, replace(result.guarantee, proved=None))


def check_headline(said):
    """Check that a headline claims no more than the numbers next to it."""
    headline, odds = said.finding.lower(), said.risk
    assert odds is None or not re.search(NEVER, headline), headline
    for part, (above, most) in PROTECTION.items():
        if part in headline:
            assert odds is not None, headline
            assert above <= odds.value <= most, (headline, odds)
    if "nearly exact" in headline:
        assert said.loss.value < 0.2, "percent of the diagonal"


@pytest.mark.parametrize("state", ["proved", "claimed", "refuted"])
@pytest.mark.parametrize("name", [*CATALOGUE, "dplloyd"])
def test_no_headline_says_more_than_its_number_at_any_epsilon(name, state):
    data = load("city" if name == "nd_laplace" else "moons" if name == "morse" else "blobs", n=400, seed=3)
    algorithm, kind = ALGORITHMS[name], run_class(name)
    refuted = {"convergent_kmeans": {"mode": "published"}, "dpm": {"calibration": "published"}}
    if state == "refuted" and name not in refuted:
        pytest.skip("no audit refutes a claim of this method")
    given = {**needs(name, 2), **(refuted[name] if state == "refuted" else {})}
    if "targets" in given:
        given["targets"] = data.box.from_unit(given["targets"])
    found = set()
    for seed, epsilon in enumerate(np.geomspace(0.01, 100.0, 13).tolist()):
        params = algorithm.Params(**{**given, "epsilon": epsilon})
        result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(seed))
        guarantee = result.guarantee if state == "proved" else replace(result.guarantee, proved=None)
        run = run_of(kind, result, params, data, guarantee)
        for said in run.stage_words():
            check_headline(said)
            found.update(part for part in PROTECTION if part in said.finding.lower())
        assert state != "refuted" or said.verdict == "broken"
    assert bool(found) == (state == "proved"), "the walk reaches such words"


def test_headlines_that_say_more_than_their_number_are_refused(tell_family):
    words = tell_family("dplloyd").stage_words()[0]
    for said, odds in (("the guarantee is gone", 99.5), ("attackers can't be sure", 89.0), ("Perfect centers", 99.5)):
        with pytest.raises(AssertionError):
            check_headline(replace(words, finding=said, risk=replace(words.risk, value=odds)))


@pytest.mark.parametrize(("name", "mode", "turn"), EVERY)
def test_a_finding_is_short_and_says_no_more_than_is_proved(name, mode, turn):
    for run in runs(name, mode, turn):
        words = run.stage_words()
        for said in words:
            assert len(said.finding) <= MOST_CHARACTERS, said.finding
            assert len(said.finding.split()) <= MOST_WORDS, said.finding
            assert re.fullmatch(r"[^a-z].*\.", said.finding), said.finding
            assert not re.search(r"ε|\d\.\d\d\d", said.finding)
            check_headline(said)
            odds = said.risk
            assert (odds is None) == (run.guarantee.proved is None)
            if odds is None:
                assert said.verdict != "proved"
                assert "proved nothing" in said.guarantee or "nothing is proved" in said.guarantee
            else:
                assert odds.text == ("over 99" if odds.value > 99 else str(math.ceil(round(odds.value, 9))))
            if said.strip is not None:
                assert said.strip.low < said.strip.high
                assert said.loss is None or math.isfinite(said.loss.value)
            else:
                assert said.loss is None
            assert not any(part in f"{said.lede}{said.guarantee}" for part in HOSTILE)
        curator, public = words
        for field in ("lede", "verdict", "guarantee", "risk", "risk_label"):
            assert getattr(curator, field) == getattr(public, field), "all of it is public"


@pytest.mark.parametrize("name", [*CATALOGUE, "dplloyd", "gupt", "eugkm", "dp_em"])
def test_the_axis_of_a_strip_is_the_same_at_every_epsilon(name):
    data = load("moons" if name == "morse" else "blobs", n=400, seed=2)
    algorithm, found = ALGORITHMS[name], []
    for seed, epsilon in enumerate(EPSILONS):
        given = {**needs(name, 2), "epsilon": epsilon}
        if "start_seed" in algorithm.parameters:
            given["start_seed"] = 4
        if "targets" in given:
            given["targets"] = data.box.from_unit(given["targets"])
        params = algorithm.Params(**given)
        result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(seed))
        found.append(run_of(run_class(name), result, params, data, result.guarantee).strips())
    assert found[0] == found[1] == found[2]


# The guarantee in one sentence.

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE


def claim(epsilon, delta=0.0, adjacency=ADD, **more):
    return Claim(epsilon, delta, adjacency, "proof", **more)


def said(published, proved, **given):
    return guarantee_in_a_sentence(Guarantee(published, proved), **given)


def test_the_guarantee_is_one_sentence_that_begins_with_its_verdict():
    one = claim(1.0)
    wanted = "Proved. Adding or removing one person makes no result more than 2.8 times as likely."
    assert said(one, one) == said(None, one) == ("proved", wanted)
    assert said(claim(0.1), claim(0.1))[1].endswith("more than 1.11 times as likely.")
    assert said(claim(10.0), claim(10.0))[1].endswith("more than 23,000 times as likely.")
    assert said(one, one, who="paramedic")[1].startswith("Proved. Adding or removing one paramedic makes")
    replaced = claim(1.0, 0.0, REPLACE)
    assert said(replaced, replaced)[1].startswith("Proved. Replacing one person's record makes no result")
    rare = claim(1.0, 3.0518e-5)
    assert said(rare, rare)[1].endswith("2.8 times as likely, plus 30.6 in a million.")
    better = said(one, claim(0.7071))[1]
    assert better.startswith("Proved: ε = 0.708. Adding or removing one person makes no")
    assert better.endswith("more than 2.1 times as likely.")
    for other in (claim(0.7071, 1e-6), claim(0.7071, adjacency=REPLACE)):
        assert said(one, other)[1].startswith("Proved. "), "another promise is no better one"
    assert said(one, claim(1.17))[1].endswith("more than 3.3 times as likely, not the 2.8 that is claimed.")
    assert said(claim(40.0), claim(40.0)) == ("proved", "Proved, but ε = 40 limits almost nothing.")


def test_what_is_not_proved_is_said_so_and_an_audit_breaks_it():
    one = claim(1.0)
    assert said(one, None) == ("claimed", "Claimed 1, proved nothing.")
    assert said(one, None, box_public=False, leak=4.3) == (
        "claimed",
        "Claimed 1, proved nothing: the bounds come from the data.",
    )
    assert said(one, None, leak=4.3434) == ("broken", "Claimed 1, proved nothing: an audit measures at least 4.34.")
    elsewhere = "Claimed 0.1, proved nothing: for a claim of 1, an audit measures at least 4.34."
    assert said(claim(0.1), None, leak=4.3434) == ("broken", elsewhere)
    assert said(one, None, leak=0.9) == ("claimed", "Claimed 1, proved nothing."), "no more than is claimed"
    nothing = ("claimed", "Nothing is claimed, and nothing is proved.")
    assert said(None, None, leak=5.0) == said(claim(math.inf), claim(math.inf)) == nothing


def test_a_level_per_distance_names_two_places():
    level = claim(0.002, 0.0, REPLACE, per_distance=True)
    verdict, sentence = said(level, level, distance=(500.0, "500 m"))
    assert (verdict, sentence) == (
        "proved",
        "Proved. A sent point is at most 2.8 times as likely to come from you as from 500 m away.",
    )
    assert odds_measure(level, 500.0).value == pytest.approx(attacker_odds(1.0))
    assert doubt_left(level, 500.0) is Doubt.ROOM
    assert doubt_left(level, 5000.0) is Doubt.GONE


def test_a_factor_is_never_less_than_it_is_and_has_two_digits():
    scales, below = {"million": 10**6, "billion": 10**9, "trillion": 10**12}, 0
    for epsilon in np.geomspace(1e-3, 34.0, 200).tolist():
        number, *rest = factor_words(epsilon).removesuffix(" times").split()
        value = float(number.replace(",", "")) * (scales[rest[0]] if rest else 1)
        factor = math.exp(epsilon)
        assert factor * (1 - 1e-11) <= value <= factor * (1.1 if factor >= 2.0 else 1.01)
        assert len(Decimal(number.replace(",", "")).normalize().as_tuple().digits) <= (2 if factor >= 2.0 else 3)
        below += float(f"{factor:.2g}") < factor
    assert below > 50, "rounding to the nearest is refused"


def test_limits_have_two_digits_on_the_safe_side():
    assert [ceiled_two(x) for x in (0.0712, 0.71, 1.0, 2.718, 22026.5, 100.0)] == [
        "0.072",
        "0.71",
        "1",
        "2.8",
        "23,000",
        "100",
    ]


def test_leaks_are_those_of_the_committed_audit():
    published = CATALOGUE["convergent_kmeans"].Params(mode="published")
    assert measured_leak("convergent_kmeans", published) == 5.15
    assert measured_leak("convergent_kmeans", CATALOGUE["convergent_kmeans"].Params()) is None
    assert measured_leak("dpm", CATALOGUE["dpm"].Params(calibration="published")) == 4.34
    assert measured_leak("dpm", CATALOGUE["dpm"].Params()) is None
    assert measured_leak("", published) is None


def test_odds_are_over_99_and_never_100():
    assert odds_measure(claim(1.0)).text == "74"
    assert odds_measure(claim(4.59)).text == "99"
    assert odds_measure(claim(4.6)).text == odds_measure(claim(50.0)).text == "over 99"
    assert odds_measure(None) is None
    assert [doubt_left(claim(e)) for e in (0.1, 1.0, 3.0, 10.0)] == [Doubt.HIDDEN, Doubt.ROOM, Doubt.LITTLE, Doubt.GONE]
    assert doubt_left(None) is Doubt.UNPROVED


def test_numbers_are_words():
    assert (in_words(5), in_words(12), in_words(13), in_words(1200)) == ("five", "twelve", "13", "1,200")
    assert (things(1, "cut"), things(3, "cut")) == ("one cut", "three cuts")
    assert [length_words(x, "m") for x in (20000.0, 2012.0, 999.0, 204.0)] == ["20 km", "2 km", "1 km", "200 m"]


# The distribution of the noise, against runs.

UNIT = Box.cube(0.0, 1.0, 2)
CORNERS = np.array([[0.15, 0.2], [0.85, 0.15], [0.2, 0.85], [0.82, 0.8]])
N_RUNS = 700


def crowds(n=4000, spread=0.02):
    rng = np.random.default_rng(5)
    return np.clip(CORNERS[np.arange(n) % 4] + spread * rng.standard_normal((n, 2)), 0.0, 1.0)


def exact_of(name, run):
    """Return the released centers without the noise of the last sums, box units."""
    if name == "source_target":
        places = run.step.core.representatives.tolist()
        return run.step.nonprivate_averages[[places.index(each) for each in run.release.origins.tolist()]]
    last = run.steps[-1]
    return last.nonprivate_centers if name in ("dpm", "dp_em") else last.nonprivate_mean


LAWS = {
    "convergent_kmeans": {"n_iterations": 1, "n_clusters": 4, "start_seed": 0, "epsilon": 0.5},
    "dplloyd": {"n_iterations": 1, "n_clusters": 4, "start_seed": 0, "epsilon": 0.5},
    "fastlloyd": {"n_iterations": 1, "n_clusters": 4, "start_seed": 0, "epsilon": 0.5, "alpha": 1.0},
    "gupt": {"n_clusters": 2, "start_seed": 0, "epsilon": 20.0},
    "dp_em": {"n_iterations": 1, "n_clusters": 4, "start_seed": 0, "epsilon": 1.0},
    "dpm": {"epsilon": 2.0},
    "source_target": {"epsilon": 4.0, "targets": CORNERS, "n_centers": 4},
    "source_target nna": {"epsilon": 4.0, "targets": CORNERS, "n_centers": 4, "method": "nna"},
}


@pytest.fixture(scope="module", params=sorted(LAWS))
def law(request):
    """Return (measured, predicted) of many runs of a method: noise's shifts of a center, as shares of the diagonal."""
    name, data = request.param.partition(" ")[0], Dataset(crowds(), None, UNIT, ("x", "y"), "Crowds")
    algorithm, kind = ALGORITHMS[name], run_class(name)
    params, pairs = algorithm.Params(**LAWS[request.param]), []
    reference = None
    for seed in range(N_RUNS if name != "dpm" else 400):
        result = algorithm.fit(data.points, UNIT, params, rng=np.random.default_rng(seed))
        if reference is None:
            first = run_of(kind, result, params, data, result.guarantee)
            reference = first.reference
        run = kind.from_result(result, params, data.points, first.words, reference)
        off = np.linalg.norm(UNIT.to_unit(run.release.centers) - exact_of(name, run), axis=1).mean() / math.sqrt(2.0)
        low, high = np.quantile(np.minimum(run.noise_law.draws, 1.0).mean(axis=1), center_facts.BAND)
        pairs.append((off, run.noise_law.share, low, high))
    return np.array(pairs)


def test_noise_moves_centers_as_far_as_its_law_says(law):
    """Six standard errors, 3 % for how two lengths add, and 1 % for higher orders: counts are above 30 noise scales."""
    measured, predicted, *_ = law.T
    tolerance = 6.0 * measured.std() / math.sqrt(len(measured)) + 0.04 * predicted.mean()
    assert abs(measured.mean() - predicted.mean()) < tolerance
    # Factors for a mean that forgets one axis of two, or takes all of it twice.
    for wrong in (0.75, 1.0 / 0.75):
        assert abs(measured.mean() - wrong * predicted.mean()) > tolerance


def test_the_band_of_a_law_holds_as_many_runs_as_it_says(law):
    """Both ends are quantiles of 64 draws, and six standard errors of these and of the runs are allowed."""
    measured, _, low, high = law.T
    share, inside = center_facts.BAND[1] - center_facts.BAND[0], float(np.mean((low <= measured) & (measured <= high)))
    error = math.sqrt(share * (1.0 - share)) * (1.0 / math.sqrt(len(law)) + 1.0 / math.sqrt(64.0))
    assert abs(inside - share) < 6.0 * error
    assert float(np.mean((2.0 * low <= measured) & (measured <= 2.0 * high))) < share - 6.0 * error, "twice the noise"


def test_the_averages_of_dpm_have_the_noise_of_their_budget_at_another_epsilon():
    """The cuts stay, although a different ε gives more or fewer cuts. Sigma follows from the run's own δ, to 2 %."""
    data, params = load("blobs", n=2_000, seed=0), CATALOGUE["dpm"].Params(epsilon=0.5)
    result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(0))
    run = run_of(DPMRun, result, params, data, result.guarantee)
    budget = run.last.budget
    wanted = np.array([gaussian_sigma(1.0, Budget(each * budget.epsilon, budget.delta)) for each in (0.25, 1.0, 4.0)])
    grown = run.noise_growth(np.array([0.25, 1.0, 4.0]))
    assert grown == pytest.approx(wanted / wanted[1], rel=0.02)
    assert grown != pytest.approx([4.0, 1.0, 0.25], rel=0.02), "1/ε is refused"


def test_two_averages_of_dpm_have_the_noise_of_the_first_one_at_another_epsilon():
    """Sigma follows from the run's δ, to 2 %; at a 30th of ε there is one average, with less noise than the first."""
    rng, box = np.random.default_rng(5), Box.cube(0.0, 1.0, 10)
    points = rng.uniform(0.1, 0.9, (4, 10))[np.arange(2_000) % 4] + 0.01 * rng.standard_normal((2_000, 10))
    shares, times = Shares(0.1, 0.3, 0.3, 0.3), np.array([1.0 / 30.0, 0.5, 1.0, 2.0])
    run = dpviz.run("dpm", points, bounds=box, seed=1, epsilon=20.0, shares=shares, n_levels=2)
    budget = run.last.budget
    assert run.last.n_rounds == 2
    sigmas = np.array([gaussian_sigma(1.0, Budget(each * budget.epsilon, budget.delta)) for each in times])
    wanted = sigmas * [math.sqrt(0.5), 1.0, 1.0, 1.0]
    assert run.noise_growth(times) == pytest.approx(wanted / wanted[2], rel=0.02)
    assert run.noise_growth(times) != pytest.approx(sigmas / sigmas[2], rel=0.02), "two rounds throughout"
    shown = run.noise_law.share * math.sqrt(10)
    known = run.release.center_sigmas[:, 0] * center_facts.mean_length(10, gaussian=True)
    assert known.mean() <= shown < 1.1 * known.mean(), "and a little of counts"


def test_the_mean_length_of_noise_is_that_of_its_law():
    rng, n = np.random.default_rng(0), 200_000
    for d in (1, 2, 5, 40):
        for gaussian, draws in (
            (True, rng.standard_normal((n, d))),
            (False, rng.laplace(scale=math.sqrt(0.5), size=(n, d))),
        ):
            lengths = np.linalg.norm(draws, axis=1)
            mean = center_facts.mean_length(d, gaussian=gaussian)
            assert abs(lengths.mean() - mean) < 6.0 * lengths.std() / math.sqrt(n)
            other = center_facts.mean_length(d, gaussian=not gaussian)
            assert d > 5 or abs(lengths.mean() - other) > 6.0 * lengths.std() / math.sqrt(n), "the other law is refused"


@pytest.mark.parametrize(
    ("name", "n", "given"),
    [
        ("blum", 20_000, {}),
        ("dwork", 20_000, {}),
        ("dplloyd", 20_000, {"n_iterations": 3}),
        ("dplloyd", 2_000, {}),  # three iterations at the smaller ε, seven at the other
        ("convergent_kmeans", 20_000, {"start": "private"}),
        ("convergent_kmeans", 2_000, {}),
    ],
)
def test_what_is_expected_at_another_epsilon_is_what_a_run_there_says(name, n, given):
    """The tolerance is the counts' own noise."""
    data = load("blobs", n=n, seed=0)
    algorithm, runs = ALGORITHMS[name], []
    for epsilon in (2.0, 8.0):
        params = algorithm.Params(epsilon=epsilon, start_seed=5, **given)
        result = algorithm.fit(data.points, data.box, params, rng=np.random.default_rng(0))
        runs.append(run_of(run_class(name), result, params, data, result.guarantee))
    law = {row[0]: row[1:] for row in runs[0].losses()[1].law}
    there = 100.0 * runs[1].noise_law.share
    assert all(low <= high for low, _, high in law.values())
    assert law[1.0][1] == pytest.approx(100.0 * runs[0].noise_law.share, rel=1e-3)
    assert law[4.0][1] == pytest.approx(there, rel=0.15)
    assert law[2.0][1] != pytest.approx(there, rel=0.15), "half of the way is refused"


# Findings.


@pytest.mark.parametrize(
    ("lost", "off", "law", "words"),
    [
        (1.2, 1.0, None, "The centers are no better than a blind guess"),
        (0.7, 0.8, 0.8, "Noise drags the centers off their crowds"),
        (0.7, 0.8, 0.1, "The centers miss their crowds"),  # miss not caused by noise
        (0.7, 0.8, None, "The centers miss their crowds"),
        (0.3, 0.2, 0.2, "The centers wobble but find their crowds"),
        (0.3, 0.9, 0.2, "The centers land elsewhere and serve their crowds less well"),
        (0.02, 0.9, 0.1, "The centers land elsewhere but serve their crowds just as well"),
        (0.02, 0.05, 0.8, "Lucky noise"),  # luck: the median of such runs would miss
        (0.02, 0.05, 0.1, "Four centers land where they should"),
        (0.02, 0.05, None, "Four centers land where they should"),
    ],
)
def test_a_finding_looks_at_the_run_and_at_the_law_of_its_noise(tell_family, lost, off, law, words):
    run = replace(tell_family("dplloyd"))
    best = run.best_cost
    measured = {
        "nonprivate_cost": best + lost * (run.no_data_cost - best),
        "distance_share": off * run.blind_share,
        "noise_share": None if law is None else law * run.blind_share,
    }
    # The run measures these values once and keeps them.
    run.__dict__.update(measured)
    assert run.finding().curator.startswith(words)


def test_the_public_reads_of_the_law_alone(tell_family):
    run, said = tell_family("dplloyd"), []
    for law in (0.5, 0.1, 0.01, None):
        one = replace(run)
        one.__dict__["noise_share"] = law
        said.append(one.finding().public.partition(",")[0])
    assert said == [
        "These centers are mostly noise",
        "Noise blurs the four centers",
        "Noise hardly moves the four centers",
        "Four centers are released",
    ]


def found_by_brute_force(labels, classes):
    homes = {each: Counter(labels[classes == each].tolist()).most_common(1)[0] for each in np.unique(classes).tolist()}
    most = {cell: Counter(classes[labels == cell].tolist()).most_common(1)[0][0] for cell in np.unique(labels).tolist()}
    return sum(2 * n > np.sum(classes == each) and most[cell] == each for each, (cell, n) in homes.items())


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("name", ["blobs", "moons", "imbalanced"])
def test_a_class_is_found_where_a_cluster_has_most_of_it_and_most_in_the_cluster_are_of_it(epsilon, name):
    data = load(name, n=900, seed=1)
    for seed in range(4):
        params = CATALOGUE["dpm"].Params(epsilon=epsilon)
        result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(seed))
        run = run_of(DPMRun, result, params, data, result.guarantee)
        assert run.n_found == found_by_brute_force(run.last.nonprivate_labels, data.labels)
        assert run.n_found <= min(run.k, run.n_classes)
        assert run.losses()[0].value == run.n_found
        every = run.n_found == run.n_classes
        assert every == (not re.search("lost|crowds|remains one", run.finding().curator)) or run.n_classes == 1


def test_a_record_is_called_what_it_is():
    assert load("blobs", n=50).nouns == NEUTRAL
    called = {name: load(name).nouns.record[0] for name in ("iris", "wine", "digits", "image", "diabetes", "carshare")}
    assert called == {
        "iris": "flower",
        "wine": "wine",
        "digits": "image",
        "image": "pixel",
        "diabetes": "person",
        "carshare": "place",
    }
