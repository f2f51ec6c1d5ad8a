"""All texts of the app in one place: assets/words/en.json, made from the sources by `python -m dpviz.words`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpviz.words.finding import LETTERS, is_read, translate, translate_script, translate_table
from dpviz.words.loading import FOLDER, SOURCE

ROOT = FOLDER.parents[1]
TABLES = ("assets/audit/*.json", "assets/gallery.json", "assets/reproduction/*.json")

Catalogue = dict[str, dict[str, str]]  # file -> text -> what is filled in, in the order in which they stand there


def catalogue() -> Catalogue:
    """Return every text of every source, script and table."""
    found = {path.relative_to(ROOT).as_posix(): texts_of(path) for path in _sources()}
    return {name: texts for name, texts in found.items() if texts}


def texts_of(path: Path) -> dict[str, str]:
    """Return the texts of one file, and what is filled into each."""
    texts: dict[str, str] = {}

    def keep(text: str, filled: str) -> str:
        texts.setdefault(text, filled)
        return text

    content = path.read_text("utf-8")
    if path.suffix == ".py":
        translate(content, keep)
    elif path.suffix == ".js":
        translate_script(content, keep)
    else:
        translate_table(json.loads(content), lambda text, filled: keep(text, filled) if LETTERS.search(text) else text)
    return texts


def write(language: str) -> tuple[list[str], list[str]]:
    """Bring a language's file up to date, and return what is new in it and what has gone.

    That of the sources' own language is the catalogue; any other keeps its translations, and has "" for new texts.
    """
    path = FOLDER / f"{language}.json"
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    found = catalogue()
    texts = {text: "" for each in found.values() for text in each}
    if language == SOURCE:
        before = {text: "" for each in before.values() for text in each}
    else:
        before = {text: words for text, words in before.items() if text in texts or words}
    made: Mapping[str, object] = found if language == SOURCE else {text: before.get(text, "") for text in texts}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(made), "utf-8")
    return [text for text in texts if text not in before], [text for text in before if text not in texts]


def written(made: Mapping[str, object]) -> str:
    """Return the file's content: a text a line."""
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n"


def _sources() -> Iterator[Path]:
    for path in sorted(ROOT.glob("dpviz/**/*.py")):
        if is_read(".".join(path.relative_to(ROOT).with_suffix("").parts)):
            yield path
    yield from sorted(ROOT.glob("assets/*.js"))
    for pattern in TABLES:
        yield from sorted(ROOT.glob(pattern))
