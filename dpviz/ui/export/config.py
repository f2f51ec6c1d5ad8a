"""A picture as a JSON file: page, data, seeds, view and knobs, in the link's own words.

Of data, only what the reader has drawn by hand is ever in it, and only where the curator saved it.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dpviz.data import Choices
from dpviz.methods import CATALOGUE
from dpviz.ui.data.answers import from_file as form_from_file
from dpviz.ui.data.drawing import DrawnPoints, from_file, to_file

FORMAT = "dpviz picture"
VERSION = 1
MOST_BYTES = 500_000  # ours come to about 4,000, and with 5,000 drawn points to at most 300,000
DRAWN = "draw"  # the data whose points may be in the file
MOST_VALUES = 120
MOST_TEXT = 80
MOST_FRAMES = 10_000
SEEDS = ("start_seed", "noise_seed", "secret")
VIEW = ("audience", "x", "y", "z", "principal", "view", "yaw", "pitch")
GROUPS = ("data", "seeds", "view", "knobs")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_HASH = re.compile(r"[0-9a-f]{64}")


class ConfigError(ValueError):
    """A file that is no such configuration; the message says what was found, what is needed, the way out."""


@dataclass(frozen=True, slots=True)
class ScrubberStep:
    """Where the scrubber stood, and which layers were off."""

    frame: int = 0
    label: str = ""
    layers_off: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """A page and its parameters as a link has them, with what the file promises of the picture."""

    page: str
    query: tuple[tuple[str, str], ...]
    step: ScrubberStep = ScrubberStep()
    hashes: tuple[str, ...] = ()
    form: Choices | None = None  # of an upload, whose columns no link names
    sheet: DrawnPoints | None = None  # what was drawn by hand

    @property
    def is_drawn(self) -> bool:
        """Whether the picture is of records that were drawn by hand, in the file or not."""
        return dict(self.query).get("data") == DRAWN


def write(config: Config, *, guarantees: Sequence[Mapping[str, Any]], upload: Mapping[str, Any] | None = None) -> str:
    """Return the file's text; `upload` describes an uploaded table's form: its columns and typed bounds.

    A sheet in `config` is written as it is: whoever calls this leaves out what the audience may not see.
    """
    groups: dict[str, dict[str, Any]] = {name: {} for name in GROUPS}
    for name, text in config.query:
        groups[_group(name)][name] = _typed(text)
    step = {"frame": config.step.frame, "label": config.step.label, "layers_off": list(config.step.layers_off)}
    whole = {"format": FORMAT, "version": VERSION, "page": config.page, **groups}
    whole |= {"upload": dict(upload)} if upload else {}
    whole |= {"step": step, "scene_hashes": list(config.hashes), "guarantees": list(guarantees)}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    if config.is_drawn:  # thousands of numbers in one line, not each in its own
        text = f'{text[:-2]},\n  "drawing": {json.dumps(to_file(config.sheet), allow_nan=False)}\n}}'
    return text + "\n"


def read(data: bytes, pages: Collection[str] = tuple(CATALOGUE)) -> Config:
    """Read a file that anybody may have written, for one of `pages`.

    Raises ConfigError; every value is checked again by its knob.
    """
    whole = _parsed(data)
    if whole.get("format") != FORMAT:
        raise ConfigError(f"The file's format is not “{FORMAT}”. Choose a JSON file that this app has exported.")
    if whole.get("version") != VERSION or isinstance(whole.get("version"), bool):
        raise ConfigError(
            f"The file's version is {_shown(whole.get('version'))}, but this app reads version {VERSION}."
        )
    page = whole.get("page")
    if not isinstance(page, str) or page not in pages:
        raise ConfigError(f"The file's page is {_shown(page)}, but it must be one of {', '.join(pages)}.")
    query = tuple(pair for group in GROUPS for pair in _pairs(group, whole.get(group, {})))
    names = [name for name, _ in query]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ConfigError(f"The file has {repeated[0]} twice, but once is enough. Take one of them out.")
    step, hashes = _step(whole.get("step")), _hashes(whole.get("scene_hashes"))
    form = form_from_file(whole.get("upload"))
    return Config(page, query, step, hashes, form, _sheet(whole, dict(query).get("data")))


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise ConfigError(f"The file has {len(data):,} bytes, but a configuration has at most {MOST_BYTES:,}.")
    try:
        whole = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number, object_pairs_hook=_unique)
    except ConfigError:
        raise
    except (ValueError, RecursionError):  # also bytes that are no UTF-8, and numbers of thousands of digits
        raise ConfigError("The file is no JSON that can be read. Choose one that this app has exported.") from None
    if not isinstance(whole, dict):
        raise ConfigError("The file holds no JSON object. Choose a file that this app has exported.")
    return whole


def _no_number(text: str) -> NoReturn:
    raise ConfigError(f"The file has the value {text}, but every value must be a number or text. Correct it.")


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ConfigError(f"The file has {_shown(name)} twice, but once is enough. Take one of them out.")
        found[name] = value
    return found


def _group(name: str) -> str:
    if name in ("data", "n") or name.startswith("data_"):
        return "data"
    return "seeds" if name in SEEDS else "view" if name in VIEW else "knobs"


def _pairs(group: str, values: Any) -> list[tuple[str, str]]:
    if not isinstance(values, dict) or len(values) > MOST_VALUES:
        raise ConfigError(f"The file's {group} must be an object of at most {MOST_VALUES} values. Correct it.")
    return [(_checked_name(group, name), _text(name, value)) for name, value in values.items()]


def _checked_name(group: str, name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(f"The file's {group} have the name {_shown(name)}, which no knob has. Take it out.")
    return name


def _text(name: str, value: Any) -> str:
    """Write a value as a link has it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int) and abs(value) < 10**18:
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and len(value) <= MOST_TEXT:
        return value
    raise ConfigError(
        f"The file's {_shown(name)} is {_shown(value)}, but it must be a finite number, true or false, or text of at "
        f"most {MOST_TEXT} characters. Correct it."
    )


def _typed(text: str) -> int | float | str:
    """Return the number that is written exactly so, else the text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if (str(number) if kind is int else repr(number)) == text and math.isfinite(number) and abs(number) < 10**18:
            return number
    return text


def _step(step: Any) -> ScrubberStep:
    """Return the step; what makes no sense in it is nothing, as it changes no number of the picture."""
    if not isinstance(step, dict):
        return ScrubberStep()
    frame, off = step.get("frame"), step.get("layers_off")
    at = frame if isinstance(frame, int) and not isinstance(frame, bool) and 0 <= frame < MOST_FRAMES else 0
    names = off if isinstance(off, list) else []
    kept = tuple(name for name in names[:200] if isinstance(name, str) and len(name) <= 200)
    return ScrubberStep(at, "", kept)


def _hashes(hashes: Any) -> tuple[str, ...]:
    given = hashes if isinstance(hashes, list) else []
    return tuple(one for one in given[:2] if isinstance(one, str) and _HASH.fullmatch(one))


def _sheet(whole: Mapping[str, Any], data: str | None) -> DrawnPoints | None:
    """Return what was drawn, every number of it checked."""
    if "drawing" not in whole:
        return None
    if data != DRAWN:
        raise ConfigError("The file has a drawing, but its data are not “Draw your own”. Take the drawing out.")
    try:
        return from_file(whole["drawing"])
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _shown(value: Any) -> str:
    """Return a short form of a value that anybody may have written."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= 10**18:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
