"""The frame of a page: navigation with data and knobs, the stage, and the places below it; also pages of words."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.assets import text
from dpviz.core import Knob, immutable
from dpviz.data import Dataset
from dpviz.data.transforms import clipped_columns, clipped_words
from dpviz.stories import View
from dpviz.ui import asking, controls, hiding, panel, release_ledger, state
from dpviz.ui.data import answers
from dpviz.ui.data.bounds import say_scaling
from dpviz.ui.data.picker import DEFAULT, DataCatalog, Source, pick
from dpviz.ui.data.upload import FORGOTTEN
from dpviz.ui.export import menu
from dpviz.ui.runs import Noise, forget_own, keep, renew_secret
from dpviz.ui.server import ahead
from dpviz.ui.stage import follow_choice

STYLE = f"<style>{text('style.css')}</style>"
# CSS pixels.
CHART_HEIGHT = 170
MOST_SEED = 2**31 - 1
DESCRIBE = "Describe your data above: a file, its columns, their public bounds. Or choose a different set under Data."

AUDIENCE = Knob(
    "audience",
    "choice",
    "curator",
    "View as",
    "Everyone sees the release, public inputs and noise distributions, but nothing exact.",
    choices=(("curator", "Curator"), ("public", "Everyone")),
)
LENS = Knob("lens", "bool", False, "Look at one person", "Where the release lands with this person and without.")
# The seeds of the first picture were chosen for visibly wide zones. Any other pair would work as well.
START_SEED = Knob("start_seed", "int", 5, "Start seed", "Places the initial centers.", 0, MOST_SEED)
NOISE_SEED = Knob("noise_seed", "int", 112, "Noise seed", "Known noise protects no one.", 0, MOST_SEED)
SECRET = Knob(
    "secret",
    "bool",
    False,
    "Secret noise",
    "Noise from the operating system, never stored: every picture is one more release.",
)
SOLID = Knob(
    "view",
    "choice",
    "flat",
    "Picture",
    "Two features, or three as a box seen from afar.",
    choices=(("flat", "Two features"), ("solid", "Three, turned")),
)
YAW = Knob("yaw", "int", 30, "Turn", "Rotation around the third feature, in degrees.", -180, 180, unit="degrees")
PRINCIPAL = Knob("principal", "bool", False, "Principal directions", "Computed from the records. Curator only.")
PITCH = Knob("pitch", "int", 25, "Tilt", "Angle of the view from above, in degrees.", -90, 90, unit="degrees")


MORE = "More"


@immutable
class PageFrame:
    """Places on the page. The stage's fragment fills stage, numbers and charts again and again.

    A fragment sends every element it draws with each move, so the parts that ε does not change are drawn outside of the
    fragment.
    """

    source: Source
    # True if the public is looking.
    public: bool
    # Name of the viewer who sees more than the public.
    insider: str
    # New noise, in the navigation.
    again: DeltaGenerator
    # Knobs that choose the run.
    first: DeltaGenerator
    # All other knobs, behind "More".
    more: DeltaGenerator
    problems: DeltaGenerator
    # Finding, instrument, guarantee and picture.
    stage: DeltaGenerator
    # The step that releases own records.
    release: DeltaGenerator
    # Facts, under the stage.
    numbers: DeltaGenerator
    charts: DeltaGenerator
    # The full guarantee, which "Details" opens.
    card: DeltaGenerator
    # Tabs.
    more_pictures: DeltaGenerator

    @property
    def dataset(self) -> Dataset:
        """The data set of the source."""
        return self.source.dataset


def start(
    title: str,
    terms: state.Pairs,
    *,
    data: str = DEFAULT,
    own: DataCatalog | None = None,
    insider: str = "Curator",
    public_picture: bool = True,
) -> PageFrame:
    """Draw the row of data and menus, and create the places; stop without data.

    `data` names the set that the page opens with, `own` are sets that only this page has, and `insider` is the viewer
    who sees more than the public. The choice of the audience is below the picture. Without a `public_picture`, the
    public has nothing to see and nothing to save.
    """
    ahead.withdraw()
    state.begin()
    if st.session_state.pop(FORGOTTEN, False):
        forget_own()
        asking.forget()
        keep(None)
    dress()
    follow_choice("audience", AUDIENCE)
    # The title is for screen readers, because the navigation shows it.
    with st.container(key="dpviz-title"):
        st.title(title, anchor=False)
    row = st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="dpviz-row")
    problems = st.container(key="dpviz-problems")
    form = st.container(key="dpviz-form")
    public = state.value(AUDIENCE) == "public"
    source, described = pick(row, form, public=public, default=data, own=own)
    state.session().is_blank = source is None
    if source is None:
        # Otherwise the message above names the missing file.
        if not answers.session().linked:
            form.info(DESCRIBE)
        if not hiding.hides("export"):
            # The menus need data.
            with form:
                menu.draw_import()
        show_problems(problems)
        context = get_script_run_ctx()
        # A run that stops here keeps the fragments of the run before, and a timer runs them.
        if context is not None:
            context.fragment_storage.clear()
        st.stop()
    with row:
        again = st.container(width="content", key="dpviz-again")
        with st.popover(MORE, key="dpviz-more"):
            with st.container(key="dpviz-knobs"):
                first, more = st.container(), st.container()
            if not hiding.hides("terms"):
                panel.glossary(terms)
            if not hiding.hides("export"):
                menu.export_menu(pictured=public_picture or not public)
            if not hiding.hides("share"):
                menu.share_menu()
    with described:
        _describe(source.dataset, public=public)
    stage = st.container(key="dpviz-stage")
    below = st.container(key="dpviz-below")
    if source.form is not None:
        with below:
            say_scaling(source.form, source.dataset.scale, public=public)
        if not public and source.dataset.nonprivate_n_clipped:
            columns = state.plain(clipped_columns(source.form.axes, source.nonprivate_clipping))
            below.caption(f"{clipped_words(source.dataset.nonprivate_n_clipped, source.dataset.n, columns)}.")
    release_ledger.draw_ledger(source, below, public=public)
    places = (below.container(), below.container(), below.container(), below.container(), st.container())
    return PageFrame(source, public, insider, again, first, more, problems, stage, *places)


def seeds(frame: PageFrame, *, start: bool = True) -> Noise:
    """Draw the seeds, the button for new noise and the switch to secret noise; return the source of the noise.

    `start` is True if the method has a start to be seeded.
    """
    secret = not frame.source.own and bool(controls.control(SECRET))
    if hiding.hides("seeds"):
        return Noise(None if secret else int(state.value(NOISE_SEED)))
    with frame.again:
        if st.button("New noise", help="Same data, same start, different noise."):
            renew(secret=secret)
    with st.expander("Seeds"):
        if start:
            controls.control(START_SEED)
        return Noise(None if secret else int(controls.control(NOISE_SEED)))


def axis_knobs(d: int) -> list[Knob]:
    """Return the choices of the features across, up and along the third edge of the box."""
    axes = (
        ("x", "Across", "on the horizontal axis"),
        ("y", "Up", "on the vertical axis"),
        ("z", "Third feature", "along the third edge of the box"),
    )
    return [Knob(name, "int", at, label, f"Feature {place}.", 0, d - 1) for at, (name, label, place) in enumerate(axes)]


def view(frame: PageFrame, *, solid: bool = False) -> View:
    """Draw the choice of axes, if there is one; `solid` offers three features, but no principal directions."""
    d = frame.dataset.d
    if d <= 2:
        return View()
    x, y, z = axis_knobs(d)
    with st.expander("Axes"):
        if not solid and controls.control(PRINCIPAL):
            return View(principal=True)
        names = frame.dataset.feature_names
        if solid and controls.control(SOLID) == "solid":
            chosen = [controls.picked(knob, names) for knob in (x, y, z)]
            features: list[int] = []
            # A feature that is chosen twice is replaced by the next one.
            for feature in chosen:
                while feature in features:
                    feature = (feature + 1) % d
                features.append(feature)
            if features != chosen:
                state.report(f"A box needs three features. Now they are {', '.join(names[i] for i in features)} now.")
            yaw, pitch = float(controls.control(YAW)), float(controls.control(PITCH))
            return View(features[0], features[1], z=features[2], yaw=yaw, pitch=pitch)
        across, up = controls.picked(x, names), controls.picked(y, names)
    if across == up:
        other = (up + 1) % d
        state.report(f"Both axes were {names[up]}: a picture needs two features. Up is {names[other]} now.")
        return View(across, other)
    return View(across, up)


def _describe(dataset: Dataset, *, public: bool) -> None:
    """Show the data that were loaded. Curator only: the number of records, and the number outside the box."""
    parts = [f"{dataset.d} {'feature' if dataset.d == 1 else 'features'}"]
    if not public:
        parts.insert(0, f"{dataset.n:,} records")
        if dataset.labels is not None and dataset.n:
            n_classes = len(np.unique(dataset.labels))
            parts.append(f"{n_classes} known {'class' if n_classes == 1 else 'classes'}")
    st.caption(f"{', '.join(parts)}. {state.plain(dataset.note)}")
    if not public and dataset.nonprivate_n_clipped:
        st.caption(f"{clipped_words(dataset.nonprivate_n_clipped, dataset.n)}.")


def link(frame: PageFrame, noise: Noise, view: View, *, start: bool = True) -> state.Pairs:
    """Write seeds and view into the link; secret noise has no seed to write."""
    pairs = [("start_seed", str(state.value(START_SEED)))] if start else []
    pairs.append(("audience", str(state.value(AUDIENCE))))
    if noise.seed is not None:
        pairs.append(("noise_seed", str(noise.seed)))
    else:
        pairs.append(("secret", "1"))
    if view.principal:
        pairs.append(("principal", "1"))
    elif frame.dataset.d > 2:
        pairs += [("x", str(view.x)), ("y", str(view.y))]
        if view.z is not None:
            pairs += [("view", "solid"), ("z", str(view.z))]
            pairs += [("yaw", YAW.format(int(view.yaw))), ("pitch", PITCH.format(int(view.pitch)))]
    return pairs


def renew(*, secret: bool) -> None:
    """Draw different noise: forget the secret run, or use the next seed."""
    if secret:
        renew_secret()
        return
    state.remember(NOISE_SEED, (int(state.value(NOISE_SEED)) + 1) % MOST_SEED)


def show_problems(place: DeltaGenerator) -> None:
    """Show the messages that have gathered, and forget them."""
    # A fragment may only write where the last whole run has written, so the box is there even without a message.
    with place, st.container():
        for problem in state.take_problems():
            st.warning(problem)


def dress(*styles: str) -> None:
    """Draw the app's and a page's style sheets, hide the parts that the link hides, and set the size of type."""
    for style in (STYLE, *styles):
        st.html(style)
    hiding.begin()
    menu.fit_size()


@contextmanager
def words_page(title: str, lead: str) -> Iterator[None]:
    """Draw a page's title and lead, the block inside, and then any messages; terms in `lead` open their meanings."""
    ahead.withdraw()
    # Keep nothing of the page before.
    keep(None)
    state.begin()
    dress()
    with st.container(key="dpviz-words", gap="small"):
        st.title(title, anchor=False)
        st.html(f'<p class="dpviz-sentence">{panel.marked(lead)}</p>')
        problems = st.container()
        yield
    show_problems(problems)
