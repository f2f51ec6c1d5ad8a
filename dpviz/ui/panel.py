"""Cards beside a picture, as HTML made of escaped text: the sentence, facts, and the two claims."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from dpviz.core import Adjacency, Claim, Guarantee
from dpviz.stories import Fact, Sentence
from dpviz.stories.panel import number

LOCK = '<span class="dpviz-lock" role="img" aria-label="curator only"></span>'  # drawn by the style sheet
UNIT = (1.0, "unit of distance")
ADJACENCY = {Adjacency.ADD_REMOVE: "one record added or removed", Adjacency.REPLACE: "one record changed"}


def sentence(said: Sentence, *, public: bool, name: str = "") -> None:
    """Show the live sentence in the reading of the audience; `name` says which method, where the title does not."""
    text = said.public if public else said.curator
    text = f"{name}. {text}" if name else text
    st.html(f'<p class="dpviz-sentence" role="status">{escape(text)}</p>')


def side(*parts: str) -> None:
    """Show `facts` and `guarantee` under each other, as one element: each one more costs the slider milliseconds."""
    st.html(f'<div class="dpviz-side">{"".join(parts)}</div>')


def facts(title: str, shown: Sequence[Fact], *, public: bool) -> str:
    """Write numbers with their labels; the curator's carry a lock and are gone from the public view."""
    rows = "".join(
        f'<div title="{escape(fact.help)}"><dt>{escape(fact.label)}{"" if fact.public else LOCK}</dt>'
        f"<dd>{escape(fact.value)}</dd></div>"
        for fact in shown
        if fact.public or not public
    )
    return f'<section class="dpviz-facts"><h3>{escape(title)}</h3><dl>{rows}</dl></section>' if rows else ""


def guarantee(promised: Guarantee, name: str = "", distance: tuple[float, str] = UNIT) -> str:
    """Write the published claim and the proved guarantee side by side, with the reasons where they differ.

    `name` says whose, where there are several on the page; `distance` is what an epsilon per distance is stated for, in
    its own unit and in words.
    """
    proved = promised.proved
    published = _claim(
        "Claimed" if proved is None else "Stated", promised.published, "claimed" if proved is None else "", distance
    )
    established = (
        '<div class="dpviz-claim dpviz-refused"><h4>Proved</h4><p class="dpviz-number">not established</p></div>'
        if proved is None
        else _claim("Proved", proved, "dpviz-proved", distance)
    )
    title = escape(f"Guarantee: {name}" if name else "Guarantee")
    caveats = "".join(f"<li>{escape(caveat)}</li>" for caveat in promised.caveats)
    return (
        f'<section class="dpviz-card" aria-label="{title}"><h3>{title}</h3>'
        f'<div class="dpviz-claims">{published}{established}</div><ul>{caveats}</ul></section>'
    )


def glossary(terms: Sequence[tuple[str, str]]) -> None:
    """Offer the picture's terms, one plain sentence each, behind a button."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in terms)
    with st.popover("How to read this picture"):
        st.html(f'<dl class="dpviz-terms">{rows}</dl>')


def _claim(title: str, claim: Claim, style: str, distance: tuple[float, str]) -> str:
    numbers = f"ε = {number(claim.epsilon)}"
    if claim.per_distance:
        numbers = f"ε = {number(claim.epsilon * distance[0])} per {escape(distance[1])}"
    if claim.delta > 0:
        numbers += f", δ = {number(claim.delta)}"
    if claim.rho is not None:
        numbers += f" (ρ = {number(claim.rho)})"
    return (
        f'<div class="dpviz-claim {style}"><h4>{title}</h4><p class="dpviz-number">{numbers}</p>'
        f"<p>{ADJACENCY[claim.adjacency]}</p><p class='dpviz-source'>{escape(claim.reference)}</p></div>"
    )
