"""Scripts, styles and small tables of the package; scripts and sheets can be minified, and joined to one module."""

import json
import re
from base64 import b64encode
from functools import cache
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files(__name__)))
SERIF = "serif.woff2"  # of pages without a server: a part of Source Serif 4 (docs/licenses.md)
PICTURE = (
    "row",
    "elements",
    "live_base",
    "live_turn",
    "live_axes",
    "live_glide",
    "live_fog",
    "live_draw",
    "live_labels",
    "live_earth",
    "live_hit",
    "live_table",
    "live_parts",
    "live_hands",
    "live_tools",
)  # the modules of picture.js, each after its imports
_IMPORT = re.compile(r"^import \{.*?\} from \"\./\w+\.js\";\n", re.DOTALL | re.MULTILINE)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_SHEET_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{};]+)\{[^{}]*\}")
_STREAMLIT = re.compile(r"\[data-testid|\.stApp\b")
_PIECE = re.compile(  # of a script; a template's text is matched apart, since templates nest
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<space>\s+)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<template>`)"""
    r"""|(?P<pattern>/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)|(?P<word>[\w$#]+)|(?P<sign>.)""",
    re.DOTALL,
)
_VALUE_ENDS = re.compile(r"[\w$\"'`)\]}]$")  # a slash divides these; after all else it begins a pattern
_BEFORE_PATTERN = {"return", "typeof", "case", "of", "in"}
_GLUED = re.compile(r"[\w$#][\w$#]|\+\+|--|<!|\d\.|[\w$)\]]/|//|/[\w$*]")  # letters that need the space between them
_OPEN = set("{;,([:=?&|")  # ends of lines that need no line break
_GOES_ON = set("}).:?&|=,")  # beginnings of lines that continue the one before


def module(name: str, *parts: str) -> str:
    """Return a script and the parts it imports, each after its own imports, as one module."""
    return "".join(_IMPORT.sub("", text(f"{part}.js")) for part in (*parts, name))


@cache
def site_script() -> str:
    """Return the script of pages without a server: pictures, stage, slider and site, with their sheets."""
    sheets = json.dumps({name: slim_sheet(text(f"{name}.css")) for name in ("picture", "slider", "stage", "embed")})
    parts = ["live_toolless" if each == "live_tools" else each for each in PICTURE]
    bundle = module(
        "embed", *parts, "slider", "picture", "instrument", "stage_view", "dense", "site_files", "site"
    ).replace("\nexport ", "\n")
    return slim(f'"use strict";\n(() => {{\nconst SHEETS = {sheets};\n{bundle}}})();\n')


@cache
def site_sheet() -> str:
    """Return the style sheet of the frame of pages without a server, beside whose file the serif lies."""
    return slim_sheet(text("site.css"))


@cache
def words_sheet() -> str:
    """Return the style sheet of their words, which is the app's own: it comes after the other."""
    return slim_sheet(text("style.css"))


@cache
def kept_sheet() -> str:
    """Return both with the serif in them."""
    serif = b64encode((FOLDER / SERIF).read_bytes()).decode()
    return (site_sheet() + words_sheet()).replace(f"url({SERIF})", f"url(data:font/woff2;base64,{serif})")


def text(file: str) -> str:
    """Return the text of a file in this folder."""
    return (FOLDER / file).read_text(encoding="utf-8")


def plain(source: str) -> str:
    """Return a script in ASCII: it is read in the encoding of its page, which may be anybody's."""
    return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], source)


def slim(source: str) -> str:
    """Return a script without comments and unnecessary spaces. Raises ValueError for a text that does not end."""
    parts: list[str] = []
    last, space, at = "", "", 0
    while at < len(source):
        piece = _PIECE.match(source, at)
        assert piece is not None
        kind, token = piece.lastgroup, piece[0]
        if kind == "pattern" and _VALUE_ENDS.search(last) and last not in _BEFORE_PATTERN:
            kind, token = "sign", "/"
        if kind == "template":
            token = source[at : _end_of_template(source, at + 1)]
        at += len(token)
        if kind in ("comment", "space"):
            space = "\n" if "\n" in token or space == "\n" else " "
            continue
        if space == "\n":
            needed = last[-1:] not in _OPEN and token[0] not in _GOES_ON
        else:
            needed = space == " " and _GLUED.fullmatch(last[-1:] + token[0]) is not None
        if parts and needed:
            parts.append(space)
        parts.append(token)
        last, space = token, ""
    return "".join(parts) + "\n"


def _end_of_template(source: str, at: int) -> int:
    """Return the end of the template whose text begins at a place. Raises ValueError without one."""
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
    """Return the end of an insert `${...}` into a template. Raises ValueError without one."""
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
    """Return a style sheet without comments, unnecessary spaces, and rules for Streamlit's own elements alone."""
    sheet = re.sub(r"\s*([{};,])\s*", r"\1", re.sub(r"\s+", " ", _SHEET_COMMENT.sub("", source)))
    sheet = re.sub(r"(?<=[{;])([\w-]+): ", r"\1:", sheet.replace(";}", "}")).replace(" > ", ">")
    sheet = _RULE.sub(lambda rule: "" if all(map(_STREAMLIT.search, rule[1].split(","))) else rule[0], sheet)
    return re.sub(r"@[^{};]*\{\}", "", sheet).strip()
