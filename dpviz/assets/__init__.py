"""Scripts, styles and small tables of the package; scripts can be joined to one module."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
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


def module(name: str, *parts: str) -> str:
    """Return a script and the parts it imports, each after its own imports, as one module."""
    return "".join(_IMPORT.sub("", text(f"{part}.js")) for part in (*parts, name))


def site_script(sheet: Callable[[str], str] = str) -> str:
    """Return the script of pages without a server: pictures, stage, slider and site, with their sheets.

    `sheet` is applied to each of the sheets.
    """
    sheets = json.dumps({name: sheet(text(f"{name}.css")) for name in ("picture", "slider", "stage", "embed")})
    parts = ["live_toolless" if each == "live_tools" else each for each in PICTURE]
    bundle = module(
        "embed", *parts, "slider", "picture", "instrument", "stage_view", "dense", "site_files", "site"
    ).replace("\nexport ", "\n")
    return f'"use strict";\n(() => {{\nconst SHEETS = {sheets};\n{bundle}}})();\n'


def words_sheet(serif: str = SERIF) -> str:
    """Return the style sheet of words on such a page: the serif, at an address, and the app's own sheet."""
    face = f'font-display: swap; font-family: "dpviz Serif"; font-weight: 400 600; src: url({serif}) format("woff2");'
    return f"@font-face {{ {face} }}\n{text('style.css')}"


def kept_sheet() -> str:
    """Return the style sheet of a page to keep, with the serif in it."""
    serif = b64encode((FOLDER / SERIF).read_bytes()).decode()
    return text("site.css") + words_sheet(f"data:font/woff2;base64,{serif}")


def text(file: str) -> str:
    """Return the text of a file in this folder."""
    return (FOLDER / file).read_text(encoding="utf-8")


def plain(source: str) -> str:
    """Return a script in ASCII: it is read in the encoding of its page, which may be anybody's."""
    return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], source)
