import pandas as pd
import pytest

from dpviz.plots.table import FORMULA_STARTS
from dpviz.ui.export.listed import harmless

FORMULAS = [
    "=1+1",
    "@SUM(A1)",
    "+A1",
    "-cmd|'/C calc'!A0",
    '=HYPERLINK("http://x","y")',
    "\t=1",
    "-1 A1",
    "-A1",
    "＝1",
    "-1+1",
]


@pytest.mark.parametrize("evil", FORMULAS)
def test_no_cell_header_or_row_name_is_a_formula_in_the_saved_file(evil):
    table = pd.DataFrame({evil: [evil, 1.5], "b": [2, evil]}, index=[evil, "x"])
    shown = harmless(table)
    words = [*shown.columns, *shown.index, *(each for each in shown.to_numpy().ravel() if isinstance(each, str))]
    assert not [word for word in words if word.startswith(FORMULA_STARTS)]
    assert sum(evil.strip() in word for word in words) == 4, "the words are still there"


@pytest.mark.parametrize("number", ["-0.5", "+3", "1e-5", "-1,234", "-2 cm", "-40 %", "−1", "12 of 20"])
def test_a_number_stays_as_it_is(number):
    table = pd.DataFrame({"a": [number, -0.5, None]})
    assert harmless(table).equals(table)
