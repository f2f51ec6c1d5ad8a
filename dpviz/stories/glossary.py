"""The glossary: terms, their places in texts, and their small pictures."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from urllib.parse import quote

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import immutable_value
from dpviz.plots.scene import Role
from dpviz.plots.theme import DARK, LIGHT, Theme

# Page that has every term.
PLACE_OF_ALL = "glossary"


@immutable_value
class Term:
    """A term with its meaning, the name of the picture that shows it, and its chapter of the course.

    `others` are synonyms. An `everyday` word also has other meanings: only a mark makes it a term.
    """

    name: str
    meaning: str
    place: str
    chapter: str = ""
    others: tuple[str, ...] = ()
    everyday: bool = False
    # Topic, if it is not the topic of its place.
    topic: str = ""

    @property
    def slug(self) -> str:
        """The name as a part of an address."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@immutable_value
class ShownPlace:
    """A picture of the app: the words of its link, its page and query."""

    words: str
    address: str


_WRITTEN = tomllib.loads((ASSETS / "glossary.toml").read_text("utf-8"))
PLACES = MappingProxyType({name: ShownPlace(*each) for name, each in _WRITTEN["places"].items()})
GLOSSARY = MappingProxyType(
    {name: Term(name, **{**each, "others": tuple(each.get("others", ()))}) for name, each in _WRITTEN["terms"].items()}
)
SLUGS = MappingProxyType({term.slug: term for term in GLOSSARY.values()})
_MARK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
_NAMES = {word: term for term in GLOSSARY.values() if not term.everyday for word in (term.name, *term.others)}
_PLAIN = {word.lower(): term for word, term in _NAMES.items()}
_ANY = re.compile(
    rf"(?<![\w-])(?:{'|'.join(re.escape(word) for word in sorted(_NAMES, key=len, reverse=True))})(?![\w-])",
    re.IGNORECASE,
)


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield (words, term): the text in pieces, with the term that a piece names, "" for none.

    Raises KeyError for a term that is not in the glossary.
    """
    end = 0
    for matches in _MARK.finditer(text):
        if text[end : matches.start()]:
            yield text[end : matches.start()], ""
        term = matches[1]
        if term not in GLOSSARY:
            raise KeyError(f"{term} is not in the glossary. Add it, or take its brackets away.")
        yield matches[2] or term, term
        end = matches.end()
    if text[end:]:
        yield text[end:], ""


def noticed(text: str) -> tuple[tuple[str, str], ...]:
    """Split an unmarked text into pieces like `pieces`: the first mention of each term gets the term."""
    end, terms, chunk = 0, set(), []
    for pairs in _ANY.finditer(text):
        term = _PLAIN[pairs[0].lower()].name
        # Acronyms count only in capitals.
        if term in terms or (pairs[0] != term and term.isupper()):
            continue
        terms.add(term)
        chunk += [(text[end : pairs.start()], ""), (pairs[0], term)]
        end = pairs.end()
    return tuple(piece for piece in (*chunk, (text[end:], "")) if piece[0])


def topics() -> tuple[tuple[str, tuple[Term, ...]], ...]:
    """Return the terms by topic: those that a beginner needs, in the order of learning, then each of the others."""
    first = _WRITTEN["first"]
    grouped: dict[str, list[Term]] = {_WRITTEN["begin"]: [GLOSSARY[name] for name in first]}
    of_place = {place: topic for topic, places in _WRITTEN["topics"].items() for place in places}
    grouped |= {topic: [] for topic in _WRITTEN["topics"]}
    for name, term in GLOSSARY.items():
        if name not in first:
            grouped[term.topic or of_place[term.place]].append(term)
    return tuple((topic, tuple(terms)) for topic, terms in grouped.items())


def meant(*names: str) -> tuple[tuple[str, str], ...]:
    """Return terms with their meanings as a picture lists them.

    Raises KeyError for a term that the glossary does not have.
    """
    return tuple(
        # As they are: k, k-means, nD-Laplace, zCDP.
        (name[:1].upper() + name[1:] if name[1:2].islower() else name, GLOSSARY[name].meaning)
        for name in names
    )


def search(text: str) -> tuple[Term, ...]:
    """Return the terms that contain every word of a text, matches in the name first; all terms for an empty text."""
    words = text.lower().split()
    named = {name: " ".join((name, term.slug, ", ".join(term.others))).lower() for name, term in GLOSSARY.items()}
    terms = [
        term
        for name, term in GLOSSARY.items()
        if all(_has(f"{named[name]} {term.meaning.lower()}", word) for word in words)
    ]
    return tuple(sorted(terms, key=lambda term: not all(_has(named[term.name], word) for word in words)))


def _has(text: str, word: str) -> bool:
    """Return True if a text has a word, also in British spelling: neighbour, centre, randomised."""
    return word in text or word.replace("our", "or").replace("tre", "ter").replace("ise", "ize") in text


# Classes of marks -> their roles.
_ROLES = {"e": Role.EXACT, "r": Role.RELEASED, "n": Role.NOISE, "p": Role.PUBLIC, "v": Role.VIOLATION}


def _colors(theme: Theme, marks: str) -> str:
    named = {name: theme.roles[role] for name, role in _ROLES.items()}
    named |= {"t": theme.text, "a": theme.clusters[0], "b": theme.clusters[1]}
    return "".join(f".{name}{{--c:{color}}}" for name, color in named.items() if f' {name}"' in marks)


def style(marks: str) -> str:
    """Return the style rules of the marks; inside an image they follow the scheme of the element that shows it."""
    return (
        "*{stroke-width:1.8;stroke-linecap:round;fill:none}.f{fill:var(--c)}.s{stroke:var(--c)}.o{opacity:.3}"
        "text{font:600 13px system-ui,sans-serif}"
        f"{_colors(LIGHT, marks)}@media(prefers-color-scheme:dark){{{_colors(DARK, marks)}}}"
    )


# Size of every drawing.
WIDTH, HEIGHT = 96, 64
_DRAWN = tomllib.loads((ASSETS / "glossary_drawings.toml").read_text("utf-8"))
# Names of terms -> their marks, with the names of parts in braces.
DRAWINGS: Mapping[str, str] = _DRAWN["drawings"]
# Characters that need no escape in an image's URL.
_SAFE = " !$()*+,-./:;=?@[]_~'{}|"


@cache
def drawing(name: str) -> str:
    """Return a term's drawing as SVG. Raises KeyError for a term without one."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    marks = "".join(DRAWINGS[name].format_map(_DRAWN["parts"]).splitlines())
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style(marks)}</style>{marks}</svg>'


# Every page includes all drawings when it opens.
@cache
def address(name: str) -> str:
    """Return a term's drawing as the URL of an image."""
    return f"data:image/svg+xml,{quote(drawing(name).replace(chr(34), chr(39)), safe=_SAFE)}"
