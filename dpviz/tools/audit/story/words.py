"""The names of statistics and events as a reader has them: "first zone center, x", not "zone_centers [0, 0]"."""

import re

from dpviz.audit.events import AuditEvent
from dpviz.stories.panel import number

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_AXES = "xyz"  # of the made-up pairs, whose features have no names
_PLACES = ("centers", "places", "points", "parents", "means", "directions")  # arrays whose columns are coordinates
_ENTRY = re.compile(r"(?P<path>[\w.]+) \[(?P<row>\d+)(?:, (?P<column>\d+))?\]")
_NAMES = {  # where taking off an s or an underscore is not enough
    "n_blocks": "number of blocks",
    "value": "value",
    "child_counts": "noisy counts of a cut's sides",
}
_LEARNED = {
    "learned direction (exact)": "weighted sum of all released numbers",
    "learned direction (shrunk)": "weighted sum of all released numbers",
    "learned sum, cut off": "weighted sum of the telling released numbers, each cut off",
}
_SUMMARIES = {"sum": "sum of all", "least": "smallest of the", "largest": "largest of the", "size": "how many"}


def percent(confidence: float) -> str:
    """Write a confidence: 0.9999 as "99.99 %"."""
    return f"{100.0 * confidence:.10g} %"


def statistic_words(statistic: str) -> str:
    """Name a statistic of `dpviz.audit.family` in words, counting from 1."""
    if statistic in _LEARNED:
        return _LEARNED[statistic]
    if " less " in statistic:
        left, right = statistic.split(" less ")
        return f"{statistic_words(left)}, minus {statistic_words(right)}"
    found = re.fullmatch(r"(sum|least|largest|size) of ([\w.]+)", statistic)
    if found:
        return f"{_SUMMARIES[found[1]]} {_path(found[2])}"
    found = re.fullmatch(r"direction of center (\d+), axis (\d+)", statistic)
    if found:
        return f"direction of the {_ordinal(int(found[1]))} center from the box's corner, {_axis(int(found[2]))}"
    found = re.fullmatch(r"nearness to a ratio of the (first|second) world", statistic)
    if found:
        return f"minus the distance of a center's ratio of coordinates to one that only the {found[1]} world showed"
    found = re.fullmatch(r"(\d+) is in ([\w.]+)", statistic)
    if found:
        return f"whether {_path(found[2])} holds number {int(found[1]) + 1} (1) or not (0)"
    return _ENTRY.sub(_entry, statistic) if _ENTRY.fullmatch(statistic) else _path(statistic)


def event_words(event: AuditEvent) -> str:
    """Say an event: "first zone center, x above 0.5"."""
    return f"{statistic_words(event.statistic)} {'above' if event.above else 'below'} {number(event.threshold)}"


def _entry(found: re.Match[str]) -> str:
    path, row, column = found["path"], int(found["row"]), found["column"]
    first = f"{_ordinal(row)} {_one_of(path)}"
    if column is None:
        return first
    return f"{first}, {_axis(int(column)) if path.endswith(_PLACES) else f'{_ordinal(int(column))} entry'}"


def _path(path: str) -> str:
    last = path.split(".")[-1]
    return _NAMES.get(last, last.replace("_", " "))


def _one_of(path: str) -> str:
    """Name one row of a path: "noisy_counts" -> "noisy count"."""
    words = _path(path)
    return (
        words[:-1] if words.endswith("s") and not words.endswith("ss") and path.split(".")[-1] not in _NAMES else words
    )


def _ordinal(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"number {index + 1}"


def _axis(index: int) -> str:
    return _AXES[index] if index < len(_AXES) else f"feature {index + 1}"
