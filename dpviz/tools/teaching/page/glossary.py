"""The glossary's page: a search, and a card for each word; `term=` in the link puts one of them first."""

from html import escape

import streamlit as st

from dpviz.stories.glossary import GLOSSARY, PLACES, SLUGS, Term, address, search, topics
from dpviz.stories.method import LEARN, Page
from dpviz.tools.teaching.chapters import CHAPTERS
from dpviz.ui import state
from dpviz.ui.frame import words_page

TITLE = "Glossary"
LEAD = (
    f"{len(GLOSSARY)} words in plain language, beginners' words first. Each has one meaning, on every page, and a "
    "picture that shows it."
)
# Name of the link's parameter.
TERM = "term"
NOTHING = "No word here matches this search. Try fewer letters, or clear the search."
FOUND = "Found"
UNKNOWN = "which is not in the glossary. Search for it, or look through the list."


def draw_glossary() -> None:
    """Draw the page."""
    with words_page(TITLE, LEAD):
        slug = state.opening_query().get(TERM, "")
        if slug and slug not in SLUGS:
            state.report(f"The link's {TERM} was {slug[: state.MOST_NAME]!r}, {UNKNOWN}")
        first = SLUGS.get(slug)
        text = st.text_input(
            "Search", key="glossary:search", max_chars=state.MOST_TEXT, placeholder="such as noise, or attacker"
        )
        terms = search(text)
        if first is not None and not text:
            st.html(f'<div class="dpviz-words dpviz-wanted">{_card(first)}</div>')
        groups = [(FOUND, terms)] if text else topics()
        for topic, each in groups if terms else ():
            cards = "".join(_card(term) for term in each if text or term is not first)
            st.html(f'<h2 class="dpviz-topic">{escape(topic)}</h2><div class="dpviz-words">{cards}</div>')
        if not terms:
            st.info(NOTHING)


def _card(term: Term) -> str:
    others = ", ".join(term.others)
    also = f'<p class="dpviz-others">Also: {escape(others)}</p>' if others else ""
    place = PLACES[term.place]
    links = [_link(place.address, place.words)]
    if term.chapter:
        chapter = CHAPTERS[term.chapter]
        links.append(_link(f"learn?chapter={chapter.name}", f"Chapter: {chapter.title}"))
    return (
        f'<article id="{term.slug}"><img class="dpviz-drawing" src="{address(term.name)}" alt="">'
        f'<h3><a href="?{TERM}={term.slug}">{escape(term.name)}</a></h3>'
        f"<p>{escape(term.meaning)}</p>{also}<p>{' '.join(links)}</p></article>"
    )


def _link(to: str, words: str) -> str:
    return f'<a href="{escape(to)}" target="_blank">{escape(words)}</a>'


PAGE = Page(draw_glossary, title=TITLE, group=LEARN)
