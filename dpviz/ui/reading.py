"""The tab “Read”: how to read and misread the picture, its formulas with the run's numbers, code, papers, words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape

import streamlit as st

from dpviz.core import Knob, immutable_value
from dpviz.methods import CATALOGUE
from dpviz.stories.recipe import excerpt
from dpviz.stories.teaching import Formula, Misreading, Paper, known, used
from dpviz.ui import controls, hiding, panel, state
from dpviz.ui.asking import after_picture
from dpviz.ui.export.files import recipe
from dpviz.ui.runs import MethodScreen, latest

# Choice among a page's tabs.
CHOICE = ("read", "Read")
NOTHING = "There is no picture to describe: see the message in its place."
ROUNDED = "Numbers of the picture above, in three digits; ≈ where digits are left out. Move a knob, and they follow."
CODE = (
    "The calls behind the picture above. Export saves the whole script; with secret noise, the script draws "
    "different noise."
)


def fill(knob: Knob, name: str, contents: Mapping[str, Callable[[], None]]) -> None:
    """Draw a page's tabs with this one among them, and fill the open one; `name` is the name of the page."""
    controls.fill(knob, {**contents, CHOICE[0]: lambda: draw_tab(name)})


@state.fragment
def draw_tab(name: str) -> None:
    """Draw all reading material about the picture of this page, again when the picture changes."""
    after_picture("wait-read")
    screen, page = latest(), CATALOGUE[name].reading
    if page is None:
        return
    # The page belongs to a method.
    assert screen is None or isinstance(screen, MethodScreen)
    parts: list[FormulaPart] = []
    code = ""
    if screen is not None:
        code = excerpt(recipe(screen, frame=0, hidden=(), notes=(), hashes=()))
        for request, run in screen.runs:
            it = known(run, request.params)
            parts.append(FormulaPart(request.name if len(screen.runs) > 1 else "", page.formulas(it), page.words(it)))
    article(page.misreadings, page.papers, parts, code, CODE, picture=page.picture)


@immutable_value
class FormulaPart:
    """The formulas of one method, with its name if there are several methods."""

    title: str
    formulas: Sequence[Formula]
    # Meanings of the symbols.
    words: Mapping[str, str]


def article(
    misreadings: Iterable[Misreading],
    papers: Iterable[Paper],
    parts: Sequence[FormulaPart],
    code: str,
    about_code: str,
    *,
    picture: str = "",
) -> None:
    """Draw the picture's right and wrong readings, its formulas, its code, its papers, and the glossary.

    Without `parts`, there is no picture.
    """
    if picture:
        st.html(
            f'<section><h3 class="dpviz-heading">How to read this picture</h3><p>{panel.marked(picture)}</p></section>'
        )
    rows = "".join(
        f"<li><p><b>{escape(each.said)}</b></p><p>{panel.marked(each.why)}</p>"
        f"<p><i>Look at:</i> {panel.marked(each.look)}</p></li>"
        for each in misreadings
    )
    st.html(
        '<section class="dpviz-misread"><h3 class="dpviz-heading">Five ways to misread this picture</h3>'
        f"<ol>{rows}</ol></section>"
    )
    st.subheader("Formulas, with the numbers of this picture", anchor=False)
    st.caption(ROUNDED if parts else NOTHING)
    for part in parts:
        if part.title:
            st.markdown(f"**{state.plain(part.title)}**")
        if not part.formulas:
            st.caption("No noise is added here, so there is nothing to fill in: nothing is private.")
            continue
        symbols = used(part.words, part.formulas)
        st.markdown("  \n".join(f"${names}$: {words}" for names, words in symbols.items()))
        with st.container(key=f"dpviz-formulas-{part.title or 'all'}", gap="small"):
            for each in part.formulas:
                source = f"  \n:small[{each.source}]" if each.source else ""
                st.markdown(f"**{each.name}**{source}\n$$\n{each.general}\n$$\n$$\n{each.with_numbers}\n$$")
    if parts:
        st.subheader("The code that makes this picture", anchor=False)
        st.caption(about_code)
        st.code(code, language="python", wrap_lines=True)
    rows = "".join(
        f"<li><b>{escape(paper.title)}</b><dl>"
        + "".join(f"<div><dt>{escape(place)}</dt><dd>{escape(what)}</dd></div>" for place, what in paper.places)
        + "</dl></li>"
        for paper in papers
    )
    st.html(
        '<section class="dpviz-papers"><h3 class="dpviz-heading">Papers, and what each is for</h3>'
        f"<ul>{rows}</ul></section>"
    )
    if not hiding.hides("terms"):
        st.html(f'<h3 class="dpviz-heading">Glossary</h3>{panel.all_terms()}')
