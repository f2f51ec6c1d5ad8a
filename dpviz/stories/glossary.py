"""The glossary: terms, their places in texts, and their small pictures."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from urllib.parse import quote

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import attacker_odds
from dpviz.plots.scene import Role
from dpviz.plots.theme import DARK, LIGHT, Theme
from dpviz.stories.panel import limit

# Page that has every term.
PLACE_OF_ALL = "glossary"


@dataclass(frozen=True, slots=True)
class Term:
    """A word, what it means, the name of the picture that shows it, and the chapter of the course that it belongs to.

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


@dataclass(frozen=True, slots=True)
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
    """Return terms with their meanings as a picture lists them. Raises KeyError for one that the glossary has not."""
    return tuple(
        # As they are: k, k-means, nD-Laplace, zCDP.
        (name[:1].upper() + name[1:] if name[1:2].islower() else name, GLOSSARY[name].meaning)
        for name in names
    )


def search(text: str) -> tuple[Term, ...]:
    """Return the terms that have every word of a text, those by whose name they are found first; all for no words."""
    words = text.lower().split()
    named = {name: " ".join((name, term.slug, ", ".join(term.others))).lower() for name, term in GLOSSARY.items()}
    terms = [
        term
        for name, term in GLOSSARY.items()
        if all(_has(f"{named[name]} {term.meaning.lower()}", word) for word in words)
    ]
    return tuple(sorted(terms, key=lambda term: not all(_has(named[term.name], word) for word in words)))


def _has(text: str, word: str) -> bool:
    """Return whether a text has a word, also in British spelling: neighbour, centre, randomised."""
    return word in text or word.replace("our", "or").replace("tre", "ter").replace("ise", "ize") in text


EXACT, RELEASED, NOISE, PUBLIC, BROKEN, TEXT, ONE, TWO = "e", "r", "n", "p", "v", "t", "a", "b"
_ROLES = {EXACT: Role.EXACT, RELEASED: Role.RELEASED, NOISE: Role.NOISE, PUBLIC: Role.PUBLIC, BROKEN: Role.VIOLATION}


def _colors(theme: Theme, marks: str) -> str:
    named = {name: theme.roles[role] for name, role in _ROLES.items()}
    named |= {TEXT: theme.text, ONE: theme.clusters[0], TWO: theme.clusters[1]}
    return "".join(f".{name}{{--c:{color}}}" for name, color in named.items() if f' {name}"' in marks)


def style(marks: str) -> str:
    """Return the style rules of the marks; inside an image they follow the scheme of the element that shows it."""
    return (
        "*{stroke-width:1.8;stroke-linecap:round;fill:none}.f{fill:var(--c)}.s{stroke:var(--c)}.o{opacity:.3}"
        "text{font:600 13px system-ui,sans-serif}"
        f"{_colors(LIGHT, marks)}@media(prefers-color-scheme:dark){{{_colors(DARK, marks)}}}"
    )


def dots(places: Iterable[tuple[float, float]], color: str, r: float = 3.0) -> str:
    """Draw filled dots of radius `r`."""
    return "".join(f'<circle class="f {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>' for x, y in places)


def ring(x: float, y: float, r: float, color: str) -> str:
    """Draw an empty circle of radius `r`."""
    return f'<circle class="s {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def disc(x: float, y: float, r: float, color: str) -> str:
    """Draw a circle filled with a light shade."""
    return f'<circle class="f o {color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def path(at: Iterable[tuple[float, float]], color: str, *, dashed: bool = False) -> str:
    """Draw a line through these places."""
    line = "L".join(f"{x:.4g} {y:.4g}" for x, y in at)
    kind = ' stroke-dasharray="3 3"' if dashed else ""
    return f'<path class="s {color}" d="M{line}"{kind}/>'


def arrow(x0: float, y0: float, x1: float, y1: float, color: str) -> str:
    """Draw an arrow that ends at (x1, y1)."""
    along = math.atan2(y1 - y0, x1 - x0)
    ends = [(x1 - 6 * math.cos(along + turn), y1 - 6 * math.sin(along + turn)) for turn in (0.45, -0.45)]
    return path([(x0, y0), (x1, y1)], color) + path([ends[0], (x1, y1), ends[1]], color)


def box(x: float, y: float, width: float, height: float, color: str, *, filled: bool = False) -> str:
    """Draw a rectangle's border, or with `filled` its light shade."""
    kind = "f o" if filled else "s"
    return f'<rect class="{kind} {color}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def star(x: float, y: float, color: str) -> str:
    """Draw the mark of a center."""
    return f'<path class="f {color}" d="M{x:g} {y - 6:g}l6 6-6 6-6-6z"/>'


def word(x: float, y: float, words: str, color: str = TEXT) -> str:
    """Write words in the middle above (x, y)."""
    return f'<text class="f {color}" x="{x:g}" y="{y:g}" text-anchor="middle">{words}</text>'


# Size of every drawing.
WIDTH, HEIGHT = 96, 64
# Height of the line on which curves are drawn.
GROUND = 54
# Two groups of records.
_LEFT = ((14, 20), (24, 14), (20, 30), (31, 26), (13, 38))
_RIGHT = ((66, 36), (76, 28), (72, 46), (82, 42), (62, 50))
# Means of the two groups.
_CENTERS = ((20.4, 25.6), (71.6, 40.4))


def _curve(law: Callable[[float], float], color: str, height: float = 42.0, low: float = 6, high: float = 90) -> str:
    steps = [low + (high - low) * step / 42 for step in range(43)]
    return path([(x, GROUND - height * law(x)) for x in steps], color)


def _laplace(at: float) -> Callable[[float], float]:
    return lambda x: math.exp(-abs(x - at) / 11.0)


def _bell(at: float, sigma: float = 12.0) -> Callable[[float], float]:
    return lambda x: math.exp(-(((x - at) / sigma) ** 2) / 2)


def _hills(x: float) -> float:
    return 0.9 * _bell(22, 8)(x) + 0.75 * _bell(46, 7)(x) + 0.85 * _bell(78, 7)(x)


# Pass between the first two hills.
_PASS = (35.0, GROUND - 42.0 * _hills(35.0))


def _floor() -> str:
    return path([(6, GROUND), (90, GROUND)], TEXT)


def _grouped(one: str = ONE, two: str = TWO) -> str:
    return dots(_LEFT, one) + dots(_RIGHT, two)


def _secret() -> str:
    return _grouped(EXACT, EXACT)


def _stars(color: str = RELEASED) -> str:
    return "".join(star(x, y, color) for x, y in _CENTERS)


def _worlds(*, shifted: bool) -> str:
    """Draw two data sets beside each other that differ in one record."""
    left = ((14, 20), (26, 30), (16, 44), (30, 46))
    right = tuple((x + 50, y) for x, y in left)
    other = dots([(84, 20)], ONE) if shifted else ring(*right[1], 4, ONE)
    both = dots(left[:1] + left[2:] + right[:1] + right[2:], EXACT) + dots(left[1:2], ONE) + other
    return box(4, 8, 38, 48, TEXT) + box(54, 8, 38, 48, TEXT) + both


def _bars(shares: Iterable[float], labels: str) -> str:
    """Draw a budget that is shared: bars side by side which fill one width."""
    at, marks = 8.0, ""
    for i, share in enumerate(shares):
        marks += box(at, 30, 80 * share - 2, 18, RELEASED, filled=bool(i % 2)) + box(
            at, 30, 80 * share - 2, 18, RELEASED
        )
        at += 80 * share
    return marks + word(48, 22, labels)


def _lock(x: float, y: float) -> str:
    return f'<rect class="f {EXACT}" x="{x - 6:g}" y="{y:g}" width="12" height="10" rx="1.5"/>' + (
        f'<path class="s {EXACT}" d="M{x - 3.5:g} {y:g}v-3a3.5 3.5 0 0 1 7 0v3"/>'
    )


def _cut(x: float) -> str:
    return path([(x, 6), (x, 58)], RELEASED)


def _moves(*shifts: tuple[float, float]) -> str:
    places = ((18, 22), (40, 44), (66, 20), (78, 46))
    ends = [(x + dx, y + dy) for (x, y), (dx, dy) in zip(places, shifts, strict=True)]
    arrows = "".join(arrow(*start, *end, NOISE) for start, end in zip(places, ends, strict=True))
    return dots(places, EXACT) + arrows + dots(ends, RELEASED)


def _zones(*, inner: bool, outer: bool) -> str:
    marks = ring(42, 34, 24, EXACT) if outer else ""
    marks += disc(52, 30, 13, NOISE) + ring(52, 30, 13, NOISE) if inner else ""
    return (
        marks
        + dots([(42, 34)], EXACT, 4)
        + dots([(66, 34)], RELEASED, 4) * outer
        + dots([(56, 27)], RELEASED, 3) * inner
    )


DRAWINGS: Mapping[str, Callable[[], str]] = {
    "BLUM": lambda: _secret() + "".join(ring(x, y, 16, NOISE) for x, y in _CENTERS) + _stars(),
    "DPCube": lambda: _secret() + "".join(box(8, 8, w, 0.6 * w, NOISE) for w in (80, 40, 20)),
    "DPLloyd": lambda: (
        _secret()
        + arrow(20, 26, 32, 14, NOISE)
        + arrow(72, 40, 58, 52, NOISE)
        + star(36, 12, RELEASED)
        + star(54, 55, RELEASED)
    ),
    "DPMoG": lambda: "".join(
        disc(x, y, r, NOISE) + ring(x, y, r, NOISE) for x, y, r in ((22, 28, 15), (48, 40, 11), (74, 26, 17))
    ),
    "DWORK": lambda: _bars((0.5, 0.25, 0.125, 0.125), "ε/2, ε/4, …"),
    "EUGkM": lambda: "".join(
        box(16 + 16 * i, 8 + 16 * j, 15, 15, NOISE, filled=(i + 2 * j) % 3 == 0) for i in range(4) for j in range(3)
    ),
    "FastLloyd": lambda: _secret() + "".join(ring(x, y, 22, PUBLIC) for x, y in _CENTERS) + _stars(),
    "GUPT": lambda: (
        "".join(box(x, 8, 24, 30, EXACT) + star(x + 12, 22, EXACT) for x in (6, 36, 66))
        + arrow(48, 42, 48, 48, NOISE)
        + star(48, 57, RELEASED)
    ),
    "NAS": lambda: _secret() + dots([(44, 32)], PUBLIC, 4) + ring(44, 32, 22, PUBLIC) + star(50, 28, RELEASED),
    "NNA": lambda: _secret() + _cut(47) + dots([(28, 44), (68, 14)], PUBLIC, 4) + _stars(),
    "PrivGene": lambda: (
        star(16, 16, RELEASED)
        + star(16, 46, RELEASED)
        + arrow(26, 18, 52, 30, TEXT)
        + arrow(26, 44, 52, 34, TEXT)
        + star(64, 32, RELEASED)
        + arrow(70, 28, 86, 14, NOISE)
    ),
    "SU": lambda: _bars((0.4, 0.6), "counts, sums"),
    "add or remove": lambda: _worlds(shifted=False),
    "adjacency": lambda: _worlds(shifted=False) + word(48, 37, "~"),
    "AMI": lambda: _grouped(ONE, TWO) + ring(22, 26, 20, TEXT) + ring(72, 40, 20, TEXT),
    "ARI": lambda: (
        _grouped(ONE, TWO) + path([(24, 14), (13, 38)], TEXT) + path([(31, 26), (62, 50)], TEXT, dashed=True)
    ),
    "attacker": lambda: (
        f'{_stars()}<path class="s {TEXT}" d="M38 16q12-12 24 0q-12 12-24 0z"/>' + dots([(50, 16)], TEXT, 3.5)
    ),
    "attacker odds": lambda: (
        box(8, 30, 80, 14, TEXT)
        + box(8, 30, 0.8 * attacker_odds(1.0), 14, RELEASED, filled=True)
        + word(48, 22, f"{limit(attacker_odds(1.0))} in 100")
    ),
    "audit": lambda: (
        _floor() + _curve(_bell(38), RELEASED) + _curve(_bell(58), NOISE) + path([(48, 8), (48, 54)], TEXT, dashed=True)
    ),
    "basin": lambda: (
        _floor()
        + _curve(_hills, TEXT)
        + path([(62, 8), (62, 54)], RELEASED, dashed=True)
        + arrow(68, 40, 76, 16, RELEASED)
    ),
    "bound": lambda: (
        path([(8, 16), (88, 16)], TEXT)
        + "".join(box(14 + 16 * i, y, 9, GROUND - y, RELEASED, filled=True) for i, y in enumerate((34, 22, 40, 28, 19)))
    ),
    "box": lambda: (
        box(16, 8, 60, 48, PUBLIC) + dots([(30, 20), (44, 40), (58, 26), (76, 34)], EXACT) + arrow(92, 34, 80, 34, TEXT)
    ),
    "budget": lambda: _bars((0.4, 0.35, 0.25), "ε"),
    "center": lambda: _grouped() + _stars(),
    "centreness": lambda: (
        _floor()
        + path([(8, GROUND), (30, 30), (48, 12), (66, 30), (88, GROUND)], TEXT)
        + path([(48, 12), (48, GROUND)], RELEASED)
    ),
    "claim": lambda: (
        box(12, 10, 72, 18, TEXT) + word(48, 24, "ε = 1") + box(12, 36, 72, 18, BROKEN) + word(48, 50, "?", BROKEN)
    ),
    "cluster": _grouped,
    "composition": lambda: _bars((0.5, 0.5), "ε₁ + ε₂"),
    "convergent zone": lambda: _zones(inner=False, outer=True),
    "coreset": lambda: (
        dots([(x, y) for x in range(14, 90, 12) for y in (16, 32, 48)], EXACT, 2)
        + "".join(ring(x, 32, 14, PUBLIC) + dots([(x, 32)], PUBLIC, 4) for x in (20, 48, 76))
    ),
    "curator": lambda: box(12, 8, 72, 48, EXACT) + _secret() + _lock(48, 12),
    "cut": lambda: _secret() + _cut(47),
    "delta": lambda: _floor() + _curve(_bell(42), RELEASED) + _curve(_bell(42), NOISE, low=66),
    "differential privacy": lambda: _floor() + _curve(_laplace(44), RELEASED) + _curve(_laplace(52), NOISE),
    "DPM": lambda: _grouped() + _cut(47) + path([(47, 22), (90, 22)], RELEASED),
    "emptiness": lambda: _secret() + box(38, 8, 18, 48, NOISE, filled=True) + _cut(47),
    "epsilon": lambda: _floor() + _curve(_laplace(40), RELEASED) + _curve(_laplace(56), NOISE) + word(80, 22, "ε"),
    "exponential mechanism": lambda: (
        _floor()
        + "".join(
            box(12 + 15 * i, GROUND - 40 * chance, 10, 40 * chance, NOISE, filled=True)
            for i, chance in enumerate((0.15, 0.4, 1.0, 0.7, 0.2))
        )
    ),
    "Gaussian noise": lambda: _floor() + _curve(_bell(48), NOISE),
    "geo-indistinguishability": lambda: (
        dots([(20, 38), (76, 38)], EXACT, 4) + path([(24, 38), (72, 38)], TEXT, dashed=True) + word(48, 30, "ε · d")
    ),
    "inertia": lambda: (
        "".join(path([place, _CENTERS[0]], TEXT) for place in _LEFT)
        + "".join(path([place, _CENTERS[1]], TEXT) for place in _RIGHT)
        + _grouped()
        + _stars(TEXT)
    ),
    "k": lambda: _stars() + word(48, 24, "k = 2"),
    "k-means": lambda: _grouped() + _stars(TEXT),
    "Laplace noise": lambda: _floor() + _curve(_laplace(48), NOISE),
    "Lloyd's algorithm": lambda: (
        dots(_LEFT, ONE)
        + dots(_RIGHT, TWO)
        + arrow(44, 12, 25, 23, TEXT)
        + star(20.4, 25.6, TEXT)
        + arrow(50, 56, 66, 43, TEXT)
        + star(71.6, 40.4, TEXT)
    ),
    "local model": lambda: _moves((12, -8), (8, 6), (-10, 8), (-4, -12)),
    "medoid": lambda: dots(_LEFT[:3] + _LEFT[4:], ONE) + dots(_RIGHT, TWO) + star(31, 26, RELEASED),
    "Morse processing": lambda: _floor() + _curve(_hills, TEXT) + path([(6, 32), (90, 32)], RELEASED),
    "nD-Laplace": lambda: _moves((14, 8), (-10, -14), (8, 14), (-16, 6)),
    "neighbors": lambda: _worlds(shifted=False),
    "noise": lambda: dots([(22, 44)], EXACT, 4) + arrow(26, 41, 64, 22, NOISE) + dots([(70, 19)], RELEASED, 5),
    "perturbation area": lambda: (
        disc(48, 32, 24, NOISE) + ring(48, 32, 24, NOISE) + dots([(48, 32)], EXACT, 4) + dots([(62, 20)], RELEASED, 4)
    ),
    "post-processing": lambda: _stars() + arrow(34, 32, 58, 36, TEXT),
    "public": lambda: box(12, 8, 72, 48, PUBLIC) + _stars() + dots([(48, 32)], PUBLIC, 4),
    "pure": lambda: _floor() + _curve(_laplace(48), RELEASED) + word(78, 22, "δ = 0"),
    "randomized response": lambda: (
        ring(28, 32, 18, TEXT) + word(28, 37, "½") + arrow(50, 32, 62, 32, TEXT) + word(77, 37, "yes", RELEASED)
    ),
    "record": lambda: _secret() + ring(76, 28, 7, TEXT),
    "release": lambda: box(8, 10, 34, 44, EXACT) + _lock(25, 28) + arrow(46, 32, 62, 32, TEXT) + star(76, 32, RELEASED),
    "replace": lambda: _worlds(shifted=True),
    "rho": lambda: _bars((0.3, 0.7), "ρ"),
    "sampling zone": lambda: _zones(inner=True, outer=False),
    "secret": lambda: _secret() + _lock(48, 32),
    "seed": lambda: (
        box(10, 20, 34, 26, PUBLIC) + word(27, 38, "112") + arrow(48, 33, 62, 33, TEXT) + arrow(68, 44, 86, 22, NOISE)
    ),
    "sensitivity": lambda: (
        path([(8, 44), (88, 44)], TEXT)
        + dots([(30, 44)], EXACT, 4)
        + dots([(66, 44)], EXACT, 4)
        + arrow(34, 28, 62, 28, TEXT)
        + word(48, 20, "most")
    ),
    "silhouette": lambda: _grouped() + path([(31, 26), (20, 30)], TEXT) + path([(31, 26), (66, 36)], TEXT, dashed=True),
    "source-target clustering": lambda: (
        dots([(20, 18), (30, 34), (66, 46), (80, 24)], EXACT)
        + dots([(14, 46), (44, 14), (52, 50)], PUBLIC)
        + star(36, 26, RELEASED)
        + star(72, 36, RELEASED)
    ),
    "spending": lambda: "".join(
        path([(14, y), (60, y)], TEXT) + box(68, y - 5, w, 9, RELEASED, filled=True)
        for y, w in ((16, 8), (30, 14), (44, 5))
    ),
    "TEV": lambda: _floor() + _curve(_hills, TEXT) + ring(*_PASS, 5, RELEASED),
    "transition point": lambda: _floor() + _curve(_hills, TEXT) + ring(*_PASS, 5, RELEASED),
    "violation": lambda: (
        path([(8, 40), (88, 40)], TEXT, dashed=True)
        + box(40, 12, 16, 42, BROKEN, filled=True)
        + box(40, 12, 16, 42, BROKEN)
    ),
    "zCDP": lambda: _bars((0.25, 0.25, 0.25, 0.25), "ρ + ρ + ρ + ρ"),
    "zone": lambda: _zones(inner=True, outer=True),
}


# Characters that need no escape in an image's URL.
_SAFE = " !$()*+,-./:;=?@[]_~'{}|"


@cache
def drawing(name: str) -> str:
    """Return a term's drawing as SVG. Raises KeyError for one that has none."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    marks = DRAWINGS[name]()
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{style(marks)}</style>{marks}</svg>'


# Every page includes all drawings when it opens.
@cache
def address(name: str) -> str:
    """Return a term's drawing as an address that an image can have."""
    return f"data:image/svg+xml,{quote(drawing(name).replace(chr(34), chr(39)), safe=_SAFE)}"
