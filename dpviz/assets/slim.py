"""Scripts and style sheets with nothing in them that only people read."""

import json
import re

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SHEET_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{};]+)\{[^{}]*\}")
_STREAMLIT = re.compile(r"\[data-testid|\.stApp\b")
_PIECE = re.compile(  # of a script; a template's text is found apart, since others can stand in it
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<space>\s+)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<template>`)"""
    r"""|(?P<pattern>/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)|(?P<word>[\w$#]+)|(?P<sign>.)""",
    re.DOTALL,
)
_VALUE_ENDS = re.compile(r"[\w$\"'`)\]}]$")  # what a slash divides; after all else it begins a pattern
_BEFORE_PATTERN = {"return", "typeof", "case", "of", "in"}
_GLUED = re.compile(r"[\w$#][\w$#]|\+\+|--|<!|\d\.|[\w$)\]]/|//|/[\w$*]")  # what needs the space between
_OPEN = set("{;,([:=?&|")  # a line that ends so goes on, or is over
_GOES_ON = set("}).:?&|=,")  # what begins a line that belongs to the one before


def plain(source: str) -> str:
    """Return a script in ASCII: a page of somebody else may have any encoding, and scripts are read in the page's."""
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], source)


def slim(source: str) -> str:
    """Return a script without comments, and spaces that part nothing. Raises ValueError where a text does not end."""
    kept: list[str] = []
    last, waiting, at = "", "", 0
    while at < len(source):
        piece = _PIECE.match(source, at)
        assert piece is not None
        kind, said = piece.lastgroup, piece[0]
        if kind == "pattern" and _VALUE_ENDS.search(last) and last not in _BEFORE_PATTERN:
            kind, said = "sign", "/"
        if kind == "template":
            said = source[at : _end_of_template(source, at + 1)]
        at += len(said)
        if kind in ("comment", "space"):
            waiting = "\n" if "\n" in said or waiting == "\n" else " "
            continue
        if kept and _parts(waiting, last[-1], said[0]):
            kept.append(waiting)
        kept.append(said)
        last, waiting = said, ""
    return "".join(kept) + "\n"


def _parts(space: str, before: str, after: str) -> bool:
    """Whether a space between two letters, "" for none, has to stay."""
    if space == "\n":
        return before not in _OPEN and after not in _GOES_ON
    return bool(space) and _GLUED.fullmatch(before + after) is not None


def _end_of_template(source: str, at: int) -> int:
    """Return where the template ends whose text begins at a place. Raises ValueError where it does not."""
    while at < len(source):
        if source[at] == "\\":
            at += 2
        elif source[at] == "`":
            return at + 1
        elif source.startswith("${", at):
            at = _end_of_insert(source, at + 2)
        else:
            at += 1
    raise ValueError("A text in a script of the site does not end.")


def _end_of_insert(source: str, at: int) -> int:
    """Return where what is inserted into a template ends."""
    depth = 0
    while at < len(source):
        piece = _PIECE.match(source, at)
        assert piece is not None
        if piece.lastgroup == "template":
            at = _end_of_template(source, at + 1)
            continue
        if piece[0] == "}" and depth == 0:
            return at + 1
        depth += (piece[0] == "{") - (piece[0] == "}")
        at = piece.end() if piece.lastgroup != "pattern" else at + 1
    raise ValueError("A text in a script of the site does not end.")


def slim_sheet(source: str) -> str:
    """Return a style sheet without comments, spaces and what is about Streamlit's own elements alone."""
    text = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", _SHEET_COMMENT.sub("", source)))
    text = re.sub(r"(?<=[{;])([\w-]+): ", r"\1:", text.replace(";}", "}")).replace(" > ", ">")
    text = _RULE.sub(lambda rule: "" if all(_STREAMLIT.search(each) for each in rule[1].split(",")) else rule[0], text)
    return re.sub(r"@[^{};]*\{\}", "", text).strip()
