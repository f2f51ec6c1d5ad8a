"""Releases on disjoint records in a budget: exactly the loss of one record, to the bit."""

import itertools
import math
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

import dpviz
from dpviz.accounting import for_group, under_replace, zcdp_epsilon
from dpviz.accounting.budgets import STATED_DELTA
from dpviz.core import Adjacency, Box, Claim
from dpviz.estimators import BudgetError, DPLloyd, NDLaplace

BOX = Box((0.0, 0.0), (1.0, 1.0))
FRAME = pd.DataFrame(
    {
        "x": np.linspace(0.0, 1.0, 90),
        "y": np.linspace(1.0, 0.0, 90),
        "region": np.repeat(["north", "south", "west"], [40, 30, 20]),
        "year": np.tile([2020, 2021], 45),
    }
)
COLUMNS = {"region": ("north", "south", "west"), "year": (2020, 2021)}
PARTS = [None, *((column, value) for column, values in COLUMNS.items() for value in values)]
SIXTEENTHS = st.integers(1, 64).map(lambda n: n / 16)  # sums of which are exact


def spend(budget, part, **spent):
    if part is None:
        budget.spend("theirs", **spent)
    else:
        with budget.part(None, **{part[0]: part[1]}):
            budget.spend("theirs", **spent)


def records():
    """Yield every kind of record: a value in each column, or none of those that were named."""
    for values in itertools.product(*((*each, "elsewhere") for each in COLUMNS.values())):
        yield dict(zip(COLUMNS, values, strict=True))


@given(st.lists(st.tuples(st.sampled_from(PARTS), SIXTEENTHS), min_size=1, max_size=12))
def test_a_budget_is_what_the_record_loses_that_loses_most(releases):
    with dpviz.budget(epsilon=1e4) as budget:
        for part, epsilon in releases:
            spend(budget, part, epsilon=epsilon)
    seen = [
        sum(epsilon for part, epsilon in releases if part is None or record[part[0]] == part[1]) for record in records()
    ]
    assert budget.epsilon_spent == max(seen)
    everything = sum(epsilon for _, epsilon in releases)
    assert budget.epsilon_spent <= everything


@given(st.lists(st.tuples(st.sampled_from(PARTS), SIXTEENTHS), min_size=1, max_size=12))
def test_delta_and_rho_go_by_parts_as_well(releases):
    def most(numbers):
        by_record = [
            sum(
                number
                for (part, _), number in zip(releases, numbers, strict=True)
                if part is None or record[part[0]] == part[1]
            )
            for record in records()
        ]
        return max(by_record)

    deltas = [2.0**-20 * each for _, each in releases]
    with dpviz.budget(epsilon=1e4, delta=0.9) as budget:
        for (part, epsilon), delta in zip(releases, deltas, strict=True):
            spend(budget, part, epsilon=epsilon, delta=delta)
    assert budget.delta_spent == most(deltas)
    with dpviz.budget(rho=1e6, delta=1e-6) as budget:
        for part, rho in releases:
            spend(budget, part, rho=rho)
    assert budget.rho_spent == most([rho for _, rho in releases])
    assert budget.epsilon_spent == zcdp_epsilon(budget.rho_spent, 1e-6)


# The true loss of a record: each part releases the sum of its records' values, -1, 0 or 1, with noise of the law
# e^(-a |z|) on whole numbers, so that the loss of a sum that moves by 1 is a, and by 2 is 2 a, attained in the tails.


def loss(before, after, rates):
    """Return the largest log-ratio of any outcome between two data sets, each a tuple of every part's sum."""
    return sum(rate * abs(one - other) for one, other, rate in zip(before, after, rates, strict=True))


def neighbors(adjacency, n_parts):
    """Yield the sums of all parts before and after one record comes or goes, or is replaced."""
    places = [(part, value) for part in range(n_parts) for value in (-1, 1)]

    def sums(*present):
        found = [0] * n_parts
        for part, value in present:
            found[part] += value
        return tuple(found)

    if adjacency is Adjacency.ADD_REMOVE:
        yield from ((sums(), sums(place)) for place in places)
    else:
        yield from ((sums(one), sums(other)) for one in places for other in places)


@pytest.mark.parametrize("name", ["add_remove", "replace"])
@pytest.mark.parametrize("rates", [(1.0, 0.25, 0.5), (0.75, 0.75), (0.5,)])
def test_the_budget_is_the_loss_that_is_attained_to_the_bit_and_other_rules_are_not(name, rates):
    adjacency = Adjacency.REPLACE if name == "replace" else Adjacency.ADD_REMOVE
    with dpviz.budget(epsilon=100.0, neighbors=name) as budget:
        for number, rate in enumerate(rates):
            with budget.part(None, number=number):
                budget.spend("a sum", epsilon=rate, neighbors="add_remove")
    worst = max(loss(before, after, rates) for before, after in neighbors(adjacency, len(rates)))
    assert budget.epsilon_spent == worst
    largest = sorted(rates, reverse=True)
    wrong = {"the dearest part, not doubled": largest[0], "the two dearest": sum(largest[:2]), "all": sum(rates)}
    if adjacency is Adjacency.ADD_REMOVE:
        del wrong["the dearest part, not doubled"]
    for rule, said in wrong.items():
        assert said != worst or len(set(rates)) < 2, rule
    if adjacency is Adjacency.REPLACE:
        assert largest[0] < worst, "a record that stays in its part"


@given(
    st.lists(st.tuples(st.floats(0.01, 2.0), st.floats(0.0, 1e-3), st.floats(0.0, 1.0)), min_size=2, max_size=3),
    st.integers(1, 5),
)
def test_rows_of_a_person_in_several_parts_lose_no_more_than_all_rows_in_one(parts, rows):
    claims = [Claim(epsilon, delta, Adjacency.ADD_REMOVE, "said", rho=rho) for epsilon, delta, rho in parts]

    def cost(claim, k):
        """Return the loss of k rows in a part, 0 for rows that lose nothing."""
        group = for_group(claim, k) if k else Claim(0.0, 0.0, Adjacency.ADD_REMOVE, "none", rho=0.0)
        return np.array([group.epsilon, group.delta, group.rho])

    whole = np.max([cost(claim, rows) for claim in claims], axis=0)
    for split in itertools.product(range(rows + 1), repeat=len(claims)):
        if sum(split) <= rows:
            spread = np.sum([cost(claim, k) for claim, k in zip(claims, split, strict=True)], axis=0)
            assert (spread <= whole * (1 + 1e-12)).all()
    # A replaced record leaves one part and enters a second one: twice the loss in one part covers both.
    for one, other in itertools.product(claims, repeat=2):
        both = [
            max(getattr(under_replace(each), name) for each in (one, other)) for name in ("epsilon", "delta", "rho")
        ]
        assert (cost(one, 1) + cost(other, 1) <= np.array(both) * (1 + 1e-12)).all()


def test_runs_on_parts_of_a_frame_cost_what_the_dearest_does():
    with dpviz.budget(epsilon=1.5) as budget:
        for region, epsilon in (("north", 1.0), ("south", 0.25), ("west", 1.0)):
            with budget.part(FRAME, region=region) as rows:
                assert list(rows) == ["x", "y", "year"]
                assert rows.equals(FRAME[FRAME["region"] == region].drop(columns="region"))
                dpviz.run("dplloyd", rows[["x", "y"]], bounds=BOX, epsilon=epsilon)
        assert budget.epsilon_spent == 1.0
        assert budget.remaining == 0.5
        with budget.part(FRAME, region="south") as rows:
            assert budget.remaining == 1.25
            DPLloyd(epsilon=1.25, bounds=BOX).fit(rows[["x", "y"]])
            assert budget.remaining == 0.0
            with pytest.raises(BudgetError, match=r"DPLloyd \(region = south\) would bring the total to epsilon = 1.6"):
                DPLloyd(epsilon=0.1, bounds=BOX).fit(rows[["x", "y"]])
        with pytest.raises(BudgetError, match=r"epsilon = 1\.6"):
            # The budget of all records pays.
            dpviz.run("dplloyd", FRAME[["x", "y"]], bounds=BOX, epsilon=0.1)
        assert repr(budget) == (
            "<Budget: 0 of ε = 1.5 left; DPLloyd (region = north), DPLloyd (region = south), DPLloyd (region = west), "
            "DPLloyd (region = south)>"
        )


POINTS = FRAME[["x", "y"]]
NORTH = FRAME[FRAME["region"] == "north"].drop(columns="region")
TWICE = pd.concat([NORTH[:1], NORTH[:1]])


def run(records):
    dpviz.run("dplloyd", records, bounds=BOX, epsilon=0.5)


def fit(records):
    DPLloyd(epsilon=0.5, bounds=BOX).fit(records)


def fit_alone(records):
    method = dpviz.methods.find("dplloyd")
    method.fit(np.asarray(records), BOX, method.Params(epsilon=0.5), rng=np.random.default_rng(0))


@pytest.mark.parametrize("release", [run, fit, fit_alone])
@pytest.mark.parametrize(
    "records",
    [
        POINTS,
        POINTS[-20:],
        POINTS[-20:].to_numpy(),
        POINTS[:40] * 0.5,
        POINTS[:40].to_numpy()[:, ::-1],
        TWICE[["x", "y"]],
    ],
    ids=["all", "of the west", "of the west, unnamed", "scaled", "mixed up", "one twice"],
)
def test_a_part_refuses_rows_that_are_not_its_own(release, records):
    with dpviz.budget(epsilon=1.0) as budget, budget.part(FRAME.drop(columns="year"), region="north") as rows:
        with pytest.raises(BudgetError, match=r"records that are not in the part region = north"):
            release(records)
        assert budget.epsilon_spent == 0
        for own in (rows, rows[::-3], rows.to_numpy()):
            release(own)
            budget.releases = ()


def test_a_part_takes_named_columns_and_folds_of_its_rows(tmp_path):
    with dpviz.budget(epsilon=1.0) as budget, budget.part(FRAME, region="north") as rows:
        search = GridSearchCV(DPLloyd(epsilon=0.125, bounds=BOX), {"n_clusters": [2, 3]}, cv=2)
        search.fit(rows[["y", "x"]])
        assert budget.epsilon_spent == 5 * 0.125
        assert {each.part for each in budget.releases} == {("region", "north")}
    files = [tmp_path / f"{name}.csv" for name in ("own", "other")]
    for file in files:
        POINTS.to_csv(file, index=False)
    with dpviz.budget(epsilon=1.0) as budget, budget.part(str(files[0]), region="north") as rows:
        run(files[0])
        for other in (files[1], POINTS):
            with pytest.raises(BudgetError, match="not in the part"):
                run(other)
    with (
        dpviz.budget(epsilon=1.0) as empty,
        empty.part(None, region="north"),
        pytest.raises(BudgetError, match="not in the part"),
    ):
        run(POINTS)


def test_records_that_are_split_already_are_given_back():
    with dpviz.budget(epsilon=1.0) as budget:
        for number, half in enumerate(np.split(FRAME[["x", "y"]].to_numpy(), 2)):
            with budget.part(half, half=number) as rows:
                assert rows is half
                DPLloyd(epsilon=1.0, bounds=BOX).fit(rows)
        assert budget.epsilon_spent == 1.0


def test_a_replaced_record_may_leave_its_part_so_that_its_own_guarantee_is_too_little():
    points = FRAME[["x", "y"]].to_numpy()
    with dpviz.budget(epsilon=20.0, neighbors="replace") as budget:
        with budget.part(points, region="north"):
            for own in (DPLloyd(epsilon=1.0, bounds=BOX, adjacency="replace"), NDLaplace(epsilon=1.0, bounds=BOX)):
                with pytest.raises(BudgetError, match="may also move to a different part"):
                    own.fit(points)
            DPLloyd(epsilon=1.0, bounds=BOX).fit(points)
        assert budget.epsilon_spent == 2.0
        DPLloyd(epsilon=1.0, bounds=BOX, adjacency="replace").fit(points)
        assert budget.epsilon_spent == 3.0


def test_another_thread_and_another_budget_know_of_no_part():
    points = FRAME[["x", "y"]].to_numpy()
    with dpviz.budget(epsilon=5.0) as outer, dpviz.budget(epsilon=3.0) as inner:
        for region in ("north", "south"):
            with inner.part(points, region=region):
                DPLloyd(epsilon=1.0, bounds=BOX).fit(points)
        assert (inner.epsilon_spent, outer.epsilon_spent) == (1.0, 2.0)
        with inner.part(points, region="north"):
            thread = threading.Thread(target=lambda: DPLloyd(epsilon=1.0, bounds=BOX).fit(points))
            thread.start()
            thread.join()
        assert (inner.epsilon_spent, outer.epsilon_spent) == (2.0, 3.0)
        assert [each.part for each in inner.releases] == [("region", "north"), ("region", "south"), None]


def test_a_part_ends_with_its_block_however_that_ends():
    with dpviz.budget(epsilon=3.0) as budget:
        with pytest.raises(ZeroDivisionError), budget.part(None, region="north"):
            raise ZeroDivisionError
        budget.spend("theirs", epsilon=1.0)
        assert budget.releases[0].part is None


@pytest.mark.parametrize("value", [2020, np.int64(2020)])
def test_values_are_compared_as_python_s_own(value):
    frame = pd.DataFrame({"x": [0.1, 0.2, 0.3], "when": [2020, None, 2021]})
    dated = frame.assign(when=pd.to_datetime(["2020-01-01", "2020-01-01", None]))
    with dpviz.budget(epsilon=3.0) as budget:
        with budget.part(frame, when=value) as rows:
            assert rows["x"].tolist() == [0.1]
            budget.spend("theirs", epsilon=1.0)
        with budget.part(frame.assign(when=[2020, pd.NA, "2020"]), when=2020) as rows:
            assert rows["x"].tolist() == [0.1]
            budget.spend("theirs", epsilon=1.0)
        for text in ("2020-01-01", "2020-1-1"):  # pandas would find both dates by both texts
            assert (dated["when"] == text).sum() == 2
            with budget.part(dated, when=text) as rows:
                assert len(rows) == 0
        with budget.part(frame[:0], when=2020) as rows:
            assert (len(rows), list(rows)) == (0, ["x"])
        assert budget.epsilon_spent == 2.0, "one part, whatever kind of whole number names it"


@pytest.mark.parametrize(
    ("records", "value", "said"),
    [
        (FRAME, {}, "one column, got 0"),
        (FRAME, {"region": "north", "year": 2020}, "one column, got 2"),
        (FRAME, {"country": "x"}, "no column 'country'; there are x, y, region, year"),
        (FRAME, {"x": 0.5}, "must be text or a whole number.*got 0.5 for x"),
        (FRAME, {"region": None}, "got None for region"),
        (FRAME, {"region": pd.Timestamp(0)}, "must be text or a whole number"),
    ],
)
def test_a_part_that_cannot_be_is_explained(records, value, said):
    with dpviz.budget(epsilon=1.0) as budget, pytest.raises(ValueError, match=said), budget.part(records, **value):
        pass


def test_a_part_needs_an_open_budget_has_no_parts_and_splits_no_frame_of_others():
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="not open"), dpviz.budget(epsilon=1.0).part(FRAME, region="north"):
        pass
    with dpviz.budget(epsilon=1.0) as budget:
        with budget.part(FRAME, region="north") as rows, pytest.raises(ValueError, match="region = north is open"):
            budget.part(rows, year=2020).__enter__()
        with pytest.raises(ValueError, match=r"Only a pandas data frame .* a DataFrame with this column"):
            budget.part(polars.DataFrame({"x": [0.5], "region": ["north"]}), region="north").__enter__()


def test_a_release_from_elsewhere_is_counted_as_what_is_stated_of_it():
    with dpviz.budget(epsilon=3.0, delta=1e-5) as outer:
        with dpviz.budget(epsilon=1.0) as budget:
            budget.spend("Histogram of ages", epsilon=0.5)
            with pytest.raises(BudgetError, match="Histogram of ages would bring the total to delta"):
                budget.spend("Histogram of ages", epsilon=0.1, delta=1e-6)
            with pytest.raises(BudgetError, match=r"epsilon = 1\.1, but the budget is 1"):
                budget.spend("Histogram of ages", epsilon=0.6)
            with pytest.raises(BudgetError, match="about replacing a record"):
                budget.spend("Survey", epsilon=0.1, neighbors="replace")
        outer.spend("Mean", rho=0.01, delta=1e-6)
        assert outer.epsilon_spent == math.fsum([0.5, zcdp_epsilon(0.01, 1e-6)])
        assert outer.delta_spent == 1e-6
    with dpviz.budget(rho=1.0) as budget:
        budget.spend("Mean", rho=0.5)
        budget.spend("Counts", epsilon=0.5)
        assert budget.rho_spent == 0.625
        assert budget.releases[0].claim.delta == STATED_DELTA
        with pytest.raises(BudgetError, match="no rho"):
            budget.spend("Theirs", epsilon=0.1, delta=1e-6)
    with dpviz.budget(epsilon=3.0, neighbors="replace") as budget:
        budget.spend("Survey", epsilon=1.0)
        budget.spend("Survey", epsilon=1.0, neighbors="add_remove")
        assert budget.epsilon_spent == 3.0


@pytest.mark.parametrize(
    ("spent", "said"),
    [
        ({}, "Exactly one"),
        ({"epsilon": 1.0, "rho": 1.0}, "Exactly one"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.inf}, "has no privacy"),
        ({"epsilon": 1.0, "delta": 2.0}, "delta"),
        ({"rho": -1.0}, "rho"),
        ({"epsilon": 1.0, "neighbors": "both"}, "add_remove, replace"),
    ],
)
def test_numbers_that_are_none_are_not_spent(spent, said):
    with dpviz.budget(epsilon=9.0, delta=0.5) as budget, pytest.raises(ValueError, match=said):
        budget.spend("theirs", **spent)
    assert budget.releases == ()
    with pytest.raises(ValueError, match="not open"):
        budget.spend("theirs", epsilon=1.0)
