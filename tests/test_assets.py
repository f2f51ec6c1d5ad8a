"""Scripts and sheets without what only people read: they say the same."""

import re
from collections import Counter

import pytest

from dpviz import notebook
from dpviz.assets import FOLDER, PICTURE, module, plain, site_script, site_sheet, slim, slim_sheet, text, words_sheet
from dpviz.ui import live, stage

SPOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\w$#]+|[^\s\w]')
TOP_LEVEL = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.js"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("const a = 1; // one\nconst b = 2;\n", "const a=1;const b=2;\n"),
        ("/** What it is.\n *  More. */\nf( a , b )\ng()\n", "f(a,b)\ng()\n"),
        ("a\n  .b()\n  ?? c;", "a.b()??c;\n"),
        ("x = a + +b - -c;", "x=a+ +b- -c;\n"),
        ("const s = \"a // b  c\", t = '/* d */';", "const s=\"a // b  c\",t='/* d */';\n"),
        (
            "const t = `a  ${ b ? `// ${ {c: 1}.c }  ` : '}' }  d`;  // e",
            "const t=`a  ${ b ? `// ${ {c: 1}.c }  ` : '}' }  d`;\n",
        ),
        ('return /[/"] \\/ +/.test( a ) / b / c;', 'return /[/"] \\/ +/.test(a) / b / c;\n'),
        ("if (a < !--b) c = typeof d in e;", "if(a< !--b)c=typeof d in e;\n"),
        ("x = 1 .toFixed()", "x=1 .toFixed()\n"),
        ("let a = b\n++c\n", "let a=b\n++c\n"),
        (
            "class A {\n  #b = 1;\n  get c() {\n    return this.#b;\n  }\n}\n",
            "class A{#b=1;get c(){return this.#b;}}\n",
        ),
    ],
)
def test_only_what_parts_nothing_goes(source: str, said: str) -> None:
    assert slim(source) == said
    assert slim(said) == said


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_says_the_same(name: str) -> None:
    """Word for word and sign for sign, once the comments of the original are gone; no script has `//` in a text."""
    source = re.sub(r"/\*.*?\*/", "", text(name), flags=re.DOTALL)
    source = re.sub(r"(^|[\s;,{(])//[^\n]*", r"\1", source)
    assert SPOKEN.findall(slim(text(name))) == SPOKEN.findall(source)


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


def test_a_text_without_end_is_refused() -> None:
    for broken in ("const a = `b", "const a = `b${c", "const a = `b${`c`"):
        with pytest.raises(ValueError, match="does not end"):
            slim(broken)


def test_the_sites_script_is_slim() -> None:
    script = site_script()
    assert "  " not in re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', script)
    assert "// " not in script
    assert plain(script).isascii()
    assert "Spray points" not in script, "what no page of a site can do"


def test_a_sheet_says_the_same() -> None:
    sheet = '/* a */\n:root { color: red; }\n.a > .b,\n.c { margin: 0 auto; content: "x: y"; }\n'
    sheet += "@media (x) { .stApp { top: 0; } }"
    assert slim_sheet(sheet) == ':root{color:red}.a>.b,.c{margin:0 auto;content:"x: y"}'
    for sheet in (site_sheet(), words_sheet()):
        assert not re.search(r"/\*|\n|  ", sheet)
        assert sheet.count("{") == sheet.count("}")


def test_no_two_scripts_of_the_site_name_the_same() -> None:
    """They share one scope, in which the later of two functions takes the place of the other."""
    parts = (*PICTURE, "slider", "picture", "dense", "site_files", "site", "embed")
    named = [name for part in parts for name in TOP_LEVEL.findall(text(f"{part}.js"))]
    assert len(named) > 200
    assert [name for name, count in Counter(named).items() if count > 1] == []
