"""Settings of a picture as a JSON file: page, data, seeds, view and knobs, in the words of a link.

The only records in a file are points drawn by hand, and only if the curator saved the file. The file includes the
ledger of releases, so that next year's release about the same people continues it.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import NoReturn

from dpviz.core import immutable_value
from dpviz.data import Choices
from dpviz.methods import CATALOGUE
from dpviz.tools.release import ReleaseLedger, ReleaseLedgerError, read_release_ledger, write_release_ledger
from dpviz.ui.data.answers import from_file as form_from_file
from dpviz.ui.data.drawing import DrawnPoints, from_file, to_file

FORMAT = "dpviz picture"
VERSION = 1
# Bytes of a settings file. The app's files have about 4,000 bytes, and at most 300,000 with 5,000 drawn points.
MOST_BYTES = 500_000
# Name of the data set whose points may be in the file.
DRAWN = "draw"
MOST_VALUES = 120
MOST_TEXT = 80
MOST_FRAMES = 10_000
MOST_NUMBER = 10**18
SEEDS = ("start_seed", "noise_seed", "secret")
VIEW = ("audience", "x", "y", "z", "principal", "view", "yaw", "pitch")
GROUPS = ("data", "seeds", "view", "knobs")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_HASH = re.compile(r"[0-9a-f]{64}")


class SettingsError(ValueError):
    """Error for a file without settings. The message names the value and the allowed ones, and suggests a solution."""


@immutable_value
class ScrubberStep:
    """The step on the scrubber, and the layers that were off."""

    frame: int = 0
    label: str = ""
    layers_off: tuple[str, ...] = ()


@immutable_value
class Settings:
    """A page and its parameters as in a link, with the step and the hashes of its pictures."""

    page: str
    query: tuple[tuple[str, str], ...]
    step: ScrubberStep = ScrubberStep()
    hashes: tuple[str, ...] = ()
    # Form of an upload. A link does not name the upload's columns.
    form: Choices | None = None
    # Points drawn by hand.
    sheet: DrawnPoints | None = None
    # Releases about these people.
    ledger: ReleaseLedger = field(default_factory=ReleaseLedger)

    @property
    def is_drawn(self) -> bool:
        """True if the picture shows records that were drawn by hand, in the file or not."""
        return dict(self.query).get("data") == DRAWN


def write(
    settings: Settings, *, guarantees: Sequence[Mapping[str, object]], upload: Mapping[str, object] | None = None
) -> str:
    """Return the file's text; `upload` describes an uploaded table's form: its columns and typed bounds.

    The sheet in `settings` is written as it is: the caller leaves out secrets.
    """
    groups: dict[str, dict[str, object]] = {name: {} for name in GROUPS}
    for name, text in settings.query:
        group = "view" if name in VIEW else "knobs"
        if name in SEEDS:
            group = "seeds"
        if name in ("data", "n") or name.startswith("data_"):
            group = "data"
        groups[group][name] = _typed(text)
    step = settings.step
    content: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "page": settings.page,
        **groups,
        **({"upload": dict(upload)} if upload else {}),
        "step": {"frame": step.frame, "label": step.label, "layers_off": list(step.layers_off)},
        "scene_hashes": list(settings.hashes),
        "guarantees": list(guarantees),
    }
    if settings.ledger.entries:
        content["ledger"] = write_release_ledger(settings.ledger)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    # Write thousands of numbers on one line instead of one line each.
    if settings.is_drawn:
        text = f'{text[:-2]},\n  "drawing": {json.dumps(to_file(settings.sheet), allow_nan=False)}\n}}'
    return text + "\n"


def read(data: bytes, pages: Collection[str] = tuple(CATALOGUE)) -> Settings:
    """Read an untrusted file, for one of `pages`; raises SettingsError. Every value is checked again by its knob."""
    content = _parse(data)
    if content.get("format") != FORMAT:
        raise SettingsError(f"The file's format is not “{FORMAT}”. Choose a JSON file exported by this app.")
    version, page = content.get("version"), content.get("page")
    if version != VERSION or isinstance(version, bool):
        raise SettingsError(f"The file's version is {_short(version)}, but this app reads version {VERSION}.")
    if not isinstance(page, str) or page not in pages:
        raise SettingsError(f"The file's page must be one of {', '.join(pages)}, got {_short(page)}.")
    query: list[tuple[str, str]] = []
    for group in GROUPS:
        values = content.get(group, {})
        if not isinstance(values, dict) or len(values) > MOST_VALUES:
            raise SettingsError(f"The file's {group} must be an object of at most {MOST_VALUES} values. Correct it.")
        for name, value in values.items():
            if not _NAME.fullmatch(name):
                raise SettingsError(f"The file's {group} have the name {_short(name)}, which no knob has. Remove it.")
            query.append((name, _link_text(name, value)))
    names = [name for name, _ in query]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise SettingsError(f"The file has {repeated[0]} twice. Remove one of them.")

    # The step and the hashes change no number of the picture, so values that make no sense are ignored.
    step, hashes = content.get("step"), content.get("scene_hashes")
    frame, off = (step.get("frame"), step.get("layers_off")) if isinstance(step, dict) else (0, [])
    if not isinstance(frame, int) or isinstance(frame, bool) or not 0 <= frame < MOST_FRAMES:
        frame = 0
    layers = off[:200] if isinstance(off, list) else []
    layers_off = tuple(name for name in layers if isinstance(name, str) and len(name) <= 200)
    scene_hashes = hashes[:2] if isinstance(hashes, list) else []

    form = form_from_file(content.get("upload"))
    sheet = None
    if "drawing" in content:
        if dict(query).get("data") != DRAWN:
            raise SettingsError("The file has a drawing, but its data are not “Draw your own”. Remove the drawing.")
        try:
            sheet = from_file(content["drawing"])
        except ValueError as error:
            raise SettingsError(str(error)) from None
    try:
        ledger = read_release_ledger(content.get("ledger", []))
    except ReleaseLedgerError as error:
        raise SettingsError(str(error)) from None
    return Settings(
        page,
        tuple(query),
        ScrubberStep(frame, "", layers_off),
        tuple(each for each in scene_hashes if isinstance(each, str) and _HASH.fullmatch(each)),
        form,
        sheet,
        ledger,
    )


def _parse(data: bytes) -> dict[str, object]:
    """Return the file's JSON object, in which every name occurs once."""

    def refuse_constant(text: str) -> NoReturn:
        raise SettingsError(f"The file has the value {text}, but every value must be a number or text. Correct it.")

    def unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
        values: dict[str, object] = {}
        for name, value in pairs:
            if name in values:
                raise SettingsError(f"The file has {_short(name)} twice. Remove one of them.")
            values[name] = value
        return values

    if len(data) > MOST_BYTES:
        raise SettingsError(f"A configuration has at most {MOST_BYTES:,} bytes, but the file has {len(data):,}.")
    try:
        content = json.loads(data.decode("utf-8-sig"), parse_constant=refuse_constant, object_pairs_hook=unique)
    except SettingsError:
        raise
    # Also raised for bytes that are not UTF-8 and for numbers with thousands of digits.
    except (ValueError, RecursionError):
        raise SettingsError("The file is not readable JSON. Choose one exported by this app.") from None
    if not isinstance(content, dict):
        raise SettingsError("The file contains no JSON object. Choose a file exported by this app.")
    return content


def _link_text(name: str, value: object) -> str:
    """Return a value as in a link."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int) and abs(value) < MOST_NUMBER:
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and len(value) <= MOST_TEXT:
        return value
    raise SettingsError(
        f"The file's {_short(name)} must be a finite number, true or false, or text of at most {MOST_TEXT} "
        f"characters, got {_short(value)}. Correct it."
    )


def _typed(text: str) -> int | float | str:
    """Return the number that is written exactly like this, else the text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if repr(number) == text and math.isfinite(number) and abs(number) < MOST_NUMBER:
            return number
    return text


def _short(value: object) -> str:
    """Return an untrusted value in a short form."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= MOST_NUMBER:
        return "a huge number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
