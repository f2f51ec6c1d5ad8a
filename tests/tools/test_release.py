"""The ledger of a file, by equality; a release in real units, to the bit; and its files, without exact values."""

import csv
import dataclasses
import hashlib
import io
import json
import math
import time
from dataclasses import replace

import dp_accounting
import numpy as np
import openpyxl
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import example, given
from hypothesis import strategies as some

from dpviz.accounting import PureEvent, epsilon_of, for_group, zcdp_epsilon
from dpviz.accounting.budgets import for_person
from dpviz.core import Adjacency, Box, Claim, Guarantee, attacker_odds
from dpviz.data import Choices, Dataset, read_table
from dpviz.methods import CATALOGUE
from dpviz.methods.dpm import algorithm as dpm
from dpviz.methods.nd_laplace import algorithm as nd_laplace
from dpviz.plots.table import FORMULA_STARTS
from dpviz.tools import release
from dpviz.tools.release import (
    ReleaseEntry,
    ReleaseLedger,
    ReleaseLedgerError,
    read_release_ledger,
    real_columns,
    real_units,
    release_files,
    table_of,
    workbook,
    write_release_ledger,
)

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
POINTS = np.random.default_rng(3).random((300, 2))
BOX = Box.cube(0, 1, 2)
PARAMS = dpm.Params(epsilon=1.0)
NOTHING = ReleaseLedger()


def entry(epsilon=1.0, delta=0.0, adjacency=ADD, *, proved=True, rho=None, number=0, **fields):
    claim = Claim(epsilon, delta, adjacency, "a proof", rho=rho) if proved else None
    usual = {"what": "5 centers", "method": "dpm", "title": "DPM", "day": "2026-01-31", "origin": "release"}
    spent = {"epsilon": epsilon, "delta": delta, "neighbors": adjacency, "proved": claim}
    return ReleaseEntry(**usual | fields | spent, id=f"{number:016x}")


def ledger(*entries):
    return ReleaseLedger(tuple(dataclasses.replace(each, id=f"{i:016x}") for i, each in enumerate(entries)))


budgets = some.floats(0.01, 5.0)


@given(some.lists(some.tuples(budgets, some.sampled_from([0.0, 1e-6])), max_size=8))
def test_the_basic_total_is_the_sum(pairs):
    total = ledger(*(entry(*pair) for pair in pairs)).total_basic()
    assert total.epsilon == math.fsum(epsilon for epsilon, _ in pairs)
    assert total.delta == math.fsum(delta for _, delta in pairs)
    assert total.uncounted == ()


@given(some.lists(budgets, min_size=2, max_size=30))
def test_the_best_total_is_never_more_and_is_that_of_the_accountant(epsilons):
    best = ledger(*map(entry, epsilons)).total_best()
    sharp = epsilon_of([PureEvent("", each) for each in epsilons], release.EXTRA_DELTA, ADD)
    rho = math.fsum(each**2 / 2 for each in epsilons)
    assert best.epsilon == min(math.fsum(epsilons), sharp, zcdp_epsilon(rho, release.EXTRA_DELTA))
    assert best.delta == (release.EXTRA_DELTA if best.epsilon < math.fsum(epsilons) else 0.0)


def test_zcdp_adds_up_by_rho():
    delta = 1e-6
    one = entry(zcdp_epsilon(0.1, delta), delta, rho=0.1)
    assert ledger(one, one, one).total_best().epsilon == zcdp_epsilon(math.fsum([0.1] * 3), release.EXTRA_DELTA)


@pytest.mark.parametrize(("epsilon", "n", "rho"), [(0.5, 8, 0.05), (1.0, 6, 0.3)])
def test_pure_and_zcdp_claims_together_agree_with_dp_accounting(epsilon, n, rho):
    """A pure claim is ε²/2 of zCDP: Bun & Steinke's bound is above the best one by RDP, by less than a tenth here."""
    best = ledger(*[entry(epsilon)] * n, *[entry(zcdp_epsilon(rho, 1e-6), 1e-6, rho=rho)] * n).total_best()
    every = [dp_accounting.ZCDpEvent(each) for each in (epsilon**2 / 2, rho)] * n
    by_rdp = RdpAccountant().compose(dp_accounting.ComposedDpEvent(every)).get_epsilon(release.EXTRA_DELTA)
    assert by_rdp <= best.epsilon <= 1.1 * by_rdp
    assert best.delta == release.EXTRA_DELTA


def test_a_thousand_releases_add_up_in_a_second():
    many = ledger(*(entry(0.01 + i * 1e-5, 1e-9 * (i % 2)) for i in range(1000)))
    begin = time.process_time()
    assert many.total_best().epsilon <= many.total_basic().epsilon
    assert time.process_time() - begin < 1.0


@given(some.lists(some.tuples(budgets, some.booleans()), max_size=8), budgets, some.sampled_from([1e-9, 1e-6, 1e-3]))
@example(
    [(2.0, True), (1.4234961572797236, False), (1.6578615002408394, False), (1.01, False), (0.01, False)], 0.01, 1e-9
)
def test_a_release_with_a_delta_that_does_not_compose_adds_all_it_has(many, epsilon, delta):
    others = [entry(zcdp_epsilon(x, 1e-6), 1e-6, rho=x) if zcdp else entry(x) for x, zcdp in many]
    without, total = (ledger(*others, *more).total_best() for more in ([], [entry(epsilon, delta)]))
    assert total.epsilon == pytest.approx(without.epsilon + epsilon, rel=1e-12)
    assert total.delta >= (without.delta + delta) * (1.0 - 1e-12)


def test_totals_of_replaced_unproved_and_no_releases():
    both = ledger(entry(1.0), entry(0.5, adjacency=REPLACE))
    assert both.total_basic(REPLACE).epsilon == 2 * 1.0 + 0.5
    assert both.total_basic(ADD).epsilon == 1.0
    assert both.total_basic(ADD).uncounted == both.entries[1:]
    assert both.odds(REPLACE) == attacker_odds(2.5)
    assert both.odds(ADD) is None, "a limit of a part is no limit"
    assert ledger(entry(1.0)).odds(ADD) == attacker_odds(1.0)
    total = ledger(entry(1.0), entry(0.1, proved=False)).total_basic()
    assert (total.epsilon, len(total.uncounted)) == (1.0, 1)
    assert ReleaseLedger().total_basic().epsilon == ReleaseLedger().total_best().epsilon == 0.0
    assert ReleaseLedger().odds() == 50.0


def entry_of(guarantee, events):
    fields = {"what": "", "method": "", "title": "", "day": "2026-01-31", "origin": "release"}
    return ReleaseEntry.from_guarantee(guarantee, events, **fields)


def test_an_entry_counts_what_is_proved_of_its_run():
    def entry_and_guarantee(algorithm, params):
        result = algorithm.fit(POINTS, BOX, params, rng=np.random.default_rng(0))
        return entry_of(result.guarantee, result.events), result.guarantee

    made, guarantee = entry_and_guarantee(dpm, dpm.Params(epsilon=0.7, calibration="repaired"))
    claim = guarantee.proved
    assert made.proved == Claim(claim.epsilon, claim.delta, claim.adjacency, claim.reference, rho=claim.rho)
    assert made.epsilon == guarantee.stated.epsilon
    assert entry_and_guarantee(dpm, dpm.Params(epsilon=0.7, calibration="published"))[0].proved is None
    # An epsilon per distance counts for the whole box.
    made, _ = entry_and_guarantee(nd_laplace, nd_laplace.Params(epsilon=0.7, domain="clamp"))
    assert made.per_distance
    assert made.proved.adjacency is REPLACE
    assert made.proved.epsilon == pytest.approx(0.7 * math.sqrt(2.0), rel=1e-12)
    # Events that cost more than the claim prove nothing.
    claim = Claim(0.5, 0.0, ADD, "a proof")
    assert entry_of(Guarantee(claim, claim), (PureEvent("", 1.0),)).proved is None


FULL = ledger(
    replace(entry(1.0, 1e-6, rho=0.2), rows=3),
    entry(0.25, 1e-7, rho=0.01).for_person(3),
    entry(math.inf, proved=False).for_person(2),
    entry(math.inf, proved=False),
    entry(0.5, adjacency=REPLACE, fingerprint="a" * 64),
)


def test_a_ledger_comes_back_from_a_file():
    assert read_release_ledger(json.loads(json.dumps(write_release_ledger(FULL), allow_nan=False))) == FULL


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": -1.0},
        {"epsilon": True},
        {"epsilon": "much"},
        {"delta": 2},
        {"neighbors": "all"},
        {"origin": "hearsay"},
        {"day": "today"},
        {"day": "2026-02-30"},
        {"fingerprint": "x"},
        {"id": "1"},
        {"what": "a\nb"},
        {"what": "a" * 601},
        {"rows": 0},
        {"proved": []},
        {"proved": {"epsilon": 1, "delta": 0, "neighbors": "all", "reference": ""}},
        {"proved": {"epsilon": None, "delta": 0, "neighbors": "replace", "reference": ""}},
        {"proved": {"epsilon": 1, "delta": 0, "neighbors": "replace"}},
        {"epsilon": 5, "proved": {"epsilon": 0, "delta": 0, "neighbors": "replace", "reference": ""}},
        {"epsilon": 5, "proved": {"epsilon": 5, "delta": 0, "neighbors": "replace", "reference": "", "rho": 0}},
        {"proved": {"epsilon": "infinite", "delta": 0, "neighbors": "replace", "reference": ""}},
        {"epsilon": 0.7},
        {"delta": 0.0},
        {"proved": None},
        {"rows": 4},
        {"of_row": {}},
        {"of_row": [None, None]},
        {"rows": 1},
    ],
)
def test_a_ledger_that_cannot_be_is_refused(change):
    written = write_release_ledger(FULL)
    with pytest.raises(ReleaseLedgerError, match="Release 2 of the file's ledger"):
        read_release_ledger([written[0], {**written[1], **change}, *written[2:]])


@pytest.mark.parametrize("written", [None, {}, "x", [1], [{}], [write_release_ledger(FULL)[0]] * 2])
def test_what_is_no_ledger_is_refused(written):
    with pytest.raises(ReleaseLedgerError):
        read_release_ledger(written)


def test_joined_ledgers_have_each_release_once():
    first, second = ReleaseLedger(FULL.entries[:2]), ReleaseLedger(FULL.entries[1:])
    assert set(first.joined(second).entries) == set(FULL.entries)
    assert len(first.joined(second).entries) == len(FULL.entries)
    # The larger number of rows counts, restated from the own statement.
    own = entry(0.5, number=1)
    restated = ReleaseLedger((own.for_person(4),))
    assert ReleaseLedger((own,)).joined(restated.carried()) == restated
    assert restated.joined(ReleaseLedger((own,))) == restated
    assert {each.origin for each in FULL.carried().entries} == {"last year's settings"}


def test_rows_of_a_person_are_exact_through_several_statements_and_files():
    own = entry(0.5, 1e-6, rho=0.1, number=1)
    for four in (
        own.for_person(4),
        *read_release_ledger(write_release_ledger(ReleaseLedger((own.for_person(4),)))).entries,
    ):
        six = four.for_person(6)
        assert six.proved == for_group(own.proved, 6)
        assert (six.epsilon, six.delta) == (six.proved.epsilon, six.proved.delta)
    # What is proved of four rows alone holds for two groups of four.
    assert replace(own.for_person(4), of_row=None).for_person(6).proved == for_group(own.for_person(4).proved, 2)
    result = dpm.fit(POINTS, BOX, dpm.Params(epsilon=0.7), rng=np.random.default_rng(0))
    row = entry_of(result.guarantee, result.events)
    made = entry_of(for_person(result.guarantee, 4), result.events)
    assert made.for_person(6).proved.epsilon == for_group(row.proved, 6).epsilon
    assert made.for_person(6).proved.delta == for_group(row.proved, 6).delta


def dataset_of(points, **choices):
    """Return a data set from records with two of four columns in degrees, and the choices that make it."""
    names = ("lat", "age", "lon", "income")
    bounds = ((48.0, 48.2), (0.0, 100.0), (11.4, 11.7), (0.0, 9000.0))
    text = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in points.tolist())])
    form = Choices(**{"features": names, "bounds": bounds, "units": ("", "years", "", "EUR"), **choices})
    return form.dataset(read_table(io.BytesIO(text.encode()))), form


def people(n=50, seed=0):
    low, high = np.array([48.0, 0.0, 11.4, 0.0]), np.array([48.2, 100.0, 11.7, 9000.0])
    return low + np.random.default_rng(seed).random((n, 4)) * (high - low)


MAP, UNIT = {"place": ("lat", "lon")}, {"scaling": "unit"}
FORMS = {
    "as it is": {},
    "scaled": UNIT,
    "on a map": MAP,
    "on a map, scaled": MAP | UNIT,
    "on a map, a kilometer weighs 5 years": MAP | UNIT | {"per_kilometer": (None, 5.0, None, 1000.0)},
    "other order": MAP | {"features": ("lon", "lat"), "bounds": ((11.4, 11.7), (48.0, 48.2)), "units": ()},
}


@pytest.mark.parametrize("choices", FORMS.values(), ids=FORMS)
def test_real_units_bring_records_back_into_their_own_columns(choices):
    given_people = people()
    dataset, form = dataset_of(given_people, **choices)
    columns, box = real_columns(dataset, form)
    assert tuple(each.name for each in columns) == form.features
    own = given_people[:, [("lat", "age", "lon", "income").index(each) for each in form.features]]
    # Degrees and back lose less than 1e-9 of a degree, 0.1 mm; scaling loses a few units in the last place.
    assert np.abs(real_units(dataset.points, dataset, form, box) - own).max(axis=0) == pytest.approx(0.0, abs=1e-8)
    units = {each.name: each.unit for each in columns}
    assert units.get("lat") == ("degrees" if "place" in choices else "")


def test_categories_come_back_as_shares_of_their_bounds():
    lat = people()[:, 0].tolist()
    text = "lat,lon,town\n" + "\n".join(f"{y!r},11.5,{'ABC'[i % 3]}" for i, y in enumerate(lat))
    bounds = ((48.0, 48.2), (11.4, 11.7))
    form = Choices(
        ("lat", "lon"), bounds=bounds, scaling="unit", place=("lat", "lon"), categories=(("town", ("A", "B")),)
    )
    dataset = form.dataset(read_table(io.BytesIO(text.encode())))
    columns, box = real_columns(dataset, form)
    shares = [(each.name, each.low, each.high) for each in columns[2:]]
    assert shares == [("town = A", 0.0, 1.0), ("town = B", 0.0, 1.0)]
    real = real_units(dataset.points, dataset, form, box)
    assert np.abs(real[:, 0] - lat).max() < 1e-8
    wanted = [[i % 3 == 0, i % 3 == 1] for i in range(len(lat))]
    np.testing.assert_allclose(real[:, 2:], np.array(wanted, dtype=float), rtol=0, atol=1e-12)
    assert real[:, 2:].mean(axis=0) == pytest.approx([17 / 50, 17 / 50], abs=1e-12), "a center is a share of its people"


def test_projected_features_come_back_as_all_columns():
    dataset, form = dataset_of(people(), scaling="unit", projected=2)
    columns, box = real_columns(dataset, form)
    real = real_units(dataset.points, dataset, form, box)
    assert real.shape == (50, 4) == (50, len(columns))
    assert np.array_equal(real, dataset.scale.back(dataset.projection.back(dataset.points)))


def files(made, table, before=NOTHING):
    """Return the files of DPM's result `made`."""
    return release_files(CATALOGUE["dpm"], PARAMS, table, made.guarantee, made.events, before, "2026-01-31")


def released(**choices):
    """Return DPM's result on 400 people, its data set, the choices that made it, and the table of the release."""
    dataset, form = dataset_of(people(400), **choices)
    result = dpm.fit(dataset.points, dataset.box, PARAMS, rng=np.random.default_rng(0))
    return result, dataset, form, table_of(CATALOGUE["dpm"], PARAMS, result.release, dataset, form)


def test_files_follow_from_the_release_and_public_inputs_alone(monkeypatch):
    monkeypatch.setattr(release.secrets, "token_hex", lambda _: "0" * 16)
    result, dataset, form, table = released()
    other, _ = dataset_of(people(33, seed=1))

    def written(data, table):
        one = files(result, table)
        return one.table.csv(), one.json(), one.xlsx(), repr(one), data.d

    assert written(dataset, table) == written(other, table_of(CATALOGUE["dpm"], PARAMS, result.release, other, form))


texts = some.text(some.sampled_from([*FORMULA_STARTS, " ", "a", "1", ",", '"', "\0", "\u2028"]), max_size=4)


@given(some.lists(texts, min_size=1, max_size=4), some.lists(texts, max_size=4))
def test_no_name_and_no_text_cell_is_a_formula_in_a_spreadsheet(names, cells):
    rows = tuple((each, -1.5) for each in cells)
    table = release.ReleaseTable("", tuple(release.Column(each) for each in names), rows)
    for row in csv.reader(io.StringIO(table.csv().decode(), newline="")):
        assert not [each for each in row if each != "-1.5" and each.lstrip()[:1] in FORMULA_STARTS and each.strip()]
    sheet = openpyxl.load_workbook(io.BytesIO(workbook({"Release": (names, *rows)})))["Release"]
    assert not [cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"]


def test_a_workbook_is_read_by_others_to_the_bit_and_by_this_app():
    result, _, _, table = released(**FORMS["on a map, scaled"])
    one = files(result, table)
    book = openpyxl.load_workbook(io.BytesIO(one.xlsx()))
    head, *rows = book["Release"].iter_rows(values_only=True)
    assert head == tuple(each.name for each in table.columns)
    assert head == ("center", "lat", "age", "lon", "income", "noisy count")
    assert tuple(rows) == table.rows
    about = dict(book["About"].iter_rows(values_only=True))
    assert about["Again"] == release.FINAL
    assert about["Fingerprint of the CSV table (SHA-256)"] == hashlib.sha256(table.csv()).hexdigest()
    read = read_table(io.BytesIO(one.table.csv()))
    assert read.nonprivate_columns.nonprivate_numbers["income"].tolist() == [row[4] for row in table.rows]


def test_a_workbook_holds_text_as_text():
    book = openpyxl.load_workbook(io.BytesIO(workbook({"One": [("=1+1", "<&>\x00", "", 2, -0.1)]})))
    ((formula, marks, empty, *numbers),) = book["One"].iter_rows(values_only=True)
    assert (formula, marks, empty, numbers) == ("=1+1", "<&> ", None, [2, -0.1])
    assert book["One"]["A1"].data_type != "f"


def test_a_column_that_is_called_as_ours_keeps_its_name_and_bounds_from_records_are_refused():
    points = Dataset(POINTS, None, BOX, ("center", "noisy count"), "t")
    made = dpm.fit(POINTS, BOX, PARAMS, rng=np.random.default_rng(0)).release
    table = table_of(CATALOGUE["dpm"], PARAMS, made, points, None)
    names = [each.name for each in table.columns]
    assert names == ["center (released)", "center", "noisy count", "noisy count (released)"]
    with pytest.raises(ValueError, match="Enter public bounds"):
        table_of(CATALOGUE["dpm"], PARAMS, made, replace(points, bounds_from_data=True), None)


def test_the_file_for_machines_states_the_release_and_the_ledger_after_it():
    result, _, _, table = released()
    before, stated = ledger(entry(0.5)), result.guarantee.stated
    one = files(result, table, before)
    read = json.loads(one.json())
    assert (read["format"], read["method"]) == ("dpviz release", "dpm")
    assert (read["epsilon"], read["neighbors"]) == (stated.epsilon, stated.adjacency.value)
    assert read["table"] == {"format": "csv", "sha256": hashlib.sha256(table.csv()).hexdigest()}
    assert read["settings"]["epsilon"] == 1.0
    age = next(each for each in read["columns"] if each["name"] == "age")
    assert age == {"name": "age", "unit": "years", "low": 0.0, "high": 100.0}
    after = read_release_ledger(read["ledger"]["releases"])
    assert after.entries == (*before.entries, one.entry)
    total = read["ledger"]["totals"]["add or remove one record"]["added_up"]["epsilon"]
    assert total == 0.5 + one.entry.proved.epsilon
