"""Hidden parts of a page for a class. The links that the page writes keep them.

In a link, `hide=` names knobs or groups of knobs. Hiding is not a lock: anyone who edits the link sees everything. The
audience, not this module, decides what the public may see.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from dpviz.ui import state

NAME = "hide"
# Prefix of the name of a tab.
TAB = "tab-"
MOST_NAMES = 60
# Characters of the whole list.
MOST_TEXT = 1000
_HIDDEN = "dpviz:hidden"

# Name -> parts that it hides.
GROUPS = {
    "answers": "right answers of the quiz, and solutions",
    "audience": "the choice of who looks",
    "data": "the choice of data, its gallery, size and shape",
    "draw": "drawing data by hand",
    "export": "the Export menu",
    "knobs": "the method's knobs",
    "navigation": "the list of pages",
    "seeds": "seeds, secret noise and new noise",
    "share": "the Share menu",
    "tabs": "everything under the picture",
    "terms": "“How to read it”, and the meanings of words",
    "sweep": "the sweep of ε on a first visit",
    "upload": "uploading a table, importing settings",
    "axes": "the choice of axes",
}
MEMBERS = {
    "axes": ("x", "y", "z", "principal", "view", "yaw", "pitch"),
    "data": ("n", "data_seed"),
    "seeds": ("start_seed", "noise_seed", "secret"),
}
# Prefixes of tabs, and of knobs that come with data sets.
PREFIXES = (TAB, "data_")
# Names that belong to no method's page and no tool's page.
OWN = {"drawing", "home_epsilon", "size"}
STYLES: Mapping[str, str] = {
    "data": ".st-key-dpviz-data { display: none; }",
    "navigation": ':is([data-testid="stTopNavLinkContainer"], [data-testid="stTopNavSection"], '
    '[data-testid^="stSidebarNav"]) { display: none; }',
    "knobs": ".st-key-dpviz-knobs { display: none; }",
}


def read_link(controls: frozenset[str]) -> None:
    """Read the hidden parts in the session's opening link, once; unknown names are reported.

    `controls` are the names of all controls.
    """
    if _HIDDEN in st.session_state:
        return
    text = state.opening_query().get(NAME, "")
    names = [name.strip() for name in text[:MOST_TEXT].split(",")[:MOST_NAMES]]
    known = {name for name in names if _is_name(name, controls)}
    wrong = [name for name in dict.fromkeys(names) if name and name not in known]
    if wrong:
        state.report(
            f"The link's hide has {', '.join(name[:40] for name in wrong[:5])}, which is not a control. Allowed: "
            f"{', '.join(sorted(GROUPS))}, {TAB} and the name of a tab, and the knobs' names in the link, such as "
            "epsilon or n_clusters. The rest of the list applies."
        )
    st.session_state[_HIDDEN] = frozenset(known)
    state.keep_param(NAME, ",".join(sorted(known)))


def begin() -> None:
    """Hide the parts that style alone hides."""
    style = "".join(text for group, text in STYLES.items() if hides(group))
    if style:
        st.html(f"<style>{style}</style>")


def hides(name: str) -> bool:
    """Return True if a knob, a group or a tab is hidden."""
    hidden: frozenset[str] = st.session_state.get(_HIDDEN, frozenset())
    if name in hidden:
        return True
    groups = [group for group, members in MEMBERS.items() if name in members]
    groups += ["data"] if name.startswith("data_") else []
    return any(group in hidden for group in groups)


def tabs_left(names: Sequence[str]) -> list[str]:
    """Return the tabs that are not hidden."""
    return [] if hides("tabs") else [name for name in names if not hides(f"{TAB}{name}")]


def unknown_names(controls: frozenset[str]) -> list[str]:
    """Return the names in the link that belong to no control, on this page or a different one."""
    return [name for name in state.never_asked() if not _is_name(name, controls)]


def _is_name(name: str, controls: frozenset[str]) -> bool:
    if name in GROUPS or any(name in members for members in MEMBERS.values()) or name in controls or name in OWN:
        return True
    rest = next((name.removeprefix(each) for each in PREFIXES if name.startswith(each)), "")
    return rest.isidentifier() and rest.isascii() and rest.islower()
