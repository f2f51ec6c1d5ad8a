"""Cards beside a picture, as HTML made of escaped text: the sentence, facts, and the guarantee's label."""

import re
from collections.abc import Sequence
from html import escape

import streamlit as st

from dpviz.stories import Fact, Sentence
from dpviz.stories.glossary import GLOSSARY
from dpviz.stories.label import Label, Statement
from dpviz.stories.panel import is_right

ONLY = "curator only"
LOCK = f'<span class="dpviz-lock" role="img" aria-label="{ONLY}"></span>'  # drawn by the style sheet
_NO_NAME = re.compile(r"[^\w]+")  # what a name in HTML has none of
_EXPONENT = re.compile(r"\d[\d.]*e[+-]?\d+")  # a number in which a browser would end a line
_SHORT = re.compile(rf"\b(?:{'|'.join(name for name in GLOSSARY if re.search('[A-Z].*[A-Z]', name))})\b")
COIN = "Before the release, or with a coin: 50 in 100. The attacker may know every other record."


def sentence(said: Sentence, *, public: bool, name: str = "") -> None:
    """Show the live sentence in the reading of the audience; `name` says which method, where the title does not.

    Abbreviations in it open what they stand for.
    """
    text = said.public if public else said.curator
    text = f"{name}. {text}" if name else text
    meanings: dict[str, str] = {}

    def opening(found: re.Match[str]) -> str:
        if (short := found[0]) in meanings:
            return short
        words, meanings[short] = term(short, short, GLOSSARY[short], f"dpviz-short-{short}")
        return words

    marked = _SHORT.sub(opening, escape(text))
    # The browser has the sentence read out at rest, and its meanings only when they are opened.
    st.html(f'<p class="dpviz-sentence dpviz-headline">{marked}</p>{"".join(meanings.values())}')


def side(*parts: str) -> None:
    """Show `facts` and `guarantee` under each other, as one element: each one more costs the slider milliseconds."""
    st.html(f'<div class="dpviz-side">{"".join(parts)}</div>')


def facts(title: str, shown: Sequence[Fact], *, public: bool) -> str:
    """Write numbers whose labels open their meaning; the curator's have a lock; the public sees none of those."""
    rows = "".join(_fact(title, fact) for fact in shown if fact.public or not public)
    return f'<section class="dpviz-facts"><h2>{escape(title)}</h2><dl>{rows}</dl></section>' if rows else ""


def _fact(title: str, fact: Fact) -> str:
    place = f"dpviz-fact-{_NO_NAME.sub('-', f'{title}-{fact.label}')}"
    label, meaning = term(fact.label, fact.label, fact.help, place) if fact.help else (escape(fact.label), "")
    return f"<div><dt>{label}{'' if fact.public else LOCK}</dt><dd>{escape(fact.value)}{meaning}</dd></div>"


def term(words: str, name: str, meaning: str, place: str) -> tuple[str, str]:
    """Write words as a button, and the meaning that it opens by touch and key; `place` is unique on the page.

    A mouse that rests on the words sees the meaning, too.
    """
    return (
        f'<button type="button" class="dpviz-word" popovertarget="{place}" title="{escape(meaning)}">{escape(words)}'
        "</button>",
        f'<span class="dpviz-meaning" id="{place}" popover role="note"><b>{escape(name)}</b> {escape(meaning)}</span>',
    )


def guarantee(label: Label, name: str = "", notices: Sequence[str] = ()) -> str:
    """Write the label of a guarantee: whom it protects, the claims in print and in proof, and what they let happen.

    `name` says whose, where there are several on the page; `notices` are about this very run. `details` has the rest.
    """
    title = escape(f"Guarantee: {name}" if name else "Guarantee")
    apart = "".join(f"<div><dt>{escape(words)}</dt><dd>{escape(said)}</dd></div>" for words, said in label.distances)
    table = f'<h4>Two places this far apart, proved</h4><dl class="dpviz-rows">{apart}</dl>' if apart else ""
    told = label.proved is None or label.differs
    why = [each for each in label.caveats if each not in notices][:1] if told else []
    said = "".join(f"<li>{escape(each)}</li>" for each in dict.fromkeys((*notices, *why)))
    style = ' class="dpviz-overspent"' if label.is_overspent else ""
    account = f"<p{style}>{escape(label.account)}</p>" if label.account else ""
    return (
        f'<section class="dpviz-card" aria-label="{title}"><h3>{title}</h3>'
        f'<p class="dpviz-kind">{escape(label.kind)}</p>'
        f"<p><b>Protects:</b> {escape(label.contents.protects)}</p>"
        f"<p><b>Trusted:</b> {escape(label.contents.trusted)}</p>"
        f"{_claims(label)}{account}<p>{COIN}</p>{table}<ul>{said}</ul></section>"
    )


def promise(label: Label, name: str = "") -> str:
    """Write the two claims alone, in print and in proof, as they stand beside the picture; `guarantee` has the rest."""
    title = escape(f"Guarantee: {name}" if name else "Guarantee")
    return f'<section class="dpviz-facts"><h2>{title}</h2>{_claims(label, "h3")}</section>'


def details(label: Label, name: str = "") -> str:
    """Write what is behind the label: public inputs, what is shown and must not be released, and every caveat."""
    parts = (
        ("Public inputs: they are not protected", label.contents.public),
        ("Shown here, never to be released", label.contents.secret),
        ("What to know", label.caveats),
    )
    rows = "".join(
        f"<h4>{escape(title)}</h4><ul>{''.join(f'<li>{escape(each)}</li>' for each in said)}</ul>"
        for title, said in parts
        if said
    )
    title = escape(f"What is public, what is not, and why: {name}" if name else "What is public, what is not, and why")
    return f'<details class="dpviz-label"><summary>{title}</summary>{rows}</details>'


def glossary(terms: Sequence[tuple[str, str]]) -> None:
    """Offer the picture's terms, one plain sentence each, and below them the whole glossary, behind a button."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in terms)
    with st.popover("How to read it"):
        st.html(f'<dl class="dpviz-terms">{rows}</dl>{all_terms()}')


def all_terms() -> str:
    """Write the whole glossary as a list that opens."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in GLOSSARY.items())
    return (
        f'<details class="dpviz-all-terms"><summary>All {len(GLOSSARY)} terms of the app</summary>'
        f'<dl class="dpviz-terms">{rows}</dl></details>'
    )


def _claims(label: Label, heading: str = "h4") -> str:
    """Write both claims; `heading` is one level below the one above them."""
    proved = (
        f'<div class="dpviz-claim dpviz-refused"><{heading}>Proved</{heading}>'
        '<p class="dpviz-number">not established</p></div>'
        if label.proved is None
        else _statement(label.proved, heading, "dpviz-proved")
    )
    return f'<div class="dpviz-claims">{_statement(label.stated, heading)}{proved}</div>'


def _statement(said: Statement, heading: str, style: str = "") -> str:
    right, most = is_right(said.odds)
    numbers = _EXPONENT.sub(r"<b>\g<0></b>", escape(said.numbers))
    return (
        f'<div class="dpviz-claim {style}"><{heading}>{escape(said.title)}</{heading}>'
        f'<p class="dpviz-number">{numbers}</p><p>{escape(said.neighbors)}</p>'
        f"<p>An attacker {right} <b>{escape(most)}</b></p>"
        f'<p class="dpviz-source">{escape(said.reference)}</p></div>'
    )
