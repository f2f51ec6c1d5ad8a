"""The words of the app, one meaning each for every page; a text names one as [[word]] or [[word|as it reads]]."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dpviz.assets import FOLDER as ASSETS

PLACE_OF_ALL = "glossary"  # the page that has every word


@dataclass(frozen=True, slots=True)
class Term:
    """A word, what it means, the name of the picture that shows it, and the chapter of the course that it belongs to.

    `others` are words for the same. An `everyday` word has other senses, too: nothing but a mark makes it a term.
    """

    name: str
    meaning: str
    place: str
    chapter: str = ""
    others: tuple[str, ...] = ()
    everyday: bool = False

    @property
    def slug(self) -> str:
        """The name as a part of an address."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class ShownPlace:
    """A picture of the app: the words of its link, its page and query."""

    words: str
    address: str


def _read() -> tuple[Mapping[str, ShownPlace], Mapping[str, Term]]:
    written = tomllib.loads((ASSETS / "glossary.toml").read_text("utf-8"))
    terms = {
        name: Term(name, **{**each, "others": tuple(each.get("others", ()))}) for name, each in written["terms"].items()
    }
    places = {name: ShownPlace(*each) for name, each in written["places"].items()}
    return MappingProxyType(places), MappingProxyType(terms)


PLACES, GLOSSARY = _read()
SLUGS = MappingProxyType({term.slug: term for term in GLOSSARY.values()})
_MARK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
_NAMES = {word: term for term in GLOSSARY.values() if not term.everyday for word in (term.name, *term.others)}
_PLAIN = {word.lower(): term for word, term in _NAMES.items()}
_ANY = re.compile(
    rf"(?<![\w-])(?:{'|'.join(re.escape(word) for word in sorted(_NAMES, key=len, reverse=True))})(?![\w-])",
    re.IGNORECASE,
)


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield (words, term): the text in pieces, with the term that a piece stands for, "" for none.

    Raises KeyError for a term that the glossary has not.
    """
    end = 0
    for found in _MARK.finditer(text):
        if text[end : found.start()]:
            yield text[end : found.start()], ""
        term = found[1]  # in every language texts name terms in English
        if term not in GLOSSARY:
            raise KeyError(f"{term} is not in the glossary. Add it, or take its brackets away.")
        yield found[2] or term, term
        end = found.end()
    if text[end:]:
        yield text[end:], ""


def plainly(text: str) -> str:
    """Return the text without its marks."""
    return "".join(words for words, _ in pieces(text))


def noticed(text: str) -> tuple[tuple[str, str], ...]:
    """Return an unmarked text in pieces as `pieces` does: the first mention of each term stands for it."""
    end, seen, made = 0, set(), []
    for found in _ANY.finditer(text):
        term = _PLAIN[found[0].lower()].name
        if term in seen or (found[0] != term and term.isupper()):  # an acronym is written in capitals
            continue
        seen.add(term)
        made += [(text[end : found.start()], ""), (found[0], term)]
        end = found.end()
    return tuple(piece for piece in (*made, (text[end:], "")) if piece[0])


def meant(*names: str) -> tuple[tuple[str, str], ...]:
    """Return terms with their meanings as a picture lists them. Raises KeyError for one that the glossary has not."""
    return tuple((_titled(name), GLOSSARY[name].meaning) for name in names)


def search(text: str) -> tuple[Term, ...]:
    """Return the terms that have every word of a text, those by whose name they are found first; all for no words."""
    words = text.lower().split()
    found = [term for term in GLOSSARY.values() if all(word in _whole(term) for word in words)]
    return tuple(sorted(found, key=lambda term: not all(word in _named(term) for word in words)))


def _titled(name: str) -> str:
    is_symbol = not name[1:2].islower()  # k, k-means, nD-Laplace, zCDP
    return name if is_symbol else name[:1].upper() + name[1:]


def _named(term: Term) -> str:
    return " ".join((term.name, term.slug, *term.others)).lower()


def _whole(term: Term) -> str:
    return f"{_named(term)} {term.meaning.lower()}"
