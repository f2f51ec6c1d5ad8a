"""The lines of a script that load its records, as `dataset` and `words`."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from dpviz.data.choices import Choices

UPLOAD = "people.csv"  # stands for the file that only its owner has
WORDS = (
    "public_box = not dataset.bounds_from_data",
    "words = Words(dataset.title, dataset.box, dataset.feature_names, dataset.units, public_box, dataset.place)",
    "",
)


@dataclass(frozen=True, slots=True)
class Data:
    """Where records come from: a named set with its knobs, or the columns of a file."""

    name: str = ""
    n: int = 0
    seed: int = 0
    knobs: tuple[tuple[str, Any], ...] = ()
    choices: Choices | None = None  # for a file; nothing else but its digest then counts
    digest: str = ""  # of the file; '' where the public is not to know it
    drawn: bool = False  # by hand: `name` is its title, `features` and `bounds` are its own
    features: tuple[str, ...] = ()
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # low (d,), high (d,)
    points: tuple[tuple[float, float, int], ...] | None = None  # of a drawing: across, up, class; None: they stay
    pair: bool = False  # the named set is a source that comes with its targets and ball

    @property
    def on_map(self) -> bool:
        """Whether two of the file's columns are latitude and longitude."""
        return self.choices is not None and self.choices.place is not None


def loader(data: Data) -> list[str]:
    """Return the imports of what `loading` calls."""
    if data.pair:
        return ["from dpviz.data.target_pairs import load_pair, source_of"]
    if data.drawn:
        return ["from dpviz.core import Box", "from dpviz.data import Dataset"]
    if data.choices is not None:
        return ["from dpviz.data import read_table", "from dpviz.data.choices import Choices"]
    return ["from dpviz.data import load"]


def loading(data: Data) -> list[str]:
    """Return the calls that load the records; every word of a file stands in them as a literal."""
    if data.drawn:
        return [*_drawing(data), *WORDS]
    if data.choices is None:
        knobs = "".join(f", {name}={value!r}" for name, value in data.knobs)
        given = f"{data.name!r}, n={data.n!r}, seed={data.seed!r}{knobs}"
        if data.pair:
            return [f"problem = load_pair({given})", f"dataset = source_of({data.name!r}, problem)", *WORDS]
        return [f"dataset = load({given})", *WORDS]
    where = f"# Put your file beside this script under the name {UPLOAD}, or change the next line."
    known = [f"# The first 16 digits of its SHA-256 were {data.digest!r}."] if data.digest else []
    chosen = data.choices
    typed = len(chosen.bounds) == len(chosen.features) and not chosen.borrowed
    private = [] if typed else ["# Bounds from the data are not private: no guarantee holds."]
    fields = [field.name for field in dataclasses.fields(chosen) if field.name != "reading"]
    said = ", ".join(f"{name}={getattr(chosen, name)!r}" for name in fields)
    settings = "".join(f", {name}={value!r}" for name, value in chosen.reading.chosen.items())
    table = [f"table = read_table({UPLOAD!r}{settings})", f"dataset = Choices({said}).dataset(table)"]
    return [where, *known, *private, *table, *WORDS]


def _drawing(data: Data) -> list[str]:
    """Write the points of a drawing as numbers, or say where to put them."""
    low, high = data.bounds or ((), ())
    points = data.points or ()
    rows = [f"    {', '.join(f'{list(row)!r}' for row in points[i : i + 4])}," for i in range(0, len(points), 4)]
    lines = ["# Each point: across, up, class.", "drawn = np.array([", *rows, "]).reshape(-1, 3)"]
    if data.points is None:
        lines[:1] = [
            "# The drawn points are not in this file: it was saved in the public view.",
            f"# Put [across, up, class] for each point between the brackets, inside {low!r} to {high!r}.",
        ]
        lines.append('if not len(drawn):\n    raise SystemExit("Put the points into this file first: drawn is empty.")')
    box = f"Box({low!r}, {high!r})"
    call = f"drawn[:, :2], drawn[:, 2].astype(int), {box}, {data.features!r}, {data.name!r}"
    return [*lines, f"dataset = Dataset({call})"]
