"""Which strings are texts, on sources written here: each kind of text is found, and nothing that a machine reads."""

import ast

import pytest

from dpviz.words.finding import is_read, problem, translate, translate_script, translate_table


def texts(source):
    """Return {text: what is filled in} of a Python source, as a catalogue has them."""
    found = {}
    translate(source, lambda text, filled: (found.setdefault(text, filled), text)[1])
    return found


def turned(source, words):
    """Return what a source says as `x` when these words are said."""
    known = {"n": 3, "total": 1234.5, "who": "you", "spoken": lambda text: text, "named": lambda name: name}
    exec(compile(translate(source, lambda text, _: words.get(text, text)), "<made>", "exec"), known)
    return known["x"]


READ = {
    "a sentence": ('x = "Noise hides you."', ["Noise hides you."]),
    "a label": ('x = Knob("k", "Clusters")', ["Clusters"]),
    "two words in lower case": ('x = "no units"', ["no units"]),
    "a joint": ("x = ' and '.join(names)", [" and "]),
    "in one piece": ('x = ("Noise " "hides you.")', ["Noise hides you."]),
    "a method's name": ('x = "nD-Laplace"', ["nD-Laplace"]),
    "in markup": ("x = '<b>Proved</b>'", ["<b>Proved</b>"]),
    "with a number": ('x = f"{n} records"', ["{0} records"]),
    "with braces": ('x = f"{{as}} they {n}"', ["{{as}} they {0}"]),
    "chosen inside": ("x = f\"{n} {'left' if n else 'gone'}\"", ["left", "gone"]),
    "filled inside": ("x = f\"{n} {f'of {total}' if n else ''} left\"", ["of {0}", "{0} {1} left"]),
    "a default": ('x = row.get("key", "Not there.")', ["Not there."]),
    "marked": ('x = spoken("level")', ["level"]),
    "marked together": ('x = spoken({"medoid": "one of the points", "pair": ("up", "down")})', 5),
    "an argument's default": ('def f(x="Nothing at all"): pass', ["Nothing at all"]),
    "a decorator's": ('@dialog("Gallery")\ndef f(): pass', ["Gallery"]),
    "an error's": ('raise ValueError(f"n was {n!r}, but it must be >= 1.")', ["n was {0}, but it must be >= 1."]),
}
NOT_READ = {
    "a docstring": '"""Says what it does."""\nclass A:\n    """So does this."""\n    def f(self): "And this."',
    "an annotation": 'def f(a: "some Type", b: Literal["Left", "Right"]) -> "Frame Of": pass\nx: "Some Type" = 1',
    "exported names": '__all__ = ["Box", "Some"]',
    "one word": 'x = "level"',
    "a file's name": 'x = ROOT / "style.css"',
    "CamelCase": 'x = "LaplaceEvent"',
    "a formula": r'x = r"\frac{Noise of it}{n}"',
    "a pattern": 'x = re.search(r"(?<![A-Za-z])at all", text)',
    "a style sheet": 'x = "body { color: red; } and { margin: 0 }"',
    "an attribute": 'x = f\'fill="none" stroke="{color}"\'',
    "a class in a tag": "x = f'<p class=\"{style}\">{n}</p>'",
    "chosen in a tag": "x = f\"<p class='{'proved' if n else 'refused'}'>{n}</p>\"",
    "a statement": 'x = "scene = story.scene(told, view)"',
    "an import": 'x = "from dpviz.stories import audit"',
    "a command": 'x = f"python -m dpviz.words {n}"',
    "what is looked up": 'x = relation.get("Type")',
    "a step of a ledger": 'x = LaplaceEvent(f"counts of level {n}", scale=1.0)',
    "a name of two words": 'x = named("number of records")',
    "machine code": '@compiled\ndef f(x):\n    raise ValueError("Not for people to read.")',
}


@pytest.mark.parametrize("kind", READ)
def test_what_is_read_is_found(kind):
    source, wanted = READ[kind]
    found = texts(source)
    assert len(found) == wanted if isinstance(wanted, int) else list(found) == wanted


@pytest.mark.parametrize("kind", NOT_READ)
def test_what_a_machine_reads_is_not(kind):
    assert texts(NOT_READ[kind]) == {}


def test_a_translator_is_told_what_is_filled_in():
    assert texts('x = f"{n} of {total:,.1f} for {who!r}"') == {"{0} of {1} for {2}": "{n}, {total:,.1f}, {who!r}"}


def test_numbers_change_places_and_keep_their_format():
    source = 'x = f"{n} of {total:,.1f} for {who!r}"'
    assert turned(source, {}) == "3 of 1,234.5 for 'you'"
    assert turned(source, {"{0} of {1} for {2}": "{2}: {{{0}}} von {1}"}) == "'you': {3} von 1,234.5"


def test_words_that_an_f_string_chooses_are_said_too():
    source = "x = f\"{n} {'records' if n > 1 else 'record'} left\""
    assert turned(source, {"records": "Sätze", "{0} {1} left": "noch {0} {1}"}) == "noch 3 Sätze"


def test_equal_texts_stay_equal():
    assert turned('a = "Too small"\nx = a == "Too small"', {"Too small": "Zu klein"})


def test_lines_stay_where_they_were():
    source = 'def f():\n    x = "Noise"\n    raise ValueError(x)'
    tree = translate(source, lambda *_: "a\nb")
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise)] == [3]


def test_an_untranslated_source_does_what_it_did():
    for source, _ in READ.values():
        assert ast.unparse(translate(source, lambda text, _: text)) == ast.unparse(ast.parse(source))


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("{0} of {1}", "{0} von"),
        ("{0} of {1}", "{0} von {1} {1}"),
        ("{0} of {1}", "{0} von {2}"),
        ("in {measured} runs", "in {gemessen} Läufen"),
        ("per set; default: %(default)s", "je Satz"),
        ("Its [[budget]].", "Sein Budget."),
        ("Its [[budget]].", "Sein [[Budget]]."),
    ],
)
def test_a_translation_that_leaves_something_out_is_refused(text, translation):
    why = problem(text, translation)
    assert repr(translation) in why
    assert repr(text) in why


def test_a_translation_that_keeps_everything_is_not():
    assert problem("{0} of {1}", "von {1} {0}") == ""
    assert problem("Its [[budget|own]].", "Sein [[budget|eigenes]].") == ""


def test_a_script_says_what_is_marked():
    script = 'a("Zoom", spoken("Zoom \\"in\\""));\nb(spoken(\n  "{0} of {1}", 1, 2), `spoken`);'
    words = {'Zoom "in"': "Größer", "{0} of {1}": "{0} von {1}"}
    said = translate_script(script, lambda text, _: words[text])
    assert said == 'a("Zoom", spoken("Größer"));\nb(spoken(\n  "{0} von {1}", 1, 2), `spoken`);'
    assert translate_script(script, lambda text, _: text) == script


def test_a_table_keeps_its_names_and_numbers():
    kept = {"id": "quality", "command": "python -m dpviz"}
    said = translate_table(
        {**kept, "rows": [{"method": "DPM, repaired", "k": 3, "peer": None}]}, lambda t, _: t.upper()
    )
    assert said == {**kept, "rows": [{"method": "DPM, REPAIRED", "k": 3, "peer": None}]}


def test_modules_of_code_are_left_out():
    assert is_read("dpviz.stories.dpm")
    assert not is_read("dpviz.words.finding")
    assert not is_read("dpviz.stories.recipe")
    assert is_read("dpviz.stories.recipes")
