"""Cards next to a picture, as HTML made of escaped text (sentence, facts, the guarantee's label), and safe tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape

import pandas as pd
import streamlit as st

from dpviz.plots import defused
from dpviz.stories import Sentence
from dpviz.stories.glossary import GLOSSARY, PLACE_OF_ALL, Term, address, noticed, pieces
from dpviz.stories.label import Label, Statement
from dpviz.stories.panel import facts as facts
from dpviz.stories.panel import is_right, stacked
from dpviz.ui import hiding

# Id of the element that "Details" opens.
WHY = "dpviz-why"
# Text in which no line ends.
_NUMBER = re.compile(r"\(?[εδρ] = [^\s,]+|per \d\S* \S+")
# Number, perhaps with a unit.
_SPREADSHEET_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( [^\W\d_]+| ?%)?", re.IGNORECASE)
# Pattern of an abbreviation.
_SHORT = re.compile("[A-Z].*[A-Z]")
# Texts that are remembered with their terms, because a slider's move shows the same ones. Our choice.
MOST_TEXTS = 512
COIN = "Before the release, or with a coin: 50 in 100. The attacker may know every other record."


def sentence(finding: Sentence, *, public: bool) -> None:
    """Show the live sentence in the audience's version; abbreviations in it open their long forms."""
    text = finding.public if public else finding.curator
    short = ((words, term if _SHORT.search(words) else "") for words, term in noticed(text))
    html = _with_terms(short)
    # The browser has the sentence read out when the page is at rest.
    st.html(f'<p class="dpviz-sentence dpviz-headline">{html}</p>')


def side(*parts: str) -> None:
    """Show `stacked`."""
    st.html(stacked(*parts))


def guarantee(label: Label, name: str = "", notices: Sequence[str] = ()) -> str:
    """Write the label of a guarantee: the protected people, the published and the proved claims, and their effects.

    `name` names the method if the page has several labels. `notices` are about this very run. `details` has the rest.
    """
    title = escape(f"Guarantee: {name}" if name else "Guarantee")
    apart = "".join(
        f"<div><dt>{escape(words)}</dt><dd>{escape(sentences)}</dd></div>" for words, sentences in label.distances
    )
    table = f'<h4>Two places this far apart, proved</h4><dl class="dpviz-rows">{apart}</dl>' if apart else ""
    needs_reason = label.proved is None or label.differs
    why = [each for each in label.caveats if each not in notices][:1] if needs_reason else []
    sentences = "".join(f"<li>{explained(each)}</li>" for each in dict.fromkeys((*notices, *why)))
    style = ' class="dpviz-overspent"' if label.is_overspent else ""
    account = f"<p{style}>{escape(label.account)}</p>" if label.account else ""
    proved = (
        '<div class="dpviz-claim dpviz-refused"><h4>Proved</h4><p class="dpviz-number">not established</p></div>'
        if label.proved is None
        else _statement(label.proved, "dpviz-proved")
    )
    claims = f'<div class="dpviz-claims">{_statement(label.stated)}{proved}</div>'
    return (
        f'<section class="dpviz-card" aria-label="{title}"><h3>{title}</h3>'
        f'<p class="dpviz-kind">{explained(label.kind)}</p>'
        f"<p><b>Protects:</b> {explained(label.contents.protects)}</p>"
        f"<p><b>Trusted:</b> {explained(label.contents.trusted)}</p>"
        f"{claims}{account}<p>{explained(COIN)}</p>{table}<ul>{sentences}</ul></section>"
    )


def why(*parts: str) -> str:
    """Write the guarantees' cards, which "Details" on the stage opens; on paper they are under the stage."""
    return f'<div id="{WHY}" class="dpviz-why" popover role="dialog" aria-label="Full guarantee">{"".join(parts)}</div>'


def details(label: Label, name: str = "") -> str:
    """Write the details behind the label: public inputs, screen parts that must not be released, and every caveat."""
    parts = (
        ("Public inputs: they are not protected", label.contents.public),
        ("Shown here, never to be released", label.contents.secret),
        ("Good to know", label.caveats),
    )
    rows = "".join(
        f"<h4>{escape(title)}</h4><ul>{''.join(f'<li>{explained(each)}</li>' for each in lines)}</ul>"
        for title, lines in parts
        if lines
    )
    title = escape(f"What is public, what is not, and why: {name}" if name else "What is public, what is not, and why")
    return f'<details class="dpviz-label"><summary>{title}</summary>{rows}</details>'


def meanings() -> None:
    """Draw the explanations of all glossary terms, once for the whole page; they are invisible until opened."""
    if not hiding.hides("terms"):
        spans = "".join(
            f'<span class="dpviz-meaning" id="{_place(term)}" popover role="note">'
            f'<img class="dpviz-drawing" src="{address(term.name)}" alt=""><b>{escape(term.name)}</b> '
            f"{escape(term.meaning)} "
            f'<a href="{PLACE_OF_ALL}?term={term.slug}" target="_blank">In the glossary</a></span>'
            for term in GLOSSARY.values()
        )
        st.html(f'<div class="dpviz-meanings">{spans}</div>')


def _place(term: Term) -> str:
    return f"dpviz-term-{term.slug}"


def marked(text: str) -> str:
    """Write a text whose [[terms]] are buttons that open their meanings."""
    return _with_terms(pieces(text))


def explained(text: str) -> str:
    """Write text without markup, in which the first mention of each term opens its definition."""
    return escape(text) if hiding.hides("terms") else _explained(text)


@lru_cache(maxsize=MOST_TEXTS)
def _explained(text: str) -> str:
    return "".join(_word(words, GLOSSARY[name]) if name else escape(words) for words, name in noticed(text))


def _with_terms(parts: Iterable[tuple[str, str]]) -> str:
    hidden = hiding.hides("terms")
    return "".join(_word(words, GLOSSARY[name]) if name and not hidden else escape(words) for words, name in parts)


def _word(words: str, term: Term) -> str:
    return (
        f'<button type="button" class="dpviz-word" popovertarget="{_place(term)}" title="{escape(term.meaning)}">'
        f"{escape(words)}</button>"
    )


def glossary(terms: Sequence[tuple[str, str]]) -> None:
    """Offer the picture's terms, one plain sentence each, and a link to all terms, behind a line that opens."""
    rows = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in terms)
    with st.expander("How to read it"):
        st.html(f'<dl class="dpviz-terms">{rows}</dl>{all_terms()}')


def all_terms() -> str:
    """Write the link to the page of all words."""
    return (
        f'<p class="dpviz-all-terms"><a href="{PLACE_OF_ALL}" target="_blank">All {len(GLOSSARY)} words of the app, '
        "each with a picture</a></p>"
    )


def _statement(statement: Statement, style: str = "") -> str:
    if not statement.odds:
        return (
            f'<div class="dpviz-claim {style}"><h4>{escape(statement.title)}</h4>'
            f'<p class="dpviz-number">{escape(statement.numbers)}</p></div>'
        )
    right, most = is_right(statement.odds)
    epsilon, comma, delta = escape(statement.numbers).partition(", ")
    numbers = _NUMBER.sub(r"<b>\g<0></b>", f"{epsilon}{comma}<small>{delta}</small>" if delta else epsilon)
    return (
        f'<div class="dpviz-claim {style}"><h4>{escape(statement.title)}</h4>'
        f'<p class="dpviz-number">{numbers}</p><p>{explained(statement.neighbors)}</p>'
        f"<p>An attacker {right} <b>{escape(most)}</b></p>"
        f'<p class="dpviz-source">{escape(statement.reference)}</p></div>'
    )


def safe_table(table: pd.DataFrame | Sequence[Mapping[str, object]], *, hide_index: bool | None = True) -> None:
    """Show a table, or a mapping for each of its lines, with words that may come from a file or a link.

    Streamlit's own table offers its cells and headers as CSV, unchanged. So `harmless` changes the words that a
    spreadsheet would take for a formula.
    """
    st.dataframe(harmless(pd.DataFrame(table)), width="stretch", hide_index=hide_index)


def harmless(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with every text and every name changed so that no spreadsheet computes it."""

    def word(name: object) -> object:
        return defused(name) if isinstance(name, str) and not _SPREADSHEET_NUMBER.fullmatch(name) else name

    return table.map(word).rename(index=word, columns=word)
