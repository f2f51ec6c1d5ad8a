"""Loads the app's modules with the words of another language, named by the environment variable DPVIZ_LANGUAGE."""

import json
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from dpviz.words import speak, translated
from dpviz.words.finding import is_read, problem, translate

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "words"
SOURCE = "en"  # the language of the sources; its file is the catalogue


def install(language: str) -> None:
    """Load every module of the app from now on with the words of `language`: a name such as `de`, or a file.

    Raises ValueError, with every reason, for a language without a file and for translations that cannot be said.
    """
    if language == SOURCE:
        return
    speak(read(language))
    sys.meta_path.insert(0, Finder())


def read(language: str) -> dict[str, str]:
    """Return the translations of a language, English -> its words; "" stands for what is not translated yet."""
    path = Path(language) if language.endswith(".json") else FOLDER / f"{language}.json"
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        there = ", ".join(sorted(each.stem for each in FOLDER.glob("*.json")))
        raise ValueError(
            f"DPVIZ_LANGUAGE was {language!r}, but {path} cannot be read ({error}). Languages: {there}."
        ) from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ValueError(f"{path} is no list of translations. Make it with `python -m dpviz.words {path.stem}`.")
    if problems := [why for text, words in found.items() if words and (why := problem(text, words))]:
        raise ValueError(f"{path} has translations that cannot be said:\n" + "\n".join(problems))
    return found


class Finder(MetaPathFinder):
    """Finds the app's modules where they are, and lets `Loader` load them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the module's usual spec with another loader, None for modules that are not the app's."""
        if not fullname.startswith("dpviz.") or not is_read(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


class Loader(SourceFileLoader):
    """Compiles a source with its texts translated; bytecode on disk stays English, so none is read or written."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the translated source."""
        path = self.get_filename(fullname)
        return compile(translate(self.get_data(path), translated), path, "exec", dont_inherit=True)
