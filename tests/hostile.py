"""Links that no app would write, drawn for the fuzz tests of the link's parser and of the pages."""

import importlib
import math
import pkgutil
from collections.abc import Iterator

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import dpviz
from dpviz.core import Knob, knobs
from dpviz.data import DATASETS, data_knobs
from dpviz.methods import CATALOGUE
from dpviz.ui import frame
from dpviz.ui.data.answers import MOST_FEATURES

_PARTS = (
    "<~>~&~\"~'~\0~\r~\n~\u202e~\u2028~\ufeff~\x1b[31m~javascript:~://~www.~![](//evil.test/x.png)~[here](//evil.test)"
)
_PARTS += (
    "~$x$~**b**~:red[x]~`~|~=1+1~{{7*7}}~../~;~<script>alert(1)</script>~<img src=x onerror=alert(1)>~__class__~%s"
)
PARTS = f"{_PARTS}~%00~None~undefined~[]".split("~")
_NUMBERS = "nan~-nan~inf~-inf~1e999~-1e999~1e-999~-0~-0.0~0x10~1_0~٣~１~1e400~~ ~ 1~1 ~+1~1,5~1.5.1~--1~1e~e1~true~True"
NUMBERS = [*f"{_NUMBERS}~yes~on~1j~1/2~\n5\n".split("~"), "9" * 400]
# Examples of a test in every run; a long run has more. See tests/conftest.py.
QUICK_EXAMPLES = 30
words = st.lists(st.sampled_from(PARTS) | st.text(max_size=12), max_size=8).map("".join)
long_words = st.builds(lambda text, n: (text or "x") * n, st.text(max_size=8), st.integers(1, 3_000))
numbers = st.sampled_from(NUMBERS) | st.floats().map(repr) | st.integers(-(10**30), 10**30).map(str)
texts = words | numbers | long_words
names = words | st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


def examples(quick: int, long: int) -> settings:
    """Return settings with a number of examples for every run, and another one for long runs."""
    checks = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much)
    is_long = settings.default is not None and settings.default.max_examples > QUICK_EXAMPLES
    phases = (Phase.generate, Phase.shrink)
    return settings(max_examples=long if is_long else quick, suppress_health_check=checks, phases=phases)


def all_knobs() -> list[Knob]:
    """Return every knob that a link can set: the methods', the pages' furniture's and the data sets'."""
    found: dict[tuple[object, ...], Knob] = {}
    rooms = (".ui.", ".page")
    names = [one.name for one in pkgutil.walk_packages(dpviz.__path__, "dpviz.")]
    modules = [importlib.import_module(name) for name in names if any(room in f"{name}." for room in rooms)]
    made = [each for module in modules for value in vars(module).values() for each in _within(value)]
    made += [each for module in CATALOGUE.values() for each in knobs(module.Params)]
    made += [Knob(f"data_{each.name}", *_rest(each)) for name in DATASETS for each in data_knobs(name)]
    made += frame.axis_knobs(MOST_FEATURES)
    for each in made:
        found[each.name, each.kind, each.low, each.high, each.choices] = each
    return sorted(found.values(), key=lambda each: (each.name, each.kind, each.low, each.high, each.choices))


def good(knob: Knob) -> st.SearchStrategy[object]:
    """Draw values that the knob takes."""
    if knob.kind == "bool":
        return st.booleans()
    if knob.kind == "choice":
        return st.sampled_from([value for value, _ in knob.choices])
    if knob.kind == "int":
        return st.integers(int(knob.low), int(knob.high))
    return st.floats(knob.low, knob.high)


def bad(knob: Knob) -> st.SearchStrategy[str]:
    """Draw texts that are no value of the knob, by how they are made."""
    if knob.kind == "bool":
        return texts.filter(lambda text: text not in ("0", "1"))
    if knob.kind == "choice":
        return texts.filter(lambda text: text not in {value for value, _ in knob.choices})
    wrong = st.sampled_from(["nan", "inf", "-inf", "1e999", "-1e999", "", "None", "x", "0x10", "1/2", "9" * 400])
    unlike = words.map(lambda text: f"{text}x")  # no number ends so
    above, below = _outside(knob)
    if knob.kind == "int":
        outside = st.integers(min_value=above).map(str) | st.integers(max_value=below).map(str)
        return wrong | unlike | outside | st.floats(-1e6, 1e6).map(repr)
    outside = st.floats(min_value=knob.high, exclude_min=True).map(repr)
    return wrong | unlike | outside | st.floats(max_value=knob.low, exclude_max=True).map(repr)


def _outside(knob: Knob) -> tuple[int, int]:
    if math.isinf(knob.high) or math.isinf(knob.low):
        raise ValueError(f"{knob.name} has no ends, so that a link could bring any number.")
    return math.floor(knob.high) + 1, math.ceil(knob.low) - 1


def _within(value: object, depth: int = 0) -> Iterator[Knob]:
    """Yield the knobs in a module: single, in a list, or under names."""
    if isinstance(value, Knob):
        yield value
    elif isinstance(value, dict | list | tuple) and depth < 2:
        for each in value.values() if isinstance(value, dict) else value:
            yield from _within(each, depth + 1)


def _rest(knob: Knob) -> tuple[object, ...]:
    return knob.kind, knob.default, knob.label, knob.help, knob.low, knob.high, knob.minimum, knob.maximum
