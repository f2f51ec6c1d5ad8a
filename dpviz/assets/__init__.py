"""Scripts, styles and small tables that the package reads; an installed package has them as well."""

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from dpviz.assets.slim import slim, slim_sheet

FOLDER = Path(str(files(__name__)))
PICTURE = (
    "row",
    "elements",
    "live_base",
    "live_turn",
    "live_axes",
    "live_glide",
    "live_draw",
    "live_earth",
    "live_hit",
    "live_table",
    "live_parts",
    "live_hands",
    "live_tools",
)  # what picture.js is made of, each after what it imports
_IMPORT = re.compile(r"^import \{.*?\} from \"\./\w+\.js\";\n", re.DOTALL | re.MULTILINE)


def module(name: str, *parts: str) -> str:
    """Return a script and the parts it imports, in an order in which they can stand before it, as one module."""
    return "".join(_IMPORT.sub("", text(f"{part}.js")) for part in (*parts, name))


@cache
def site_script() -> str:
    """Return the script of pages without a server: pictures, slider and what joins them, with their sheets."""
    sheets = json.dumps({name: slim_sheet(text(f"{name}.css")) for name in ("picture", "slider", "embed")})
    parts = ["live_toolless" if each == "live_tools" else each for each in PICTURE]
    bundle = module("embed", *parts, "slider", "picture", "dense", "site_files", "site").replace("\nexport ", "\n")
    return slim(f'"use strict";\n(() => {{\nconst SHEETS = {sheets};\n{bundle}}})();\n')


@cache
def site_sheet() -> str:
    """Return the style sheet of pages without a server."""
    return slim_sheet(text("site.css") + text("style.css"))


def text(file: str) -> str:
    """Return what a file of this folder says."""
    return (FOLDER / file).read_text(encoding="utf-8")
