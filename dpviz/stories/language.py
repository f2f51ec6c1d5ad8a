"""What readers see in another language: gettext's catalogues, whose keys are the English sentences.

Sentences stay English until they are drawn. One that a run has put together is found by the message with {places} that
it has the form of: what stands in a place is said in the same language, and numbers are written as there. A place whose
name has one letter holds one word or number, and one that begins with "own" also words of somebody's own data, which
stay as they are. What a catalogue lacks stays English.
"""

import gettext
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from io import BufferedReader
from typing import TypeVar

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import Knob
from dpviz.plots import Layer

SOURCE = "en"
LANGUAGES: Mapping[str, str] = {SOURCE: "English", "de": "Deutsch"}
SIGNS = "1,234.5"  # a catalogue's message of this number says how its language writes decimals
SCRIPTS = "script"  # context of the messages in scripts, which browsers are sent
ARTICLED = {"person": "a person"}  # names of layers, and what one of their marks is called
OWN = "own"  # the beginning of the names of places that hold any words
_PLACE = re.compile(r"\{(\w+)\}")
_BETWEEN = re.compile(r"(?<=[.!?]) (?=[A-Z0-9])")  # two sentences
_WORDLESS = re.compile(r"(?:[\W\d_]|(?<=\d)e(?=[-+\d]))*")  # numbers, also 2e-05, and signs
_SIGN = re.compile(r"(?<=\d)[.,](?=\d)")  # in a number
_CONTEXT = "\x04"  # as gettext joins context and message
T = TypeVar("T")


class Catalogue(gettext.GNUTranslations):
    """The messages of one language, and patterns of those that have places, longest first, each after a part of it."""

    def _parse(self, fp: BufferedReader) -> None:  # type: ignore[override]  # the file that it has opened
        super()._parse(fp)
        messages: dict[str, str] = {key: text for key, text in self._catalog.items() if key}  # type: ignore[attr-defined]
        self.scripts = {
            key.removeprefix(f"{SCRIPTS}{_CONTEXT}"): text
            for key, text in messages.items()
            if key.startswith(f"{SCRIPTS}{_CONTEXT}")
        }
        self.messages = {key: text for key, text in messages.items() if _CONTEXT not in key}
        self.signs = str.maketrans(SIGNS, self.messages.get(SIGNS, SIGNS))
        placed = sorted(filter(_PLACE.search, self.messages), key=lambda key: -len(_PLACE.sub("", key)))
        self.patterns = [(max(_PLACE.split(key)[::2], key=len), _pattern(key), self.messages[key]) for key in placed]


def _pattern(message: str) -> re.Pattern[str]:
    """Return what finds a sentence of the form of a message."""
    literal, *rest = _PLACE.split(message)
    parts = [re.escape(literal)]
    for name, text in zip(rest[::2], rest[1::2], strict=True):
        again = f"(?P<{name}>" in "".join(parts)
        held = r"\S+" if len(name) == 1 else r"(?:[^.:;!?]|\.(?=\d))+?" if name.startswith(OWN) else ".+?"
        parts += [f"(?P={name})" if again else f"(?P<{name}>{held})", re.escape(text)]
    return re.compile("".join(parts), re.DOTALL)


@cache
def catalogue(language: str) -> Catalogue:
    """Return the messages of a language other than the source. Raises FileNotFoundError where there are none."""
    return gettext.translation("dpviz", ASSETS / "locale", [language], class_=Catalogue)


def translated(text: str, language: str, *, whole: bool = False) -> str | None:
    """Return an English text in a language, None where its catalogue lacks it; with `whole` also own words in it.

    Nothing is remembered: a sentence may hold what its reader alone may see.
    """
    words = catalogue(language)
    if text in words.messages:
        return words.messages[text]
    for part, pattern, message in words.patterns:
        if part in text and (found := pattern.fullmatch(text)):
            parts = {name: translated(held, language, whole=whole) for name, held in found.groupdict().items()}
            own = {name for name in parts if name.startswith(OWN) and not whole}
            if all(name in own or part is not None for name, part in parts.items()):
                return message.format(**{name: parts[name] or part for name, part in found.groupdict().items()})
    if _WORDLESS.fullmatch(text):
        return _SIGN.sub(lambda sign: sign[0].translate(words.signs), text)
    sentences = _BETWEEN.split(text)
    said = [translated(each, language, whole=whole) if len(sentences) > 1 else None for each in sentences]
    return None if None in said else " ".join(filter(None, said))


def say(text: str, language: str) -> str:
    """Return a text in a reader's language; what is not in its catalogue stays English."""
    return text if language == SOURCE else translated(text, language) or text


def spoken(record: T, language: str) -> T:
    """Return a picture, a knob, or what either is made of, with its words in a language."""
    if language == SOURCE:
        return record
    if isinstance(record, str):
        return say(record, language)  # type: ignore[return-value]  # T is str
    if isinstance(record, tuple):
        return tuple(spoken(each, language) for each in record)  # type: ignore[return-value]  # T is a tuple
    if isinstance(record, Knob):
        choices = tuple((value, say(words, language)) for value, words in record.choices)
        return replace(record, label=say(record.label, language), help=say(record.help, language), choices=choices)
    if isinstance(record, Layer):
        called = record.label or ARTICLED.get(record.name, record.name)
        return replace(
            record,
            name=say(record.name, language),
            names=spoken(record.names, language),
            hub=say(record.hub, language),
            label=say(called, language),
        )
    if not is_dataclass(record) or isinstance(record, type):
        return record
    told = {each.name: getattr(record, each.name) for each in fields(record) if each.name != "verdict"}
    return replace(record, **{name: spoken(value, language) for name, value in told.items() if _speaks(value)})


def _speaks(value: object) -> bool:
    return isinstance(value, str | tuple) or is_dataclass(value)
