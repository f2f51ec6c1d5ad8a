"""A budget adds up releases from public values, and refuses before anything is run."""

import builtins
import math
import multiprocessing
import os
import shlex
import subprocess
import sys
import threading
import types
from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import dpviz
from dpviz import baselines
from dpviz.accounting import LaplaceEvent, for_group, zcdp_epsilon
from dpviz.accounting.budgets import NEIGHBORS, charge
from dpviz.baselines import k_curve
from dpviz.baselines._base import LEAST_RECORDS
from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.estimators import ESTIMATORS, BudgetError, PrivacyLeakWarning
from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.tools.release import ReleaseEntry
from tests.estimators.test_estimators import BOX, DATA, X, of


def seen(name):
    """Record the numbers of records that a method is run on."""
    numbers, made = [], ESTIMATORS[name]

    def fit(points, *rest, **named):
        numbers.append(len(points))
        return algorithm.fit(points, *rest, **named)

    algorithm = made.algorithm
    return type(made.__name__, (made,), {"algorithm": replace(algorithm, fit=fit)}), numbers


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_price_is_what_a_run_on_any_records_costs(name):
    made = of(name)
    guarantee, _ = made._price(BOX, made._params(BOX))
    for records in (X, X[:1]):
        proved = of(name).fit(records).guarantee_.proved
        assert (proved is None) == (guarantee.proved is None)
        if proved is not None and guarantee.proved is not None:
            kept = ("epsilon", "delta", "adjacency", "per_distance", "rho")
            assert [getattr(proved, each) for each in kept] == [getattr(guarantee.proved, each) for each in kept]


def count_strengths(event):
    """Return the loss of each step of a `DpEvent`: one over its noise multiplier, or its epsilon, in order."""
    return sorted(
        each
        for part in event.events
        for inner in [getattr(part, "event", part)]
        for each in getattr(part, "count", 1) * [getattr(inner, "noise_parameter", 0) or 1 / inner.noise_multiplier]
    )


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "lloyd"])
@pytest.mark.parametrize("rows", [1, 3])
def test_rows_of_a_person_cost_their_guarantee_everywhere(name, rows):
    """A run, an estimator, a budget, `spend`, the ledger and a second accountant agree on the price of all rows."""
    needed = {"targets": X[:30]} if name == "source_target" else {}
    asked = {"epsilon": 1.0, "seed": 3, **needed}
    row = dpviz.run(name, DATA, **asked)
    person = dpviz.run(name, DATA, rows_per_person=rows, **asked)
    claim = for_group(row.guarantee.proved, rows)
    assert claim.epsilon == rows * row.guarantee.proved.epsilon
    assert (person.guarantee.proved, person.guarantee.rows) == (claim, rows)
    with dpviz.budget(epsilon=1e3, delta=0.9, neighbors="replace") as b:
        dpviz.run(name, DATA, **asked)
        dpviz.run(name, DATA, rows_per_person=rows, **asked)
        of(name, rows_per_person=rows).fit(X)
        whole = {"title": "ledger", "day": "2026-01-01", "what": "centers", "method": name, "origin": "release"}
        entry = ReleaseEntry.from_guarantee(person.guarantee, person.events, **whole).proved
        names = {each: key for key, each in NEIGHBORS.items()}
        b.spend("theirs", entry.epsilon, entry.delta, neighbors=names[entry.adjacency])
    one, *others = (each.claim for each in b.releases)
    for each in others:
        assert each.epsilon == pytest.approx(rows * one.epsilon, rel=1e-12)
        assert each.delta == pytest.approx(others[0].delta, rel=1e-9)
    assert (others[0].delta > one.delta) == (rows > 1 and one.delta > 0)
    losses, each_row = count_strengths(person.dp_events()), count_strengths(row.dp_events())
    assert losses == pytest.approx([rows * each for each in each_row], rel=1e-9)
    assert losses


def test_a_delta_that_follows_noisy_n_is_priced_as_the_largest_even_where_noise_is_wide():
    made = of("dpm", epsilon=1e-4)
    prices = made._price(BOX, made._params(BOX))[0].proved
    assert prices.delta == pytest.approx(LEAST_RECORDS**-1.5, rel=1e-12)


def test_pure_releases_add_up_to_the_last_bit_and_what_is_too_much_is_never_run():
    spy, numbers = seen("dplloyd")
    with dpviz.budget(epsilon=1.0) as b:
        for _ in range(10):
            spy(epsilon=0.1, bounds=BOX).fit(X)
        assert b.epsilon_spent == math.fsum([0.1] * 10)
        numbers.clear()
        with pytest.raises(BudgetError, match=r"epsilon = 1\.01, but the budget is 1"):
            spy(epsilon=0.01, bounds=BOX).fit(X)
        # The budget asked the estimator for its price and did not run it.
        assert numbers == [0]
        assert len(b.releases) == 10
    # The budget is closed, so nothing counts this fit.
    spy(epsilon=5.0, bounds=BOX).fit(X)
    assert b.epsilon_spent == math.fsum([0.1] * 10)


def test_deltas_add_up_and_need_room():
    with dpviz.budget(epsilon=10.0) as b, pytest.raises(BudgetError, match="delta = "):
        of("morse", delta=1e-5).fit(X)
    assert b.releases == ()
    with dpviz.budget(epsilon=10.0, delta=2.5e-5) as b:
        for _ in range(2):
            of("morse", delta=1e-5).fit(X)
        assert b.delta_spent == 2e-5
        with pytest.raises(BudgetError, match=r"delta = 3e-05, but the budget is 2\.5e-05"):
            of("morse", delta=1e-5).fit(X)


def test_what_is_not_proved_is_not_added():
    with dpviz.budget(epsilon=100.0):
        for unproved in (of("convergent_kmeans", mode="published"), of("lloyd")):
            with pytest.raises(BudgetError, match="no proved guarantee"):
                unproved.fit(X)
        with pytest.warns(match="not private"), pytest.raises(BudgetError, match="public bounds"):
            of("dplloyd", bounds="data").fit(X)


def test_neighbors_are_not_mixed_up():
    with dpviz.budget(epsilon=100.0), pytest.raises(BudgetError, match="neighbors='replace'"):
        of("dplloyd", adjacency="replace").fit(X)
    with dpviz.budget(epsilon=4.0, neighbors="replace") as b:
        of("dplloyd", adjacency="replace", epsilon=1.0).fit(X)
        # One record out and one in: double.
        of("dplloyd", epsilon=1.0).fit(X)
        assert b.epsilon_spent == 3.0
        assert {each.claim.adjacency for each in b.releases} == {Adjacency.REPLACE}
        with pytest.raises(BudgetError, match="epsilon = 5"):
            of("dplloyd", epsilon=1.0).fit(X)


def test_moved_records_cost_their_way_across_the_box_with_every_call():
    with dpviz.budget(epsilon=100.0), pytest.raises(BudgetError, match="about replacing a record"):
        of("nd_laplace").fit(X)
    with dpviz.budget(epsilon=3.0 * BOX.diagonal, neighbors="replace") as b:
        moved = of("nd_laplace", epsilon=1.0).fit(X)
        moved.transform(X)
        moved.fit_transform(X)
        assert b.epsilon_spent == pytest.approx(3.0 * BOX.diagonal, rel=1e-12)
        with pytest.raises(BudgetError, match="epsilon = "):
            moved.transform(X)


def test_rho_adds_up_and_pure_epsilon_counts_as_its_rho():
    with dpviz.budget(rho=0.6, delta=1e-6) as b:
        made = of("morse", epsilon=1.0, delta=1e-5).fit(X)
        of("dplloyd", epsilon=1.0).fit(X)
        assert b.rho_spent == math.fsum([made.guarantee_.proved.rho, 0.5])
        assert b.epsilon_spent == zcdp_epsilon(b.rho_spent, 1e-6)
        with pytest.raises(BudgetError, match="no rho"):
            of("dpm").fit(X)
        with pytest.raises(BudgetError, match="rho = "):
            of("dplloyd", epsilon=1.0).fit(X)


def test_a_budget_within_another_is_part_of_it_and_threads_are_counted():
    with dpviz.budget(epsilon=2.5) as outer:
        with dpviz.budget(epsilon=1.0) as inner:
            of("dplloyd").fit(X)
            with pytest.raises(BudgetError):
                of("dplloyd").fit(X)
        thread = threading.Thread(target=lambda: of("dplloyd").fit(X))
        thread.start()
        thread.join()
        assert (inner.epsilon_spent, outer.epsilon_spent) == (1.0, 2.0)
        with dpviz.budget(epsilon=50.0) as larger, pytest.raises(BudgetError):
            # The outer budget is full, so neither budget counts this fit.
            of("dplloyd").fit(X)
        assert (larger.epsilon_spent, outer.epsilon_spent) == (0.0, 2.0)


def test_noise_that_spends_more_than_it_says_is_refused():
    claim = Claim(1.0, 0.0, Adjacency.ADD_REMOVE, "said")
    with dpviz.budget(epsilon=5.0) as b:
        charge("Honest", lambda: (Guarantee(claim, claim), (LaplaceEvent("counts", 1.0, 1.0),)))
        with pytest.raises(BudgetError, match="spends more than its guarantee states"):
            charge("Wrong", lambda: (Guarantee(claim, claim), (LaplaceEvent("counts", 1.0, 0.9),)))
        assert b.epsilon_spent == 1.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Exactly one"),
        ({"epsilon": 1.0, "rho": 1.0}, "Exactly one"),
        ({"epsilon": 0.0}, "finite and above 0"),
        ({"rho": math.inf}, "finite and above 0"),
        ({"epsilon": 1.0, "delta": 1.0}, r"in \[0, 1\)"),
        ({"epsilon": 1.0, "neighbors": "both"}, "add_remove, replace"),
    ],
)
def test_a_budget_that_cannot_be_is_explained(given, said):
    with pytest.raises(ValueError, match=said):
        dpviz.budget(**given)


@pytest.mark.parametrize("name", [name for name, made in ESTIMATORS.items() if "start" in made.algorithm.parameters])
def test_a_start_from_records_is_refused_for_what_it_is_not_for_records_that_were_never_looked_at(name):
    with dpviz.budget(epsilon=9.0, delta=0.1) as b, pytest.raises(BudgetError, match=r"has no proved guarantee"):
        of(name, start="records").fit(X)
    assert not b.releases
    with pytest.raises(ValueError, match="n_records=3 to start from records"):
        of(name, start="records", n_clusters=5).fit(X[:3])


@pytest.mark.parametrize(("beyond", "fits"), [(0.0, True), (1e-13, True), (1e-11, False), (9e-7, False)])
def test_a_hair_more_than_the_budget_is_refused(beyond, fits):
    made = of("dplloyd", epsilon=1.0 + beyond)
    with dpviz.budget(epsilon=1.0) as b:
        if fits:
            made.fit(X)
        else:
            with pytest.raises(BudgetError, match=r"epsilon = 1\.0000") as error:
                made.fit(X)
            assert "= 1, but" not in str(error.value)
        assert len(b.releases) == fits


def test_advice_is_about_what_is_exceeded():
    with (
        dpviz.budget(epsilon=10.0),
        pytest.raises(BudgetError, match=r"Lower its delta, or open a budget with more delta"),
    ):
        of("morse", delta=1e-5).fit(X)
    with dpviz.budget(epsilon=0.5), pytest.raises(BudgetError, match=r"Lower its epsilon, or .* with more epsilon"):
        of("dplloyd").fit(X)
    with dpviz.budget(rho=0.1, delta=1e-6), pytest.raises(BudgetError, match=r"Lower its epsilon, or .* with more rho"):
        of("dplloyd").fit(X)


def run_of(name, **choices):
    made = ALGORITHMS[name]
    return made.fit(X, BOX, made.Params(**choices), rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    "name", ["dpm", "morse", "convergent_kmeans", "dplloyd", "fastlloyd", "eugkm", "privgene", "gupt"]
)
def test_a_method_s_own_fit_counts_once(name):
    with dpviz.budget(epsilon=2.0, delta=1e-3) as b:
        run_of(name, epsilon=1.0)
        assert b.epsilon_spent == pytest.approx(1.0, rel=1e-12)
        of(name, epsilon=0.5).fit(X)
        assert b.epsilon_spent == pytest.approx(1.5, rel=1e-12)
        with pytest.raises(BudgetError):
            run_of(name, epsilon=0.75)
        assert len(b.releases) == 2


def test_functions_of_the_package_that_release_count_too():
    with dpviz.budget(epsilon=1.5) as b:
        baselines.dplloyd.fit(X, BOX, baselines.dplloyd.Params(epsilon=0.5), rng=np.random.default_rng(0))
        k_curve.private_curve(X, BOX, 1.0, "add_remove", rng=np.random.default_rng(0))
        assert b.epsilon_spent == pytest.approx(1.5, rel=1e-12)
        with pytest.raises(BudgetError):
            CATALOGUE["dpm"].fit(X, BOX, CATALOGUE["dpm"].Params(), rng=np.random.default_rng(0))
        with pytest.raises(BudgetError, match="no proved guarantee"):
            run_of("lloyd")


def test_a_search_within_a_budget_is_counted_and_its_choice_is_warned_of():
    search = GridSearchCV(of("dplloyd", epsilon=0.25), {"n_clusters": [2, 3]}, cv=2)
    with dpviz.budget(epsilon=2.0) as b:
        with pytest.warns(PrivacyLeakWarning, match="the budget counts each fit, but no guarantee covers the choice"):
            search.fit(X)
        cross_val_score(clone(search.best_estimator_), X, cv=2)
        # Four fits in the search, its last fit on all records, and two more.
        assert b.epsilon_spent == 7 * 0.25
    with pytest.warns(PrivacyLeakWarning, match="search over parameters"):
        search.fit(X)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in ("lloyd", "nd_laplace")])
def test_a_part_of_a_budget_with_nobody_in_it_is_released_as_one_with_one_person_is(name):
    for records in (X[:0], X[:1]):
        with dpviz.budget(epsilon=2.0, delta=1e-3) as b:
            made = of(name).fit(records)
            assert b.epsilon_spent > 0
        assert len(made.labels_) == len(records)
    # scikit-learn requires this error elsewhere.
    with pytest.raises(ValueError, match="0 sample"):
        of(name).fit(X[:0])


def test_no_budget_allows_a_run_without_privacy():
    with dpviz.budget(epsilon=2.0) as b:
        with pytest.raises(BudgetError, match="at ε = ∞ has no privacy, so no budget allows it"):
            of("dplloyd", epsilon=math.inf).fit(X)
        assert b.epsilon_spent == 0


def test_threads_are_counted_wherever_joblib_runs_them():
    with joblib.parallel_config(backend="threading"), dpviz.budget(epsilon=3.0) as b:
        GridSearchCV(of("dplloyd", epsilon=0.25), {"n_clusters": [2, 3, 4]}, cv=3, n_jobs=2).fit(X)
        assert b.epsilon_spent == 10 * 0.25


def refused(name):
    """Run a method in another process and return its result in words."""
    try:
        run_of(name)
    except BudgetError as error:
        return str(error)
    return "released"


def open_elsewhere():
    from dpviz.accounting import budgets

    return budgets.is_open_elsewhere()


@pytest.mark.parametrize("backend", [pytest.param("loky", marks=pytest.mark.slow), "multiprocessing"])
def test_releases_in_other_processes_are_refused_while_a_budget_is_open(backend):
    search = GridSearchCV(of("dplloyd", epsilon=0.3), {"n_clusters": [2, 3]}, cv=2, n_jobs=2, error_score="raise")
    with joblib.parallel_config(backend=backend), dpviz.budget(epsilon=100.0) as b:
        with pytest.raises(BudgetError, match=r"process that started this one.*n_jobs=1"):
            search.fit(X)
        assert b.releases == ()
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(refused)(name) for name in ("dplloyd", "gupt"))
        assert all("was not run" in each for each in found)
    # The same workers, without an open budget.
    with joblib.parallel_config(backend=backend):
        assert (
            joblib.Parallel(n_jobs=2)(joblib.delayed(refused)(name) for name in ("dplloyd", "gupt")) == ["released"] * 2
        )


def test_a_worker_of_loky_sees_a_budget_that_was_opened_after_it_started():
    # The function is sent by value, so it has no imports.
    ask = types.FunctionType(open_elsewhere.__code__, {"__builtins__": builtins}, "ask")
    with joblib.parallel_config(backend="loky"):
        before = joblib.Parallel(n_jobs=2)(joblib.delayed(ask)() for _ in range(2))
        with dpviz.budget(epsilon=1.0):
            during = joblib.Parallel(n_jobs=2)(joblib.delayed(ask)() for _ in range(2))
    assert (before, during) == ([False] * 2, [True] * 2)


def test_a_copied_process_is_another_one_and_may_have_a_budget_of_its_own():
    fork = multiprocessing.get_context("fork")
    with dpviz.budget(epsilon=100.0), fork.Pool(1) as pool:
        assert "was not run" in pool.apply(refused, ("dplloyd",))
    with fork.Pool(1) as pool:
        assert pool.apply(refused, ("dplloyd",)) == "released"


ASKED = "from dpviz.accounting import budgets; print(budgets.is_open_elsewhere())"
PYTHON = f"{shlex.quote(sys.executable)} -c {shlex.quote(ASKED)}"
NESTED = "import subprocess, sys; subprocess.run(sys.argv[1:], check=True)"
WAYS = {
    "a child": f"exec {PYTHON}",
    "a shell": f"{PYTHON}; true",
    "two shells": f"sh -c {shlex.quote(PYTHON + '; true')}; true",
    "a grandchild": f"{shlex.quote(sys.executable)} -c {shlex.quote(NESTED)} {PYTHON}; true",
    "a shell without our environment": f"env -i {PYTHON}; true",
    "a process that outlives its parent": f"(setsid sh -c {shlex.quote('sleep 0.2; ' + PYTHON)} &)",
    "another folder for temporary files": f"TMPDIR=/ {PYTHON}; true",
}


@pytest.mark.parametrize("command", WAYS.values(), ids=WAYS)
def test_releases_below_other_processes_and_shells_are_refused(command):
    with dpviz.budget(epsilon=1.0):
        with dpviz.budget(epsilon=1.0):
            pass
        seen = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    after = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout
    assert (seen, after) == ("True\n", "False\n")


def ask_below(_=None):
    """Ask a process that is started here for an open budget and return its answer."""
    return subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_grandchild_sees_a_budget_that_opened_after_its_parent_started(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        before = pool.apply(ask_below)
        with dpviz.budget(epsilon=1.0):
            during = pool.apply(ask_below)
        assert (before, during, pool.apply(ask_below)) == ("False\n", "True\n", "False\n")


def test_a_budget_of_a_child_hides_none_above_it():
    nested = (
        "import dpviz, subprocess, sys\n"
        "with dpviz.budget(epsilon=1.0): pass\n"
        f"print(subprocess.run([sys.executable, '-c', {ASKED!r}], capture_output=True, text=True).stdout.strip())"
    )
    with dpviz.budget(epsilon=1.0):
        done = subprocess.run([sys.executable, "-c", nested], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_method_from_outside_counts_once(tmp_path):
    """A method whose fit ignores the budget also counts, because the catalog's record charges it."""
    (tmp_path / "mine.py").write_text(OWN, "utf-8")
    asked = (
        "import dpviz, numpy as np; from dpviz.methods import CATALOGUE; from dpviz.core import Box\n"
        "made, box, X = CATALOGUE['mine'], Box.cube(0, 1, 2), np.zeros((5, 2))\n"
        "with dpviz.budget(epsilon=1.0) as b:\n"
        "    made.fit(X, box, made.Params(epsilon=0.7), rng=np.random.default_rng(0)); print(b.epsilon_spent)\n"
        "    try: made.fit(X, box, made.Params(epsilon=0.7), rng=np.random.default_rng(0))\n"
        "    except dpviz.accounting.budgets.BudgetError: print('refused')\n"
    )
    here = {**os.environ, "DPVIZ_METHODS": str(tmp_path / "mine.py")}
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=here)
    assert done.stdout.split() == ["0.7", "refused"]


OWN = """
import numpy as np
from dpviz.accounting import LaplaceEvent
from dpviz.core import Adjacency, CentersRelease, Claim, Guarantee, Result


def fit(points, box, params, rng):
    claim = Claim(params.epsilon, 0.0, Adjacency.ADD_REMOVE, "one noisy count")
    events = (LaplaceEvent("count", 1.0, 1.0 / params.epsilon),)
    count = len(points) + rng.laplace() / params.epsilon
    return Result(CentersRelease(np.full((1, box.d), count)), (), events, Guarantee(claim, claim))
"""
