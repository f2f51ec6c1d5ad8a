"""What the entries of a grid are made of: numbers, words and lists, and what is said of those that cannot be."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpviz.tools.sweep.trials import Fields, Scalar


class GridError(ValueError):
    """A grid that cannot be run; the message says what was given, what is allowed, and the way out."""


def products(axes: Mapping[str, Sequence[Scalar]]) -> Iterator[Fields]:
    """Yield every combination, its fields sorted by name."""
    names = sorted(axes)
    for values in itertools.product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def axis_of(place: str, key: str, value: Any) -> tuple[Scalar, ...]:
    """Return the values of one key, a list or a single one. Raises GridError."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float) for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a number, a word, a switch or a list.")
    if len(set(map(repr, values))) < len(values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it names a value twice. Leave one out.")
    return values


def wholes(place: str, key: str, value: Any, least: int) -> tuple[int, ...]:
    """Return `axis_of` whole numbers that are at least `least`. Raises GridError."""
    values = axis_of(place, key, value)
    if any(isinstance(one, bool) or not isinstance(one, int) or one < least for one in values):
        raise GridError(f"{key} of {place} was {value!r:.60}, but it must be a whole number >= {least}, or a list.")
    return tuple(int(one) for one in values)


def known(place: str, found: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Raise GridError for a key that is not `allowed`."""
    for key in found:
        if key not in allowed:
            raise GridError(f"{place} was given {key!r:.40}, but it takes {', '.join(allowed)}. Leave it out.")


def tried(place: str, action: Any) -> Any:
    """Return what `action` does; what it refuses becomes a GridError that names `place`."""
    try:
        return action()
    except (ValueError, TypeError) as error:
        raise GridError(f"In {place}: {error}") from None
