"""Short links for QR codes: a page's whole state in some twenty letters and digits, with nothing stored anywhere.

A state is what differs from the page's own link in `assets/short.json`, which has the names and words that links are
made of. These tables are never changed: a code is read with those that it was written with, and what they lack is
spelled out. All parts are digits of one number, each in a base of its own, and the number is written in base 36: in
capitals, of which a QR code needs less room. A code with one letter changed is refused 250 times in 251.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from dpviz.assets import text

FOLDER = "S"  # of the addresses
BASE = 36  # of a code: digits and capitals
CHECK = 251  # a prime, to which the version is added
VERSION = 1
MOST_LETTERS = 400  # of a code that is read
WRONG = "This short link is cut off, was changed, or is of another version. Scan the code again, or ask for the link."
_GROUP, _MORE = 8, 16  # a whole number goes in groups of three bits, and a fourth that says whether more follow
_NUMBER = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_WORDS, _WHOLE, _DECIMAL, _SPELLED = range(4)  # kinds of values


@cache
def _tables() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], Mapping[str, Mapping[str, str]]]:
    """Return the names of pages and of parameters, words, and each page's own link."""
    written: dict[str, Any] = json.loads(text("short.json"))
    links = {page: dict(parse_qsl(query, keep_blank_values=True)) for page, query in written["pages"].items()}
    return tuple(links), tuple(written["names"]), tuple(written["words"]), links


class _Number:
    """Digits of one number: those that are put in first are taken out first."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.digits = number, list[tuple[int, int]]()

    def put(self, digit: int, base: int) -> None:
        self.digits.append((digit, base))

    def take(self, base: int) -> int:
        self.number, digit = divmod(self.number, base)
        return digit

    def put_whole(self, whole: int) -> None:
        while whole >= _GROUP:
            self.put(_GROUP + whole % _GROUP, _MORE)
            whole //= _GROUP
        self.put(whole, _MORE)

    def take_whole(self) -> int:
        whole, size = 0, 1
        while True:
            digit = self.take(_MORE)
            whole += size * (digit % _GROUP)
            if digit < _GROUP:
                return whole
            if not self.number:
                raise ValueError(WRONG)
            size *= _GROUP

    @property
    def whole(self) -> int:
        number = self.number
        for digit, base in reversed(self.digits):
            number = number * base + digit
        return number


def _put_text(number: _Number, spelled: str) -> None:
    letters = spelled.encode()
    number.put_whole(len(letters))
    for letter in letters:
        number.put(letter, 256)


def _take_text(number: _Number) -> str:
    length = number.take_whole()
    if length > MOST_LETTERS:
        raise ValueError(WRONG)
    return bytes(number.take(256) for _ in range(length)).decode()


def _put_name(number: _Number, name: str, known: tuple[str, ...]) -> None:
    """Put the place of a name among those that are known, or after all of them the name itself."""
    number.put(known.index(name) if name in known else len(known), len(known) + 1)
    if name not in known:
        _put_text(number, name)


def _take_name(number: _Number, known: tuple[str, ...]) -> str:
    at = number.take(len(known) + 1)
    return known[at] if at < len(known) else _take_text(number)


def _put_value(number: _Number, value: str) -> None:
    words = _tables()[2]
    listed = value.split(",")
    numeral = _NUMBER.fullmatch(value)
    if all(word in words for word in listed):
        number.put(_WORDS, 4)
        number.put_whole(len(listed) - 1)
        for word in listed:
            _put_name(number, word, words)
    elif numeral and numeral[2] is None:
        number.put(_WHOLE, 4)
        number.put_whole(int(value))
    elif numeral:
        number.put(_DECIMAL, 4)
        number.put_whole(len(numeral[2]))
        number.put_whole(int(numeral[1] + numeral[2]))
    else:
        number.put(_SPELLED, 4)
        _put_text(number, value)


def _take_value(number: _Number) -> str:
    words = _tables()[2]
    kind = number.take(4)
    if kind == _WORDS:
        many = number.take_whole()
        if many > MOST_LETTERS:
            raise ValueError(WRONG)
        return ",".join(_take_name(number, words) for _ in range(many + 1))
    if kind == _WHOLE:
        return str(number.take_whole())
    if kind == _DECIMAL:
        after, digits = number.take_whole(), number.take_whole()
        if after > MOST_LETTERS:
            raise ValueError(WRONG)
        written = str(digits).rjust(after + 1, "0")
        return f"{written[:-after]}.{written[-after:]}" if after else written
    return _take_text(number)


def shortened(page: str, query: str) -> str:
    """Return the code of a page's state, given its link's query. Raises ValueError for a page without a short link."""
    pages, names, _, links = _tables()
    if page not in links:
        raise ValueError(f"{page} has no short link. Pages with one are {', '.join(pages)}.")
    state, own = dict(parse_qsl(query, keep_blank_values=True)), links[page]
    changed = {name: value for name, value in state.items() if own.get(name) != value}
    gone = [name for name in own if name not in state]
    number = _Number()
    number.put(pages.index(page), len(pages))
    for some in (changed, gone):
        number.put_whole(len(some))
        for name in some:
            _put_name(number, name, names)
            if some is changed:
                _put_value(number, changed[name])
    return np.base_repr(number.whole * CHECK + _check(number.whole), BASE)


def _check(whole: int) -> int:
    return (whole % (CHECK - 2) + VERSION) % CHECK


def opened(code: str) -> tuple[str, str]:
    """Return the page and the query of a code. Raises ValueError for what is none."""
    pages, names, _, links = _tables()
    if not code.isascii() or not code.isalnum() or len(code) > MOST_LETTERS:
        raise ValueError(WRONG)
    whole, check = divmod(int(code, BASE), CHECK)
    if check != _check(whole):
        raise ValueError(WRONG)
    number = _Number(whole)
    page = pages[number.take(len(pages))]
    readers: tuple[Callable[[_Number], str | None], ...] = (_take_value, lambda _: None)
    state: dict[str, str | None] = dict(links[page])
    for read in readers:
        many = number.take_whole()
        if many > MOST_LETTERS:
            raise ValueError(WRONG)
        for _ in range(many):
            name = _take_name(number, names)
            state[name] = read(number)
    if number.number:
        raise ValueError(WRONG)
    return page, urlencode({name: value for name, value in state.items() if value is not None}, safe=",")


def short_link(link: str) -> str:
    """Return the short form of a page's whole link; the link itself where its page has none, or the form is longer."""
    here, _, query = link.partition("?")
    folder, _, page = here.rstrip("/").rpartition("/")
    try:
        code = shortened(page, query)
    except ValueError:
        return link
    scheme, _, host = folder.partition("://")
    # A QR code needs less room for capitals; what follows the host may mind them.
    start = folder if "/" in host else f"{scheme}://{host}".upper()
    found = f"{start}/{FOLDER}/{code}"
    return found if len(found) < len(link) else link


def _open(request: Request) -> Response:
    try:
        page, query = opened(request.path_params["code"])
    except ValueError:  # also of bytes that spell nothing
        return PlainTextResponse(WRONG, status_code=404)
    return RedirectResponse(f"../{page}?{query}")


ROUTE = Route(f"/{FOLDER}/{{code}}", _open)
