"""Scripts and sheets, and what a published page has of them: they say the same."""

import re
from collections import Counter

import pytest
from rcssmin import cssmin

from dpviz import notebook
from dpviz.assets import PICTURE, module, plain, site_script, text, words_sheet
from dpviz.publishing.files import minified
from dpviz.publishing.pages import AUDIT_PARTS, COMPARE_PARTS, TOOLS
from dpviz.ui import live, stage

SPOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|[\w$#]+|[^\s\w]')
TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
SITE = (*PICTURE, "live_toolless", "slider", "picture", "instrument", "stage_view", "dense", "site_files", "site")


@pytest.mark.parametrize("name", sorted({*SITE, "embed", "packed", *TOOLS, *AUDIT_PARTS, *COMPARE_PARTS}))
def test_a_script_says_the_same(name: str) -> None:
    """Word for word and sign for sign, texts with their spaces; no script of a site has `//` in a text."""
    source = re.sub(r"/\*.*?\*/", "", text(f"{name}.js"), flags=re.DOTALL)
    source = re.sub(r"(^|[\s;,{(])//[^\n]*", r"\1", source)
    assert SPOKEN.findall(minified(text(f"{name}.js"))) == SPOKEN.findall(plain(source))
    for each in re.findall(r"`(?:[^`\\]|\\.)*`", source):
        assert each.count("${") == each.count("}"), f"{each}: of a template inside a template spaces would go"


def test_scripts_that_are_joined_have_no_name_in_common() -> None:
    declared = re.compile(
        r"^(?:export )?(?:async )?(?:const|let|class|function) (\[[^\]]*\]|\{[^}]*\}|[\w$]+)", re.MULTILINE
    )
    for joined in (
        module("live", *live.PARTS),
        module("stage", *stage.PARTS),
        module("notebook", *notebook.PARTS),
        site_script(),
    ):
        names = [name for found in declared.findall(joined) for name in re.findall(r"[\w$]+", found)]
        assert [name for name, times in Counter(names).items() if times > 1] == []


def test_the_sites_script_is_minified() -> None:
    script = minified(site_script(cssmin))
    assert len(script) < 0.75 * len(site_script())
    assert script.isascii()
    assert "Spray points" not in script, "what no page of a site can do"
    for sheet in (text("site.css"), words_sheet()):
        assert cssmin(sheet).count("{") == sheet.count("{")


def test_no_two_scripts_of_the_site_name_the_same() -> None:
    """They share one scope, in which the later of two functions takes the place of the other."""
    named = [
        name for part in (*SITE, "embed") if part != "live_tools" for name in TOP_LEVEL.findall(text(f"{part}.js"))
    ]
    assert len(named) > 200
    assert [name for name, count in Counter(named).items() if count > 1] == []
