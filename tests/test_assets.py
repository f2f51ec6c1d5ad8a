"""Scripts and sheets agree with their copies in a published page."""

import re
from pathlib import Path

import pytest
from rcssmin import cssmin

from dpviz import assets
from dpviz.assets import join, module, page_script, plain, site_script, text, words_sheet
from dpviz.publishing.files import minified
from dpviz.publishing.pages import TOOLS
from tests.node import run_module

SPOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|[\w$#]+|[^\s\w]')
JOINED = re.compile(r"^const \$(\w+) = \(\(\) =>", re.MULTILINE)  # the scope of a module
MINIFIED = "".join(map(join, ("embed", "packed", *TOOLS))) + site_script()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of scripts that stands in for the package's own."""
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    return tmp_path


def test_a_minified_script_is_the_same() -> None:
    """Word for word and sign for sign, texts with their spaces; no script of a site has `//` in a text."""
    names = {*JOINED.findall(MINIFIED)}
    assert {"embed", "packed", "live_tools", "live_toolless", *TOOLS} <= names
    for name in names:
        source = re.sub(r"/\*.*?\*/", "", text(f"{name}.js"), flags=re.DOTALL)
        source = re.sub(r"(^|[\s;,{(])//[^\n]*", r"\1", source)
        assert SPOKEN.findall(minified(text(f"{name}.js"))) == SPOKEN.findall(plain(source)), name
        for each in re.findall(r"`(?:[^`\\]|\\.)*`", source):
            assert each.count("${") == each.count("}"), f"{each}: of a template inside a template spaces would go"


def test_joined_modules_keep_their_names_apart_and_run_once(folder: Path) -> None:
    (folder / "base.js").write_text(
        "const calls = [];\nexport const count = () => calls.push(0);\nexport function name() { return 'base'; }\n"
    )
    (folder / "one.js").write_text(
        'import { count, name as other } from "./base.js";\nconst calls = "one";\n'
        "export class One { name() { return calls + other() + count(); } }\n"
    )
    (folder / "table.json").write_text('{"size": 3}')
    (folder / "two.js").write_text(
        'import table from "./table.json" with { type: "json" };\nimport {\n  count,\n} from "./base.js";\n'
        'import { One } from "./one.js";\nconst calls = "two";\n'
        "export const run = () => [new One().name(), calls, count(), table.size];\nexport default calls;\n"
    )
    assert run_module(module("two")) == ["onebase1", "two", 2, 3]
    assert join("two").count("const calls = [];") == 1
    assert "export default $two.default;" in module("two")


def test_another_module_takes_the_place_of_one_and_a_page_knows_its_sheets(folder: Path) -> None:
    (folder / "live_tools.js").write_text("export const tools = 'all';\n")
    (folder / "live_toolless.js").write_text("export const tools = 'none';\n")
    (folder / "page.js").write_text('import { tools } from "./live_tools.js";\ntold.push(tools, SHEETS.page);\n')
    page = page_script("page", {"page": "a { }"})
    assert run_module(f"const told = [];\n{page}\nexport const run = () => told;") == ["none", "a { }"]


def test_a_script_that_cannot_be_joined_is_refused(folder: Path) -> None:
    (folder / "b.js").write_text('import { a } from "./a.js";\nexport const b = a;\n')
    refused = {
        'import { b } from "./b.js";': "circle: b.js -> a.js -> b.js",
        'import * as b from "./c.js";': "form",
        'import b, { c } from "./c.js";': "form",
        "const b = 1;\nexport { b };": "form",
        "export let b = 1;": "form",
        "export const [b] = [1];": "form",
    }
    for source, problem in refused.items():
        (folder / "a.js").write_text(f"{source}\nexport const a = 1;\n")
        with pytest.raises(ValueError, match=problem):
            join("b")


def test_the_sites_script_is_minified() -> None:
    script = minified(site_script(cssmin))
    assert len(script) < 0.75 * len(site_script())
    assert script.isascii()
    assert "Spray points" not in script, "what no page of a site can do"
    for sheet in (text("site.css"), words_sheet()):
        assert cssmin(sheet).count("{") == sheet.count("{")


def test_colors_of_both_themes_are_written_in_one_file_alone() -> None:
    light, dark = (assets.LOOK["themes"][name] for name in ("light", "dark"))
    pairs = {(light[name], dark[name]) for name in ("box", "text", "exact", "released", "noise", "public", "violation")}
    for sheet in assets.FOLDER.glob("*.css"):
        source = sheet.read_text("utf-8").replace("(#fff,", "(#ffffff,")
        assert pairs.isdisjoint(re.findall(r"light-dark\((#\w+), (#\w+)\)", source)), sheet.name
        assert "--look-" not in text(sheet.name)
    assert "color: light-dark(#0b5cad, #3f95e0);" in text("style.css")
