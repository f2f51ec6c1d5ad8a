"""Scripts, styles and small tables of the package; scripts can be joined to one."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

FOLDER = Path(str(files(__name__)))
# Colors, symbols, widths and type of every picture, which scripts read, too.
LOOK: dict[str, Any] = json.loads((FOLDER / "look.json").read_text(encoding="utf-8"))
# Font of pages without a server: a part of Source Serif 4 (docs/licenses.md).
SERIF = "serif.woff2"
# Nothing can be selected or drawn in a picture without a server, so the tools for that are left out.
TOOLLESS = MappingProxyType({"live_tools.js": "live_toolless.js"})
_IMPORT = re.compile(
    r'^import (?P<names>\{[\w\s,]*\}|\w+) from "\./(?P<file>\w+\.(?:js|json))"(?: with \{ type: "json" \})?;$',
    re.MULTILINE,
)
_EXPORT = re.compile(r"^export (?:(?:(?:async )?function|class|const) (?P<name>\w+)|default )", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_LOOK_COLOR = re.compile(r"var\(--look-(\w+)\)")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def join(name: str, swaps: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a script and everything that it imports as one script without imports.

    Each module has its own scope, so names in two modules do not collide. `$name` contains the script's exports, by
    name. A module whose file is a key of `swaps` is replaced. Raises ValueError for circular imports, and for an import
    or export in an unsupported form.
    """
    joined: dict[str, str] = {}
    _append(f"{name}.js", swaps, (), joined)
    return "".join(joined.values())


def module(name: str) -> str:
    """Return a script and everything that it imports as one module, with the script's own exports."""
    exported = [match["name"] for match in _EXPORT.finditer(text(f"{name}.js")) if match["name"]]
    names = f"export const {{ {', '.join(exported)} }} = ${name};\n" if exported else ""
    default = f"export default ${name}.default;\n" if "\nexport default " in text(f"{name}.js") else ""
    return join(name) + names + default


def _append(file: str, swaps: Mapping[str, str], above: tuple[str, ...], joined: dict[str, str]) -> None:
    """Add a module to `joined`, after those that it imports."""
    if file in joined:
        return
    if file in above:
        raise ValueError(f"Scripts import each other in a circle: {' -> '.join((*above, file))}.")
    source, name = text(file), Path(file).stem
    if file.endswith(".json"):
        joined[file] = f"const ${name}_json = {json.dumps(json.loads(source))};\n"
        return
    known = len(_IMPORT.findall(source)) + len(_EXPORT.findall(source))
    if known != len(_STATEMENT.findall(source)):
        raise ValueError(f"{file} imports or exports in a form that cannot be joined.")

    def imported(match: re.Match[str]) -> str:
        wanted = swaps.get(match["file"], match["file"])
        _append(wanted, swaps, (*above, file), joined)
        stem, suffix = wanted.split(".")
        if suffix == "json":
            return f"const {match['names']} = ${stem}_json;"
        names = match["names"].replace(" as ", ": ")
        return f"const {names if '{' in names else f'{{ default: {names} }}'} = ${stem};"

    body = _IMPORT.sub(imported, source)
    exported = [match["name"] or "default: $default" for match in _EXPORT.finditer(source)]
    body = body.replace("\nexport default ", "\nconst $default = ")
    body = re.sub(r"^export ", "", body, flags=re.MULTILINE)
    joined[file] = f"const ${name} = (() => {{\n{body}return {{ {', '.join(exported)} }};\n}})();\n"


def page_script(name: str, sheets: Mapping[str, str]) -> str:
    """Return a script of a page without a module loader; `SHEETS` holds style sheets by name."""
    return f'"use strict";\n(() => {{\nconst SHEETS = {json.dumps(sheets)};\n{join(name, TOOLLESS)}}})();\n'


def site_script(sheet: Callable[[str], str] = str) -> str:
    """Return the script of pages without a server: pictures, stage, slider and site, with their sheets.

    `sheet` is applied to each of the sheets.
    """
    return page_script("embed", {name: sheet(text(f"{name}.css")) for name in ("picture", "slider", "stage", "embed")})


def words_sheet(serif: str = SERIF) -> str:
    """Return the style sheet for text on such a page: the serif font, by its URL, and the app's own sheet."""
    face = f'font-display: swap; font-family: "dpviz Serif"; font-weight: 400 600; src: url({serif}) format("woff2");'
    return f"@font-face {{ {face} }}\n{text('style.css')}"


def kept_sheet() -> str:
    """Return the style sheet of a saved page, which contains the serif font."""
    serif = b64encode((FOLDER / SERIF).read_bytes()).decode()
    return text("site.css") + words_sheet(f"data:font/woff2;base64,{serif}")


def text(file: str) -> str:
    """Return the text of a file in this folder; a sheet's `var(--look-name)` is that color of `LOOK` in both themes."""
    content = (FOLDER / file).read_text(encoding="utf-8")
    if not file.endswith(".css"):
        return content
    light, dark = LOOK["themes"]["light"], LOOK["themes"]["dark"]
    return _LOOK_COLOR.sub(lambda match: f"light-dark({light[match[1]]}, {dark[match[1]]})", content)


def plain(source: str) -> str:
    """Return a script in ASCII, because browsers read it in the encoding of the page that includes it."""
    return _NOT_ASCII.sub(lambda match: json.dumps(match[0])[1:-1], source)
