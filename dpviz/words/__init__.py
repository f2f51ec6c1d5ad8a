"""The app's words: what is said in English in the sources can be said in another language.

Everything else about this room is in its three files: which strings are texts (`finding`), the list of all of them
(`catalogue`, assets/words/en.json), and how modules are loaded with other words (`loading`). Nothing here imports
another room, because it is there before they are loaded.
"""

from typing import TypeVar

T = TypeVar("T")

_WORDS: dict[str, str] = {}  # English -> the language of this process; empty: English


def spoken(text: T) -> T:
    """Return `text`: a mark for one that would look like a name for the machine, such as one word in lower case.

    In a tuple, list or dictionary written here every string is marked.
    """
    return text


def named(name: T) -> T:
    """Return `name`: a mark for a name for the machine that would look like a text, such as one of several words."""
    return name


def translated(text: str, _filled: str = "") -> str:
    """Return what stands for an English text that comes from a file; without a translation the text itself."""
    return _WORDS.get(text) or text


def is_translated() -> bool:
    """Return whether another language than English is spoken."""
    return bool(_WORDS)


def speak(words: dict[str, str]) -> None:
    """Say these words, English -> another language, from now on; modules that are loaded already stay as they are."""
    _WORDS.clear()
    _WORDS.update(words)
