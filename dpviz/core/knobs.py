"""Knobs: a parameter with its range, scale, label and help, written once beside its default.

Sidebars, command lines and links follow from knobs. A value has two ranges: `low..high` of the slider, and
`minimum..maximum` that the mathematics allows; code may use the second, a page stays in the first.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, Literal, SupportsIndex, TypeVar, dataclass_transform

Value = float | int | str | bool | None
Kind = Literal["float", "int", "choice", "bool"]

# Friendly values per power of ten.
FRIENDLY = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)
# Classes whose knobs are cached, because every run checks its parameters. Our choice.
CACHED_CLASSES = 128
# Source of a default that is our choice.
OURS = "our choice"
# Maximum number of characters of a wrong value in a message.
LONGEST_VALUE = 40


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def immutable_value(cls: type[T] | None = None, **options: bool) -> Callable[..., object]:
    """Make a class a dataclass with slots whose fields cannot change; instances are compared by their fields.

    `options` are those of `dataclass`, as in `@immutable_value(kw_only=True)`.
    """
    make = dataclasses.dataclass(**{"frozen": True, "slots": True, **options})
    return make if cls is None else make(cls)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def immutable(cls: type[T] | None = None, **options: bool) -> Callable[..., object]:
    """Make a class an `immutable_value` that equals only itself: comparing its arrays has no single answer."""
    return immutable_value(cls, eq=False, **options)


class KnobError(ValueError):
    """A knob cannot take a value. The message names the value and the allowed values, and suggests a solution."""


@immutable_value
class Knob:
    """One parameter that a person can change."""

    # Name of the field.
    name: str
    # "float", "int", "bool" or "choice".
    kind: Kind
    # Used if no value is given.
    default: Value
    # Name on a page.
    label: str
    # Effect of the parameter, in sentences.
    help: str
    # Lowest value that sliders offer.
    low: float = -math.inf
    # Highest value that sliders offer.
    high: float = math.inf
    # Lowest value that is allowed at all. Only parameters need it: a page and its links stay between `low` and `high`.
    minimum: float = -math.inf
    # Highest value that is allowed at all.
    maximum: float = math.inf
    # Whether equal steps of the slider are equal ratios.
    log: bool = False
    # Unit after the value on a page.
    unit: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # (value, label)
    # Source of the default.
    source: str = OURS

    def check(self, value: object) -> Value:
        """Return `value` as this knob's type; raise KnobError if its type is different or it is not allowed."""
        if self.kind == "bool":
            if not isinstance(value, bool):
                raise KnobError(f"{self.name} must be True or False, got {quoted(value)}.")
            return value
        if self.kind == "choice":
            return self._check_choice(value)
        return self._check_number(value)

    def parse(self, text: str) -> Value:
        """Read a URL's or command line's `text`, within the range that the page offers; raise KnobError."""
        if self.kind == "bool":
            if text not in ("0", "1"):
                raise KnobError(f"{self.name} must be 0 or 1, got {text!r}.")
            return text == "1"
        if self.kind == "choice":
            return self._check_choice(text)
        try:
            number: float = int(text) if self.kind == "int" else float(text)
        except ValueError:
            raise KnobError(
                f"{self.name} must be {self._number_words} from {self.low:g} to {self.high:g}, got {text!r}."
            ) from None
        if not self.low <= number <= self.high:
            # Any white space may surround a number, including line breaks, which would break the message.
            raise KnobError(f"{self.name} must be from {self.low:g} to {self.high:g}, got {text.strip()}.")
        return self._check_number(number)

    @staticmethod
    def format(value: Value) -> str:
        """Write `value` so that `parse` returns exactly this value."""
        if isinstance(value, bool):
            return "1" if value else "0"
        # float(): NumPy writes its own floats as np.float64(...).
        return repr(float(value)) if isinstance(value, float) else str(value)

    @property
    def _number_words(self) -> str:
        return "a whole number" if self.kind == "int" else "a number"

    def _check_choice(self, value: object) -> str:
        allowed = [choice for choice, _ in self.choices]
        if not isinstance(value, str) or value not in allowed:
            raise KnobError(f"{self.name} must be one of {', '.join(allowed)}, got {quoted(value)}.")
        return str(value)

    def _check_number(self, value: Any) -> float | int:
        # To Python a bool is an int, but not to a person.
        is_integer = isinstance(value, SupportsIndex) and not isinstance(value, bool)
        is_number = is_integer or (isinstance(value, Real) and not isinstance(value, bool))
        if not is_number or (self.kind == "int" and not is_integer):
            raise KnobError(f"{self.name} must be {self._number_words}, got {quoted(value)}.")
        # NaN fails every comparison, so it is rejected here as well.
        if not self.minimum <= value <= self.maximum:
            raise KnobError(f"{self.name} must be from {self.minimum:g} to {self.maximum:g}, got {value}.")
        return int(value) if self.kind == "int" else float(value)


def quoted(value: object) -> str:
    """Return a wrong value as text for a message: for arrays, which may be records, only the type."""
    if not isinstance(value, str | int | float | None):
        return f"of type {type(value).__name__}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def knob(default: Value, label: str, help: str, **options: Any) -> Any:
    """Declare a dataclass field with a knob; the kind follows from the default and `choices`.

    A float knob with `low=0.05` still allows all values from `minimum` to `maximum`, so that tests and code can use
    values beyond the slider.

    Parameters
    ----------
    default
        Default value.
    label
        Label of the control.
    help
        Help text of the control.
    **options
        The other fields of `Knob`.

    Returns
    -------
    Any
        A dataclass field.
    """
    kind: Kind
    if "choices" in options:
        kind = "choice"
    elif isinstance(default, bool):
        kind = "bool"
    elif isinstance(default, int):
        kind = "int"
    else:
        kind = "float"
    return dataclasses.field(
        default=default, metadata={"knob": Knob(name="", kind=kind, default=default, label=label, help=help, **options)}
    )


def knobs(params: object) -> tuple[Knob, ...]:
    """Return the knobs of a dataclass (class or instance) in the order of its fields."""
    return _class_knobs(params if isinstance(params, type) else type(params))


@lru_cache(maxsize=CACHED_CLASSES)
def _class_knobs(params: type) -> tuple[Knob, ...]:
    return tuple(
        dataclasses.replace(field.metadata["knob"], name=field.name)
        for field in dataclasses.fields(params)
        if isinstance(field.metadata.get("knob"), Knob)
    )


def parameter(default: Any, help: str, *, source: str = OURS, **options: Any) -> Any:
    """Declare a dataclass field that no slider moves, such as an array.

    Parameters
    ----------
    default
        Default value.
    help
        Meaning of the field.
    source
        Source of the default.
    **options
        Options of `dataclasses.field`.

    Returns
    -------
    Any
        A dataclass field.
    """
    about = {"help": help, "source": source, **options.pop("metadata", {})}
    return dataclasses.field(default=default, metadata=about, **options)


def whole(help: str, *, least: int, most: float = math.inf, source: str = OURS) -> int | None:
    """Declare a dataclass field that is None or a whole number; `check_params` checks it.

    Parameters
    ----------
    help
        Meaning of the field.
    least
        Smallest number.
    most
        Largest number.
    source
        Source of the default.

    Returns
    -------
    int or None
        A dataclass field with the default None.
    """
    field: int | None = parameter(None, help, source=source, metadata={"whole": (least, most)})
    return field


def describe_parameters(params: type) -> dict[str, str]:
    """Return a description of each parameter of a dataclass, by name: meaning, range, source of the default.

    Fields that were declared without a description are left out.
    """
    by_name, words = {each.name: each for each in knobs(params)}, {}
    for field in dataclasses.fields(params):
        about = field.metadata.get("help", "")
        least, most = field.metadata.get("whole", (-math.inf, math.inf))
        source = field.metadata.get("source", OURS)
        parts = [about]
        if found := by_name.get(field.name):
            parts, source = [f"{found.label}.", found.help], found.source
            least, most = found.minimum, found.maximum
            if found.choices:
                parts.append(f"One of {', '.join(value for value, _ in found.choices)}.")
        if math.isfinite(least):
            parts.append(f"{least:g} or more." if math.isinf(most) else f"From {least:g} to {most:g}.")
        if field.default is not dataclasses.MISSING:
            number = f"{field.default:.6g}" if isinstance(field.default, float) else field.default
            parts.append(f"Default: {number} ({source}).")
        if found or about:
            words[field.name] = " ".join(parts)
    return words


def check_params(params: Any) -> None:
    """Check every knob and whole number of a dataclass instance; call it from `__post_init__`.

    Raises KnobError, and ValueError for a value that is not a whole number.
    """
    for each in knobs(params):
        object.__setattr__(params, each.name, each.check(getattr(params, each.name)))
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if value is None or "whole" not in field.metadata:
            continue
        least, most = field.metadata["whole"]
        is_whole = isinstance(value, SupportsIndex) and not isinstance(value, bool)
        if not (is_whole and least <= value <= most):
            upto = "" if math.isinf(most) else f" and <= {most:g}"
            raise ValueError(
                f"{field.name} must be a whole number of at least {least}{upto}, or None, got {quoted(value)}."
            )


def friendly(low: float, high: float, *, digits: Sequence[float] = FRIENDLY) -> tuple[float, ...]:
    """Return friendly values from low to high, about equally spaced in ratio, including both ends.

    Parameters
    ----------
    low
        First value, above 0.
    high
        Last value.
    digits
        Leading digits of friendly values.

    Returns
    -------
    tuple of float
        The values, ascending.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    between = (round(digit * 10.0**power, 6) for power in powers for digit in digits)
    return tuple(sorted({low, high, *(value for value in between if low < value < high)}))
