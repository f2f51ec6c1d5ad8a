"""Catalogues of messages, compiled for the package.

    python -m tests.languages

writes them anew after a change. (Babel's own command takes "% of" for a format of Python's.)
"""

import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from dpviz.assets import FOLDER as ASSETS
from dpviz.stories.language import LANGUAGES, SOURCE

OTHERS = sorted(set(LANGUAGES) - {SOURCE})


def folder(language: str) -> Path:
    """Return where the catalogue of a language is."""
    return ASSETS / "locale" / language / "LC_MESSAGES"


def written(language: str) -> Catalog:
    """Return the catalogue as it is written."""
    with (folder(language) / "dpviz.po").open("rb") as file:
        return read_po(file, locale=language)


def compiled(language: str) -> bytes:
    """Return the catalogue as gettext reads it."""
    held = io.BytesIO()
    write_mo(held, written(language))
    return held.getvalue()


def main() -> None:
    """Compile all catalogues."""
    for language in OTHERS:
        (folder(language) / "dpviz.mo").write_bytes(compiled(language))


if __name__ == "__main__":
    main()
