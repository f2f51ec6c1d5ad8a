"""From the answers about a person's own table to its data set, and the answers that its columns suggest."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.data import Dataset, Scaling, Table, TableError
from dpviz.data.choices import Choices
from dpviz.data.geography import likely_map
from dpviz.ui.data import bounding, file_format, kept, upload_form

FIRST_FEATURES = 2
NO_LABEL, NO_MAP = "", ""
PLAIN_NAMES = ("id", "index", "key", "nr", "no", "row", "rownames", "row.names", "unnamed: 0")  # that only count
NAMELESS = "column 1"  # as the first column is called where the file has no name for it
IMPORT = "import"  # the answer that is no question's: which import had its say


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A data set out of a file, the scalars it follows from, and the file's fingerprint."""

    dataset: Dataset
    key: tuple[Any, ...]
    digest: str
    name: str  # of the file
    form: Choices  # what was answered


def described() -> tuple[Described | None, str]:
    """Return what the file and the answers make, or why it is no data set yet: "" where something is not answered.

    The reason can name a cell or a count: it is the curator's.
    """
    try:
        table = kept.table()
        if table is None:
            return None, ""
        if kept.answer(IMPORT) != upload_form.pending()[0]:
            table = file_format.as_imported(table)
        _suggest(table)
        form = _answered(table)
        if form is None:
            return None, ""
        dataset = form.dataset(table)
    except (TableError, ValueError) as error:  # also of a box that ends before it begins
        return None, str(error)
    box = form.box(table)
    bounds = (*box.low.tolist(), *box.high.tolist())
    choices = (form.label, form.missing, form.scaling, form.share, form.units, form.place)
    fewer = (form.projected, form.projection_seed)
    key = (table.digest, form.features, bounds, *choices, *fewer, dataset.bounds_from_data, form.reading)
    return Described(dataset, key, table.digest, table.name, form), ""


def _suggest(table: Table) -> None:
    """Fill in the answers once for each file and each import: the imported ones, or what its columns suggest."""
    if not table.numeric_columns:
        return
    number, form = upload_form.expected(table)
    known = set(kept.answer("features", ()))
    if (asked := kept.answer(IMPORT)) == number and (not known or known & set(table.numeric_columns)):
        return  # unless a file that is read in another way has other columns
    kept.set_answers({IMPORT: number})
    if form is not None:
        kept.set_answers(
            {
                "features": list(form.features),
                "label": form.label or NO_LABEL,
                "missing": form.missing,
                "scaled": form.scaling == "unit",
                "share": None if form.share == 1.0 else round(100.0 * form.share, 9),
                "place": form.place or NO_MAP,
                "projected": form.projected,
                "projection_seed": form.projection_seed,
                **bounding.answers_of(form.features, form.how, form.bounds, form.units),
            }
        )
        return
    numeric = table.numeric_columns
    if asked is not None and (not known or known & set(numeric)):  # the import is about another file
        return
    pair, sure = likely_map(table.nonprivate_columns.nonprivate_numbers)
    counting = {each for each in numeric if _counts(table, each)}
    first = [each for each in numeric if each not in counting] or list(numeric)
    features = list(pair) if pair is not None and sure else first[:FIRST_FEATURES]
    kept.set_answers({"features": features, "label": NO_LABEL, "place": pair if pair and sure else NO_MAP})


def _counts(table: Table, name: str) -> bool:
    """Say whether a column only counts the rows, by its name, or as a nameless first one of whole numbers."""
    if name.lower() in PLAIN_NAMES:
        return True
    columns = table.nonprivate_columns
    has_names = any(not each.startswith("column ") for each in columns.names)
    values = columns.nonprivate_numbers[name]
    are_whole = bool(np.isfinite(values).all() and (values == np.round(values)).all())
    return name == NAMELESS and has_names and are_whole and len(np.unique(values)) == len(values)


def _answered(table: Table) -> Choices | None:
    """Return the answers as one object, None while there are too few. Raises TableError for a table without numbers."""
    if not table.numeric_columns:
        raise TableError("No column of this file is numeric, but at least one is needed. Choose another file.")
    features = tuple(each for each in kept.answer("features", ()) if each in table.numeric_columns)
    bounds = bounding.pairs(table, features)
    if not features or bounds is None:
        return None
    label, percent, missing = kept.answer("label", NO_LABEL), kept.answer("share"), kept.answer("missing", "error")
    scaling: Scaling = "unit" if kept.answer("scaled", False) else "none"
    known = label in (*table.text_columns, *table.numeric_columns) and label not in features
    chosen = Choices(features, label if known else None, missing, scaling)
    chosen = replace(chosen, share=1.0 if percent is None else percent / 100.0, place=place_of(features))
    chosen = replace(chosen, projected=projected_to(features), projection_seed=int(kept.answer("projection_seed", 0)))
    return replace(chosen, how=bounding.how(), bounds=bounds, units=bounding.units(features), reading=table.reading)


def projected_to(features: tuple[str, ...]) -> int | None:
    """Return how many features these are projected to, as answered; None where none, or where it is not fewer."""
    found = kept.answer("projected")
    return int(found) if found is not None and 1 <= found < len(features) else None


def place_of(features: tuple[str, ...]) -> tuple[str, str] | None:
    """Return which of the features are latitude and longitude, as answered."""
    found = kept.answer("place", NO_MAP)
    return tuple(found) if found and set(found) <= set(features) else None
