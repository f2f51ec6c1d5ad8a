"""Tells the reference what stands behind a field or a constant: `radius: float  # data units` documents `radius`."""

import io
import tokenize
from typing import Any

import griffe

FOR_TOOLS = ("noqa", "type:", "pragma")  # comments that are no words for a reader


def words_behind(source: str) -> str:
    """Return the last line's comment as a sentence, "" where there is none."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(source).readline)]
    except (tokenize.TokenError, IndentationError):
        return ""
    last = next((each.string for each in reversed(tokens) if each.type == tokenize.COMMENT), "")
    for_people = (each.strip() for each in last.lstrip("# ").split("#"))
    said = next((each for each in for_people if each and not each.startswith(FOR_TOOLS)), "")
    first = said.partition(" ")[0].rstrip(",:;.")
    said = said[:1].upper() + said[1:] if first.isalpha() and first.islower() and len(first) > 1 else said  # n, zCDP
    return said if said[-1:] in (*".!?", "") else f"{said}."


class FieldComments(griffe.Extension):
    """Makes the comment behind an attribute its docstring, where it has none."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Run on each attribute when its source has been read."""
        if attr.docstring is None and (words := words_behind("".join(f"{line.strip()}\n" for line in attr.lines))):
            attr.docstring = griffe.Docstring(words, parent=attr)
