"""The ledger's caption says of bar 0 what the events say."""

import pytest

from dpviz.stories.charts import AT_ONCE, OPENING, ledger_chart
from dpviz.stories.ledger import LedgerRow


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(0, "Number of records"), (1, "Sums")], OPENING),
        ([(0, "Counts"), (1, "Sums")], "Bar 0: before the first iteration."),
        ([(0, "Counts"), (0, "Number of records")], AT_ONCE),
        ([(1, "Sums")], ""),
    ],
)
def test_bar_0_is_called_what_it_pays_for(rows, said):
    chart = ledger_chart([LedgerRow(column, purpose, 0.5, 1) for column, purpose in rows], proved=True)
    assert chart.caption == f"Adds up to ε = {0.5 * len(rows):g}. {said}".strip()
