"""Files that are broken at any place, in every format: a table inside its bounds, or a reason in plain words."""

import io

from hypothesis import given
from hypothesis import strategies as st

from dpviz.data import TableError, read_table
from tests.data.test_hostile_files import FORMATS
from tests.hostile import examples

breaks = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["cut", "flip", "put", "drop"]), st.binary(max_size=8)))
broken = st.tuples(st.sampled_from(sorted(FORMATS)), breaks.filter(bool))


def damaged(kind, wounds):
    """Break a good file at places given as parts of its length."""
    data = FORMATS[kind]
    for place, how, extra in wounds[:6]:
        at = int(place * len(data))
        if how == "cut":
            data = data[: at + 1]
        elif how == "flip" and data:
            at = min(at, len(data) - 1)
            data = data[:at] + bytes([data[at] ^ (extra[0] if extra else 255)]) + data[at + 1 :]
        elif how == "put":
            data = data[:at] + extra + data[at:]
        else:
            data = data[:at] + data[at + len(extra) :]
    return data


def check(data):
    """Read a file as the form does, use every numeric column of the result, and return True if it is a table."""
    said, table = "", None
    try:
        table = read_table(io.BytesIO(data))
        for name in table.numeric_columns:
            dataset = table.dataset([name], missing="drop")
            assert (dataset.points >= dataset.box.low).all()
            assert (dataset.points <= dataset.box.high).all()
    except TableError as error:
        said = str(error)
    assert not said or 10 < len(said) < 600
    return table is not None


@examples(500, 10_000)
@given(broken)
def test_a_broken_file_is_a_table_or_refused(made):
    check(damaged(*made))


def test_the_wounds_hurt_and_some_files_live():
    whole = {kind: check(damaged(kind, [(1.0, "put", b"")])) for kind in FORMATS}
    assert all(whole.values())
    assert not any(check(damaged(kind, [(0.0, "put", b"\x89PNG\r\n\x1a\n")])) for kind in FORMATS)
