"""Which strings of a source a person reads, and how others take their place.

A text is a string with a word and a space, or one that begins with a capital, unless it is code: a docstring, an
annotation, an exported name, a pattern, a formula, a style sheet. One word in lower case looks like a name for the
machine; it is a text inside `spoken("...")`, and where an f-string chooses it: f"{'one' if n == 1 else 'more'} left".

An f-string is one text, a template whose numbers stand for what is filled in: "{0} of {1} records". A translation
keeps every one of them, in any order; how a number is formatted stays with the number.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from string import Formatter
from typing import Any

# What stands in a text, but is none: tags, entities, `code`, what is filled in.
MARKUP = re.compile(r"<[^>]*>|&#?\w+;|`[^`]*`|\{\w*\}|%\(\w+\)\w")
WORD = re.compile(r"(?:^|[\s(-])[^\W\d_]{2,}(?:\W|$)")
LETTERS = re.compile(r"[^\W\d_]{2,}")
NAME = re.compile(r"^\W*(?:\w+-)?[A-Z][a-z]+(?:\W|$)")  # of a method or a control: Laplace, nD-Laplace, Clusters
KEPT = re.compile(r"\{\w*\}|%\(\w+\)\w|\[\[[^\]|]+")  # what is filled in, and the glossary's terms
SPOKEN = re.compile(r'\bspoken\(\s*("(?:[^"\\]|\\.)*")')  # in a script; a text there stands in double quotes
CODE = re.compile(
    r"""\\[A-Za-z]  # a formula
    | \{[^{}]*[:;][^{}]*\} | ^\.\S*\{\{ | sans-serif  # a style sheet
    | ^\s*[\w-]+=" | ^<svg\s  # of a drawing
    | ^rgba?\(  # a color
    | ^default-src  # a policy
    | ^python\ -m | ^\S*\ --  # a command
    """,
    re.VERBOSE,
)
STATEMENTS = (ast.Assign, ast.For, ast.With, ast.Import, ast.ImportFrom)

# Calls whose first argument is a name: of what is looked up, of a step of a ledger. So is a pattern.
NAME_FIRST = {"get", "named", "LaplaceEvent", "GaussianEvent", "PureEvent", "ParallelEvent", "SequenceEvent"}
NAME_FIRST |= {"count_event", "counts_event", "sums_event"}
# Calls and types all of whose strings are names.
NO_TEXT = {"Literal", "TypeVar", "ParamSpec", "cast", "getattr"}
NOT_READ = {  # modules of which no string is read by a person
    "dpviz.audit.family": "names of statistics, which are compared and kept in files",
    "dpviz.audit.learned": "the same",
    "dpviz.stories.recipe": "writes Python code",
    "dpviz.ui.headers": "names of HTTP headers",
    "dpviz.words": "there before any language is",
}
KEYS = {"command", "event", "id", "key", "thumbnail", "versions"}  # of a table kept as a file: code, names, numbers

Turn = Callable[[str, str], str]  # (text, what is filled in) -> the text in its place


class Texts(ast.NodeTransformer):
    """Hands every text of a Python source to `turn`, and puts what it returns in its place."""

    def __init__(self, turn: Turn) -> None:
        """Take what turns a text; one that returns it as it was only looks."""
        self.turn = turn
        self.said: set[int] = set()  # ids of the nodes that are texts wherever they would not look like one

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Turn a string that is read."""
        if isinstance(node.value, str) and (id(node) in self.said or is_text(node.value)):
            return ast.copy_location(ast.Constant(self.turn(node.value, "")), node)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Turn an f-string as one text, and what it chooses from as texts of their own."""
        text, in_tag = _template(node), False
        filled = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        for part in node.values:
            if isinstance(part, ast.Constant):
                words = str(part.value)
                in_tag = (in_tag or "<" in words) and words.rfind("<") >= words.rfind(">")
            elif isinstance(part, ast.FormattedValue):
                if not in_tag and not _is_code(text):  # an attribute's value is a name
                    self.said.update(id(choice) for choice in _choices(part.value))
                part.value = self.visit(part.value)
        if (id(node) in self.said and WORD.search(text)) or is_text(text):
            hint = ", ".join(ast.unparse(ast.JoinedStr([part]))[2:-1] for part in filled)
            node.values = list(_pieces(self.turn(text, hint), filled))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Look into a call, unless it takes no text; what is `spoken` is one."""
        name = _last_name(node.func)
        if name == "spoken":
            self.said.update(id(each) for argument in node.args for each in _strings(argument))
        if node.args and (name in NAME_FIRST or _is_pattern(node.func)):
            name_, *rest = node.args
            node.args = [name_, *(self.visit(argument) for argument in rest)]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            node.func = self.visit(node.func)
            return node
        return node if name in NO_TEXT else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Leave the values of a type alone."""
        return node if _last_name(node.value) in NO_TEXT else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Leave docstrings alone."""
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Leave the exported names alone."""
        return node if _last_name(node.targets[0]) in ("__all__", "__slots__") else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Leave the annotation alone."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave annotations alone, and machine code, which is kept by its source."""
        if any(_last_name(each) == "compiled" for each in node.decorator_list):
            return node
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Leave the annotation alone."""
        return node


def is_text(text: str) -> bool:
    """Return whether a string looks like one that a person reads; `{0}` stands for what is filled in."""
    bare = MARKUP.sub(" ", text)
    return bool(NAME.search(bare) or (" " in text and WORD.search(bare))) and not _is_code(text)


def is_read(module: str) -> bool:
    """Return whether a person reads strings of the module."""
    return not any(module == each or module.startswith(f"{each}.") for each in NOT_READ)


def translate(source: str | bytes, turn: Turn) -> ast.Module:
    """Return the tree of a Python source in which `turn` has turned every text."""
    tree: ast.Module = Texts(turn).visit(ast.parse(source))
    return ast.fix_missing_locations(tree)


def translate_script(source: str, turn: Turn) -> str:
    """Return a browser's script in which `turn` has turned every text that is `spoken`."""
    return SPOKEN.sub(
        lambda found: found[0][: -len(found[1])] + json.dumps(turn(json.loads(found[1]), ""), ensure_ascii=False),
        source,
    )


def translate_table(found: Any, turn: Turn) -> Any:
    """Return a table kept as JSON in which `turn` has turned every string but names and code."""
    if isinstance(found, str):
        return turn(found, "")
    if isinstance(found, list):
        return [translate_table(each, turn) for each in found]
    if isinstance(found, dict):
        return {key: value if key in KEYS else translate_table(value, turn) for key, value in found.items()}
    return found


def problem(text: str, translation: str) -> str:
    """Return why a translation cannot stand for a text, "" if it can: the same must be filled in."""
    wanted, found = (sorted(KEPT.findall(each)) for each in (text, translation))
    if wanted != found:
        return f"{text!r} is filled in at {', '.join(wanted)}, its translation {translation!r} at {', '.join(found)}."
    return ""


def _is_code(text: str) -> bool:
    """Return whether a string with words in it is written for a machine."""
    if CODE.search(text):
        return True
    line = MARKUP.sub("_", text).strip()
    try:
        first = ast.parse(f"{line} pass" if line.endswith(":") else line).body[:1]
    except (SyntaxError, ValueError):
        return False
    return bool(first) and isinstance(first[0], STATEMENTS)


def _strings(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the strings that an expression writes down."""
    if isinstance(node, ast.Tuple | ast.List):
        yield from (each for element in node.elts for each in _strings(element))
    elif isinstance(node, ast.Dict):
        yield from (each for element in (*node.keys, *node.values) if element for each in _strings(element))
    else:
        yield node


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the strings one of which an expression is."""
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    elif isinstance(node, ast.BoolOp):
        yield from (choice for each in node.values for choice in _choices(each))
    elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and WORD.search(str(node.value))):
        yield node


def _template(node: ast.JoinedStr) -> str:
    """Return an f-string with a number in place of each part that is filled in."""
    parts, count = [], 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value).replace("{", "{{").replace("}", "}}"))
        else:
            parts.append(f"{{{count}}}")
            count += 1
    return "".join(parts)


def _pieces(template: str, filled: list[ast.FormattedValue]) -> Iterator[ast.expr]:
    """Yield the pieces of the f-string that a template stands for."""
    for words, number, _, _ in Formatter().parse(template):
        if words:
            yield ast.Constant(words)
        if number is not None:
            yield filled[int(number)]


def _is_pattern(function: ast.expr) -> bool:
    """Return whether a function of `re` is called, whose first argument is a pattern."""
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def _last_name(node: ast.expr) -> str:
    """Return the last name of a dotted one, "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
