"""Document an attribute by its comment: the lines above a field or a constant, or a short comment behind it."""

import io
import re
import tokenize
from collections.abc import Sequence
from typing import Any

import griffe

# Comments for tools, not for readers.
FOR_TOOLS = ("noqa", "type:", "pragma", "fmt:")
HEADING = re.compile(r"-{4,}")


def finish_sentence(words: str) -> str:
    """Return a comment with a capital letter and a period, or "" for an empty comment."""
    first = words.partition(" ")[0].rstrip(",:;.")
    # Names such as n and zCDP stay as they are.
    words = words[:1].upper() + words[1:] if first.isalpha() and first.islower() and len(first) > 1 else words
    return words if words[-1:] in (*".!?", "") else f"{words}."


def find_comment_above(lines: Sequence[str]) -> str:
    """Return the comment in the last of the lines before an attribute as sentences, "" if there is none."""
    block: list[str] = []
    for line in reversed(lines):
        words = line.strip()
        if not words.startswith("#") or HEADING.search(words):
            break
        block.insert(0, words.lstrip("# "))
    return finish_sentence(" ".join(each for each in block if not each.startswith(FOR_TOOLS)))


def find_comment_behind(source: str) -> str:
    """Return the comment in the last line of an attribute as a sentence, "" if there is none."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, IndentationError):
        return ""
    last = next((each.string for each in reversed(tokens) if each.type == tokenize.COMMENT), "")
    for_people = (each.strip() for each in last.lstrip("# ").split("#"))
    return finish_sentence(next((each for each in for_people if each and not each.startswith(FOR_TOOLS)), ""))


class FieldComments(griffe.Extension):
    """Turn the comment of an attribute without a docstring into one."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Run on each attribute when its source has been read."""
        if attr.docstring is not None or attr.lineno is None or isinstance(attr.filepath, list):
            return
        lines = attr.lines_collection[attr.filepath]
        behind = find_comment_behind("".join(f"{line.strip()}\n" for line in attr.lines))
        words = " ".join(filter(None, (find_comment_above(lines[: attr.lineno - 1]), behind)))
        if words:
            attr.docstring = griffe.Docstring(words, parent=attr)
