"""What a decision paper says of a method's promise: what is proved, by which argument, and what its authors state."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpviz.stories.label import Label, Statement
from dpviz.tools.compare.document import Block, Heading, Items, Text
from dpviz.tools.compare.story.paper_tables import NO_LIMIT

BY_WHOM = "Arguments that name no source are dpviz's own: its tests check them, reviewers from outside have not."
OWN_DELTA = (
    "A δ in parentheses follows the noisy count of one run here: no proof; other runs, also on the method's page, have "
    "another."
)


@dataclass(frozen=True, slots=True)
class Promise:
    """What one method promises at the ε that the paper is about."""

    key: str
    name: str
    label: Label


def odds(label: Label) -> tuple[str, str]:
    """Return the promise that holds, or that nothing does, and its odds."""
    if label.proved is None:
        return f"claimed, not proved: {label.stated.numbers}" if label.stated.odds else "nothing is claimed", NO_LIMIT
    apart = f", between two places {_apart(label.distances[0][0])} apart" if label.distances else ""
    return f"{label.proved.numbers}, {label.proved.neighbors}", f"{label.proved.odds}{apart}"


def own_delta(shown: Sequence[Promise]) -> tuple[Text, ...]:
    """Say why a δ here is another one than elsewhere, where it is."""
    follows = any(each.label.proved is not None and "noisy count" in each.label.proved.numbers for each in shown)
    return (Text(OWN_DELTA, small=True),) if follows else ()


def _apart(words: str) -> str:
    """Write a distance after "places": the words of a label have a number in front, or are one of something."""
    return words if words[:1].isdigit() else f"one {words}"


def promised(label: Label) -> str:
    """Say what is proved and by which argument, and what the method's authors state of which procedure."""
    proved, stated, differs = label.proved, label.stated, label.differs
    theirs = "Of their own procedure, its authors state" if differs else "Its authors state"
    otherwise = f" This run differs from theirs: {differs}." if differs else ""
    if not stated.odds:
        return f"Proved: {'nothing.' if proved is None else _claimed(proved, 'argument')} Nothing is claimed for it."
    if proved is None:
        return f"Proved: nothing. {theirs} {_claimed(stated, 'source')} Not established.{otherwise}"
    said = f"Proved{' for this run' if differs else ''}: {_claimed(proved, 'argument')}"
    if proved == replace(stated, title=proved.title):
        return f"{said}{otherwise or ' Nothing beyond that is claimed for it.'}"
    alike = (proved.numbers, proved.neighbors) == (stated.numbers, stated.neighbors)
    what = f"the same; source: {stated.reference.rstrip('.')}." if alike else _claimed(stated, "source")
    return f"{said} {theirs} {what}{otherwise}"


def _claimed(said: Statement, what: str) -> str:
    """Write a claim and its `what`: the argument behind it, or who states it."""
    comma = "," if "," in said.numbers else ""
    return f"{said.numbers}{comma} for {said.neighbors}; {what}: {said.reference.rstrip('.')}."


def protection(shown: Sequence[Promise], unprotected: tuple[str, ...]) -> tuple[Block, ...]:
    """Say what is protected, once for all methods that protect the same, and what is not; a claim protects nobody."""
    names: dict[str, list[str]] = {}
    for each in shown:
        words = _inside(each.label.contents.protects) if each.label.proved is not None else "nothing is established."
        names.setdefault(words, []).append(each.name)
    said = [f"{'; '.join(whose)}: {words}" for words, whose in names.items()]
    secret = dict.fromkeys(_inside(words) for each in shown for words in each.label.contents.secret)
    said += [f"Not to be released: {'; '.join(secret)}."] if secret else []
    protected = (Heading("What it protects"), Items(tuple(said))) if said else ()
    return (*protected, Heading("What it does not protect"), Items(unprotected))


def _inside(words: str) -> str:
    """Write words that begin a sentence elsewhere as part of another one."""
    return words[:1].lower() + words[1:]
