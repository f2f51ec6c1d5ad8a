"""DPM's page: move ε, and watch the box being cut where it is empty, level by level."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dpviz.core import Knob
from dpviz.method_page import MethodPage, under
from dpviz.methods.dpm import METHOD, charts
from dpviz.methods.dpm.algorithm import Shares
from dpviz.methods.dpm.algorithm.plan import PUBLISHED_SHARES
from dpviz.methods.dpm.charts import ManyCuts, strips, tree_chart
from dpviz.methods.dpm.layers import PICK
from dpviz.methods.dpm.run import DPMRun
from dpviz.stories.panel import number
from dpviz.tools.many_runs import page as many_runs
from dpviz.tools.two_worlds import page as two_worlds
from dpviz.tools.two_worlds.page import WorldsTab
from dpviz.ui import controls, panel, state
from dpviz.ui.asking import Job, after_picture
from dpviz.ui.live import LiveState, clicked, live
from dpviz.ui.panel import safe_table

TREE_HEIGHT = 430
STRIP_HEIGHT = 165
HEAT_HEIGHT = 430
K_HEIGHT = 260
# Runs of one job.
BATCH = 10
PUBLIC_QUALITY = "Quality is measured on the exact records. Only the curator sees it."
_LOOKED = "dpviz:dpm-looked"

TAB = under("tab", ("inside", "Inside a cut"), ("many", "Many runs"), ("quality", "Against k-means"), two_worlds.CHOICE)

HELP = {
    "t": "Centreness where the outer part ends, above 2q. Higher: off-center cuts lose less.",
    "q": "Share of the records at either end where cuts are unwanted. Higher: small slices are cut off less often.",
    "emptiness_weight": "Higher: empty space counts more, and being in the middle counts less. Scores also get "
    "noisier.",
}
MOST_NODE = 4095
LEVELS = Knob(
    "n_levels",
    "int",
    0,
    "Levels of cuts τ (0: the rule)",
    "More levels find smaller clusters, each with less budget.",
    0,
    10,
)
POWER = Knob(
    "delta_power",
    "int",
    0,
    "δ = 1 in 10^x, x = (0: the rule)",
    "The rule: 1/(n √n) of the noisy number of records. Gaussian noise on the centers needs some δ.",
    0,
    12,
)
PUBLIC_N = Knob(
    "n_is_public",
    "bool",
    False,
    "The number of records is public",
    "Then depth, shares and δ follow from it at no cost. The guarantee holds only if the number is public.",
)
NODE = Knob("node", "int", 0, "Subset", "A node of the split tree. Click one there, or a cut.", 0, MOST_NODE)
ALONG = Knob("along", "int", 0, "Along", "The feature whose candidates are shown.", 0, 50)


# Bounds of a share. Every step reads the records, so no share is 0.
LEAST, MOST = 0.01, 0.97
_LOCKED = "dpviz:locked-shares"
SHARE_WORDS = {
    "interval": ("Interval size", "How fine the grid of candidates is. A little is enough."),
    "counts": ("Counts", "Less noise on the counts of sides and gaps: fewer cuts refused or applied by chance."),
    "splits": ("Splits", "Makes it more likely that the best cut is drawn."),
    "averages": ("Averages", "Less noise on the centers only."),
}
WHOSE_SHARES = Knob(
    "shares",
    "choice",
    "rule",
    "Shares of ε",
    "The rule: as in the paper in published mode, otherwise from the noisy number of records.",
    choices=(("rule", "The rule"), ("own", "Your own")),
)
SHARES = {
    name: Knob(f"share_{name}", "float", getattr(PUBLISHED_SHARES, name), label, text, LEAST, MOST)
    for name, (label, text) in SHARE_WORDS.items()
}
LOCKS = {
    name: Knob(f"lock_{name}", "bool", False, f"Lock {label.lower()}", "It stays the same when you move another share.")
    for name, (label, _) in SHARE_WORDS.items()
}
# Knobs of the parameters, in the order of the link.
LINKED = ("calibration", "t", "q", "emptiness_weight")
OWN = (LEVELS, POWER, PUBLIC_N, NODE, ALONG)


class DPMPage(MethodPage):
    """DPM's page. Unlike other pages, it has shares of the budget, and a subset that the reader looks into."""

    solid = True
    reason_is_public = True
    controls = (*OWN, WHOSE_SHARES, *SHARES.values(), *LOCKS.values(), *many_runs.KNOBS, *two_worlds.KNOBS)
    tab = TAB

    def draw_first(self) -> None:
        """Draw the choice between the repaired and the published calibration."""
        self.values["calibration"] = controls.control(self.knobs["calibration"])

    def draw_knobs(self) -> None:
        """Draw score, shares, depth and δ."""
        dataset = self.frame.source.dataset
        # Reset it here, because the tab would run the page again and lose its messages.
        if state.value(ALONG) > dataset.d:
            state.remember(ALONG, ALONG.default)
        with st.expander("Score of a cut"):
            for name, text in HELP.items():
                self.values[name] = controls.control(self.knobs[name])
                st.caption(text)
        self.values["shares"] = draw_shares()
        with st.expander("Depth and δ"):
            self.values["n_levels"] = int(controls.control(LEVELS)) or None
            power = int(controls.control(POWER))
            self.values["delta"] = 10.0**-power if power else None
            self.values["n_public"] = dataset.n if controls.control(PUBLIC_N) else None

    def read_look(self) -> None:
        """Read the subset that the reader looks into."""
        self.node = int(state.value(NODE))

    def fields(self) -> dict[str, Any]:
        """Return the subset that the strips and the picture look into."""
        return {"chosen": self.node}

    def link(self, epsilon: float) -> list[tuple[str, str]]:
        """Return the page's part of the link, and remember the subset that it and the picture have shown."""
        st.session_state[_LOOKED] = looked_into()
        knobs = [*(self.knobs[name] for name in LINKED), *OWN]
        pairs = [(knob.name, knob.format(state.value(knob))) for knob in knobs]
        pairs = [("epsilon", self.budget.format(epsilon)), *pairs, *share_link(), *two_worlds.link(self.frame)]
        return [*pairs, (self.tab.name, state.value(self.tab))]

    def follow_click(self, picture: LiveState | None) -> None:
        """Look into the cut that was clicked."""
        if picture is not None:
            look_into(picture, "picture")
            two_worlds.follow_click(self.frame, picture)

    def tabs(self) -> dict[str, Callable[[], None]]:
        """Return the function that draws each tab."""
        return {**super().tabs(), "inside": self.inside, "many": self.many, "quality": self.quality}

    def worlds(self) -> WorldsTab:
        """Return the settings of the two-worlds tab. The plan of a run follows a released number."""
        return WorldsTab(self.current_request, planned=False)

    @state.fragment
    def inside(self) -> None:
        """Draw the split tree, and next to it the chosen subset's numbers and strips."""
        after_picture("wait-inside")
        run = self.run()
        if run is None:
            return
        left, right = st.columns([1, 1], gap="medium")
        with left:
            look_into(live(tree_chart(run.release, run.subsets, run.node), key="tree", height=TREE_HEIGHT), "tree")
        with right:
            # Names that stay the same when ε moves. A list returns a name, and a missing name would not be an answer.
            node = controls.picked(NODE, ["All records", *(f"Subset {i}" for i in range(1, len(run.cells.axes)))])
            names = ("The feature that was cut", *run.words.feature_names)
            feature = controls.picked(ALONG, names) if run.words.box.d > 1 else 0
            # This fragment has moved the subset, and the picture must follow.
            if st.session_state.get(_LOOKED) != looked_into():
                state.run_again()
            title = f"Subset {node}" if node else "All records"
            panel.side(panel.facts(title, run.node_facts(), public=self.frame.public))
        if self.frame.public:
            st.caption(
                "Scores and chances stay secret: they are exact. The drawn cut and the noisy counts are released."
            )
            return
        split = run.split(run.node)
        if split is None:
            st.caption("No cut was tried here, so nothing was scored.")
            return
        along = feature - 1 if feature else int(run.cells.axes[run.node])
        if along != run.cells.axes[run.node]:
            st.caption(f"The cut was drawn along a different feature: {state.plain(run.subsets.cut_place(run.node))}.")
        for name, chart in strips(split, run.cells, run.words, along):
            live(chart, key=f"strip-{name}", height=STRIP_HEIGHT)

    def many(self) -> None:
        """Draw many runs: their releases, one after another, and their cuts."""
        many_runs.many(self.frame, self.request, self.budget, self.noise, self.view, bands=True, more=self.cuts)

    @state.fragment
    def cuts(self, n_runs: int) -> None:
        """Draw the cuts of `n_runs` other runs, their numbers of clusters, and the shown cuts that recur."""
        run = self.run()
        if run is None:
            return
        batches = enumerate(min(BATCH, n_runs - first) for first in range(0, n_runs, BATCH))
        seed = self.noise.seed_for(self.frame.source).value
        jobs = [Job(charts.run_many, (run.params, size, (seed, batch)), n_runs=size) for batch, size in batches]
        answers = self.answers(jobs, what=f"{n_runs} runs", key="wait-many")
        if answers is None:
            return
        parts = [part for part in answers if part is not None]
        if parts:
            self.draw_cuts(run, ManyCuts.joined(parts))
        else:
            st.caption("The first results are on their way.")

    def draw_cuts(self, run: DPMRun, cuts: ManyCuts) -> None:
        """Draw the cuts of many runs over the picture's features, and how often each cut of `run` recurs."""
        left, right = st.columns([3, 2], gap="medium")
        with left:
            live(charts.heat_chart(run.cells, run.words, cuts, self.view), key="heat", height=HEAT_HEIGHT)
        with right:
            live(charts.k_chart(run.k, run.classes, cuts), key="found", height=K_HEIGHT)
        nodes, shares = charts.again(run.cells, cuts)
        rows = [
            {
                "Cut of the shown run": run.subsets.cut_place(node),
                "Level": run.cells.levels[node] + 1,
                "Again": f"{100 * share:.0f} in 100",
            }
            for node, share in zip(nodes, shares, strict=True)
        ]
        if not rows:
            st.caption("The run that is shown made no cut.")
            return
        safe_table(pd.DataFrame(rows), hide_index=True)
        near = f"{100 * charts.NEAR:g} % of the axis"
        st.caption(
            f"Again: runs that cut along the same feature, at most {near} away, through the middle of the shown cut."
        )

    def quality(self) -> None:
        """Draw the measurements next to k-means with the same k, including the silhouette."""
        if self.frame.public:
            st.info(PUBLIC_QUALITY)
        else:
            self.draw_quality()

    @state.fragment
    def draw_quality(self) -> None:
        """Draw the table of quality. Curator only."""
        run = self.run()
        if run is None:
            return
        labels = run.last.nonprivate_labels.astype(np.int32).tobytes()
        classes = None if run.classes is None else run.classes.astype(np.int32).tobytes()
        jobs = [Job(charts.compared, (labels, run.release.centers.tobytes(), classes), n_runs=0)]
        answers = self.answers(jobs, what="Comparison", key="wait-quality")
        if answers and answers[0] is not None:
            safe_table(pd.DataFrame(answers[0]).map(number), hide_index=None)
            st.caption(charts.EXPLAINED)


def look_into(chart: LiveState, key: str) -> None:
    """Open the clicked node, once for each click."""
    if chart.picked != PICK or chart.picked_mark is None or not clicked(chart, f"node-{key}"):
        return
    if chart.picked_mark != state.value(NODE):
        state.remember(NODE, chart.picked_mark)
        state.run_again()


def looked_into() -> tuple[int, int]:
    """Return the subset and the feature that are looked into."""
    return int(state.value(NODE)), int(state.value(ALONG))


def rebalanced(shares: Mapping[str, float], changed: str, share: float, locked: Collection[str]) -> dict[str, float]:
    """Return the shares after `changed` was set to `share`, or as close to it as the locks and LEAST allow.

    The other unlocked shares keep their ratios, as far as LEAST allows. All four add up to 1.
    """
    free = [name for name in shares if name != changed and name not in locked]
    room = 1.0 - math.fsum(shares[name] for name in shares if name != changed and name in locked)
    mine = min(max(share, LEAST), room - LEAST * len(free)) if free else room
    return {**shares, changed: mine, **divide({name: shares[name] for name in free}, room - mine)}


def draw_shares() -> Shares | None:
    """Draw the editor and return the shares, None for the rule."""
    with st.expander("Budget shares"):
        if controls.control(WHOSE_SHARES) == "rule":
            return None
        total = math.fsum(_values().values())
        # The shares come from a link.
        if abs(total - 1.0) > 1e-9:
            state.report(f"The link's shares add up to {total:.3g}, but they must add up to 1: they were scaled.")
            _keep(divide(_values(), 1.0))
        for name, knob in SHARES.items():
            key = state.tie(state.widget_key(knob.name), float(state.value(knob)))
            options: dict[str, Any] = {"key": key, "help": knob.help, "disabled": bool(state.value(LOCKS[name]))}
            options |= {"on_change": _moved_share, "args": (name, key)}
            st.slider(knob.label, LEAST, MOST, step=0.01, format="%.3f", **options)
        locked = state.tie(_LOCKED, [name for name, knob in LOCKS.items() if state.value(knob)])
        st.pills(
            "Locked",
            list(SHARE_WORDS),
            format_func=lambda name: SHARE_WORDS[name][0],
            selection_mode="multi",
            key=locked,
            on_change=_lock,
            args=(locked,),
        )
        st.caption("They always add up to 1. A locked share stays the same while you move another.")
    return Shares(**_values())


def share_link() -> list[tuple[str, str]]:
    """Return the shares' part of the link."""
    pairs = [("shares", str(state.value(WHOSE_SHARES)))]
    if state.value(WHOSE_SHARES) == "own":
        pairs += [(knob.name, knob.format(float(state.value(knob)))) for knob in SHARES.values()]
        pairs += [(knob.name, knob.format(state.value(knob))) for knob in LOCKS.values()]
    return pairs


def _lock(key: str) -> None:
    chosen = state.take_choice(_LOCKED, key)
    for name, knob in LOCKS.items():
        state.remember(knob, name in chosen)


def _values() -> dict[str, float]:
    return {name: float(state.value(knob)) for name, knob in SHARES.items()}


def _keep(shares: Mapping[str, float]) -> None:
    for name, share in shares.items():
        state.remember(SHARES[name], min(max(share, LEAST), MOST))


def _moved_share(name: str, key: str) -> None:
    """Keep the reader's choice, and let the other shares make room."""
    locked = [other for other, knob in LOCKS.items() if state.value(knob)]
    before = _values()
    after = rebalanced(before, name, float(state.take_choice(state.widget_key(SHARES[name].name), key)), locked)
    if set(before) <= {name, *locked}:
        state.report("All other shares are locked, so this one cannot move. Unlock one of them.")
    _keep(after)


def divide(shares: Mapping[str, float], room: float) -> dict[str, float]:
    """Divide `room` in the ratios of `shares`, each at least LEAST."""
    total = math.fsum(shares.values())
    divided = {name: room * share / total for name, share in shares.items()}
    low = dict.fromkeys((name for name, share in divided.items() if share < LEAST), LEAST)
    if not low:
        return divided
    others = {name: share for name, share in shares.items() if name not in low}
    return low | divide(others, room - math.fsum(low.values()))


PAGE = DPMPage.page(METHOD)
