"""Count patterns of English that no native writer uses: python -m tests.english writes the counts to english.json.

The test keeps them: a folder's counts may only fall. Docstrings, comments, and strings of Python files, comments of
scripts, and Markdown are read.
"""

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COUNTS = ROOT / "tests" / "english.json"
FOLDERS = ("benchmarks", "docs", "dpviz", "pages", "tests")
# A pattern and the better words, by name.
PATTERNS = {
    "ours": (r"(?:^|[;,(] )ours\b", '"Our choice: ..." or the source'),
    "told, said": (r"\b(is|are|was|were|be|been) (not )?(told|said)\b(?! apart)", "reports, shows, states"),
    "verb of": (r"\b(says?|said|told|tells?|knows?|known|learned|asks?|asked) of\b", "about, for, from"),
    "fronted Of": (r"(?:(?<=[.;:] )|^)Of (?!course)[a-z]", "the subject first"),
    "what is to be": (r"\bwhat (is|there is|else there is) to (be )?\w+", "a noun"),
    "None where": (r"(None|NaN|nothing|\"\"|\(\)) where\b", "if, when, for"),
    "is no X": (
        r"\b(is|are|was|were|be) no (?!longer|more\b|less|larger|smaller|better|worse|doubt|limit|such)[a-z]+",
        "is not a",
    ),
    "no X but": (
        r"\b(nothing|no [a-z]+|nobody|nowhere) ([a-z]+ ){0,4}but\b(?! (it|they|the|a|there|must)\b)",
        "only",
    ),
    "bare possessive": (
        r"\b(the|a) (curator|reader|browser|page|source|guarantee|caller|method)'s(?=[.,;:)]|$)",
        '"Curator only." or the noun',
    ),
    "others than": (r"\b(others? than|other [a-z]+ than|otherwise than)\b", "different from, except"),
    "in place of": (r"\bin place of\b", "instead of"),
    "Return what": (r"\bReturn (what|how|whether|where|which)\b", "Return and a noun"),
    "British": (r"\b\w*(colour|neighbour|grey)\w*", "US spelling"),
}
COMPILED = {name: re.compile(pattern) for name, (pattern, _) in PATTERNS.items()}
OPENER, OPENERS = re.compile(r"(What|How|Whether|Where|Who) "), "docstring opens with What"
FRAGMENT, FRAGMENTS = re.compile(r"(of|that|which|what|where|in|from|to|by|for|at|as|with|than|on)\b"), "fragment"
BETTER = {name: words for name, (_, words) in PATTERNS.items()}
BETTER |= {OPENERS: "a verb or a noun", FRAGMENTS: "a sentence on the line above"}
SCRIPT_COMMENT = re.compile(r"(?:^|\s)(?://|/?\*\*?)\s?(.+)")


class Text(NamedTuple):
    """Words that a person reads, and the number of their line. The kind of a comment depends on its place."""

    kind: str
    line: int
    words: str


def read_python(source: str) -> Iterator[Text]:
    """Yield the docstrings, strings, and comments of a Python file."""
    tree = ast.parse(source)
    spans: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            last = node.end_lineno or node.lineno
            for line in range(node.lineno, last + 1):
                start = node.col_offset if line == node.lineno else 0
                spans[line].append((start, (node.end_col_offset or 0) if line == last else 1 << 20))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Text("string", node.lineno, node.value)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield Text("docstring", getattr(node, "lineno", 1), ast.get_docstring(node) or "")
    for number, line in enumerate(source.splitlines(), 1):
        if "#" in line:
            # Columns of the tree count bytes.
            encoded = line.encode()
            inside = spans[number]
            marks = (i for i, byte in enumerate(encoded) if byte == ord("#"))
            start = next((i for i in marks if not any(first <= i < end for first, end in inside)), None)
            if start is not None:
                kind = "trailing" if encoded[:start].strip() else "comment"
                yield Text(kind, number, encoded[start:].decode().lstrip("# "))


def read_texts(path: Path) -> Iterator[Text]:
    """Yield the words of one file."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from read_python(source)
        return
    for number, line in enumerate(source.splitlines(), 1):
        if path.suffix != ".js":
            yield Text("prose", number, line)
        elif found := SCRIPT_COMMENT.search(line):
            yield Text("comment", number, found[1])


def find_hits(text: Text) -> Iterator[str]:
    """Yield the name of a pattern for each place where the words have it."""
    if text.kind != "docstring":
        for name, pattern in COMPILED.items():
            yield from (name for _ in pattern.finditer(text.words))
    elif OPENER.match(text.words):
        yield OPENERS
    if text.kind == "trailing" and FRAGMENT.match(text.words):
        yield FRAGMENTS


def list_files() -> Iterator[Path]:
    """Yield the files of the project that people read."""
    yield from (path for suffix in ("py", "md", "toml") for path in ROOT.glob(f"*.{suffix}"))
    for folder in FOLDERS:
        yield from (path for suffix in ("py", "js", "md", "toml") for path in (ROOT / folder).rglob(f"*.{suffix}"))


def find_places() -> dict[str, dict[str, list[str]]]:
    """Return "file:line: words" of each hit, by folder and pattern, and the numbers of comments in "comments"."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(list_files()):
        inner = path.relative_to(ROOT)
        folder = "/".join(inner.parts[: 2 if inner.parts[0] == "dpviz" and len(inner.parts) > 2 else 1])
        folder = folder if len(inner.parts) > 1 else "top"
        for text in read_texts(path):
            place = f"{inner.as_posix()}:{text.line}: {' '.join(text.words.split())[:100]}"
            for name in find_hits(text):
                places[folder][name].append(place)
            if path.suffix == ".py" and text.kind in ("trailing", "comment"):
                places["comments"][text.kind].append(place)
    return places


def count(places: dict[str, dict[str, list[str]]]) -> dict[str, dict[str, int]]:
    """Return the number of places, by folder and pattern."""
    return {
        folder: dict(sorted(Counter({k: len(v) for k, v in names.items()}).items()))
        for folder, names in sorted(places.items())
    }


if __name__ == "__main__":
    COUNTS.write_text(json.dumps(count(find_places()), indent=1) + "\n", "utf-8")
