"""Where an axis has its words: round values, whole ones, powers of ten, lanes with names; as in the live picture."""

import math
from dataclasses import dataclass

from dpviz.plots.scene import Axis

MOST_POWER = 300  # of ten, that a float still holds


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, scene coordinates, its words, and whether it has a line."""

    at: float
    text: str
    line: bool = True


def axis_ticks(axis: Axis, low: float, high: float, target: float) -> tuple[Tick, ...]:
    """Return about `target` ticks between two scene coordinates."""
    if not axis.ticks or not high > low:
        return ()
    if axis.names:
        lines = [Tick(float(i), "") for i in range(len(axis.names))]
        return (*lines, *(Tick(i + 0.4, name, line=False) for i, name in enumerate(axis.names)))
    start, stop = sorted(axis.values[0] + (axis.values[1] - axis.values[0]) * at for at in (low, high))
    found = _powers(start, stop, target, whole=axis.whole) if axis.log else []
    if len(found) < 2:
        if axis.log:
            if not -MOST_POWER < start < stop < MOST_POWER:
                return ()
            start, stop = 10.0**start, 10.0**stop
        values, step = _round_values(start, stop, target, whole=axis.whole)
        size = max([step, *map(abs, values)])
        found = [(value, tick_text(value, step, size)) for value in values]
    return tuple(Tick(_place(axis, value), text) for value, text in found)


def tick_text(value: float, step: float, size: float) -> str:
    """Write a tick's value with as many decimals as its step needs; thousands as k, millions as M."""
    if abs(value) < step * 1e-6:
        return "0"
    if size >= 1e9 or step < 1e-5:
        return three_digits(value)
    unit, suffix = (1e6, "M") if size >= 1e6 else (1e3, "k") if size >= 1e4 or step >= 1e3 else (1.0, "")
    decimals = min(max(math.ceil(-math.log10(step / unit) - 1e-9), 0), 6)
    return f"{value / unit:,.{decimals}f}".replace("-", "−") + suffix


def three_digits(value: float) -> str:
    """Write a number with three significant digits."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{float(f'{value:.3g}'):,.9g}".replace("-", "−")
    return f"{value:.3g}".replace("e-0", "e−").replace("e+0", "e").replace("e+", "e").replace("-", "−")


def _place(axis: Axis, value: float) -> float:
    low, high = axis.values
    return ((math.log10(value) if axis.log else value) - low) / (high - low)


def _round_values(low: float, high: float, target: float, *, whole: bool) -> tuple[list[float], float]:
    """Return values in steps of 1, 2 or 5 times a power of ten; whole numbers where asked for."""
    if not high > low or not math.isfinite(high - low):
        return [], 1.0
    rough = (high - low) / max(1.0, target)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= 0.999 * rough)
    if whole:
        step = max(step, 1.0)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)], step


def _powers(low: float, high: float, target: float, *, whole: bool) -> list[tuple[float, str]]:
    """Return 1, 2 and 5 times the powers of ten between two decimal logarithms, all with words, or the powers alone."""
    if not math.isfinite(high - low):
        return []
    every = max(1, math.ceil((high - low) / max(1.0, 1.4 * target)))
    digits = (1, 2, 5) if 3 * (high - low) <= 1.4 * target else (1,)
    found = []
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in digits:
            place = power + math.log10(digit)
            value = float(f"{digit}e{power}")
            fits = low - 1e-9 <= place <= high + 1e-9 and power % every == 0
            if fits and 0 < value < math.inf and not (whole and value != int(value)):
                found.append((value, three_digits(value)))
    return found if len(found) > 1 else []
