"""The course on its page: every chapter asks, answers and leads on; guesses stay out of the address."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min

from dpviz.baselines.source_target_rivals import nonprivate_stc
from dpviz.methods import CATALOGUE
from dpviz.tools.teaching.chapters import CHAPTERS, END, END_TITLE, NAMES, ORDER
from dpviz.tools.teaching.page import course as learn
from dpviz.ui.runs import SCREEN
from tests.pages.conftest import Page
from tests.recorded import _hash as digest


def words(choice):
    """Return the words of an answer as Markdown has them."""
    return choice.words.replace("$", "\\$")


class Course(Page):
    """The course."""

    def __init__(self, **query):
        super().__init__("learn", query)

    @property
    def said(self):
        return " ".join(text.value for text in self.app.markdown)

    @property
    def heading(self):
        (title,) = self.app.title
        return title.value

    @property
    def told(self):
        """Return the data of the course's contents."""
        (course,) = [each.proto for each in self.app.get("bidi_component") if "course" in each.proto.component_name]
        return json.loads(course.json)


def test_all_chapters_are_walked_through():
    page = Course()
    for name in ORDER:
        if name == END:
            assert learn.NEXT not in page.buttons
            (written,) = [each.proto.body for each in page.app.get("html") if "<ol>" in each.proto.body]
            assert all(f'{CHAPTERS[each].explained} <a href="learn?chapter={each}"' in written for each in NAMES)
            assert all(f'<a href="learn?chapter={each}"' in written for each in CHAPTERS)
            assert 'href="quiz"' in written
            page = page.press(learn.BACK)
            assert page.heading == CHAPTERS[NAMES[-1]].title
            assert learn.SKIP not in page.buttons
            # As after a click in the contents.
            page.app.session_state["dpviz:knobs"].values["chapter"] = ORDER[len(NAMES) + 1]
            page.run()
            continue
        chapter = CHAPTERS[name]
        answer = learn.measured(name)
        assert page.heading == chapter.title
        assert page.warnings == []
        assert page.query == {"chapter": name}
        assert chapter.question.explained(answer) not in page.said
        right = chapter.question.right(answer)
        page.press(chapter.question.ranges[right].words)
        assert f"✓ Your guess is right: “{words(chapter.question.ranges[right])}”" in page.said
        assert chapter.question.explained(answer) in page.said
        assert chapter.caption(chapter.answered_at) in page.said
        assert page.query == {"chapter": name, chapter.control.name: chapter.control.format(chapter.answered_at)}
        assert learn.SKIP not in page.buttons, "only the first guess counts"
        assert page.packed()["picture"][0]["plain"]
        if name != ORDER[-1]:
            page.press(learn.NEXT)
    assert learn.NEXT not in page.buttons


def test_a_wrong_guess_is_said_and_a_skipped_one_is_not():
    chapter = CHAPTERS[NAMES[0]]
    right = chapter.question.right(learn.measured(chapter.name))
    wrong = chapter.question.ranges[(right + 1) % len(chapter.question.ranges)]
    page = Course()
    page.press(wrong.words)
    assert f"✗ Your guess: “{words(wrong)}”" in page.said
    assert f"✓ Right: “{words(chapter.question.ranges[right])}”" in page.said
    assert page.told["done"]
    skipped = Course()
    skipped.press(learn.SKIP)
    assert "No guess" in skipped.said
    assert f"✓ Right: “{words(chapter.question.ranges[right])}”" in skipped.said
    assert not skipped.told["done"], "what was not guessed has no tick"


@pytest.mark.parametrize("clicks", [(learn.SKIPPED, 2, 1), (2, learn.SKIPPED), (2, 1)])
def test_the_first_guess_counts_while_a_chapter_is_measured(monkeypatch, clicks):
    guesses = {}
    monkeypatch.setattr(learn, "_guesses", lambda: guesses)
    monkeypatch.setattr(learn.state, "remember", lambda *_: None)
    # The buttons stay until the page has followed.
    for index in clicks:
        learn._guess(NAMES[0], index)
    assert guesses == {NAMES[0]: 2}


@pytest.mark.parametrize("name", [name for name, chapter in CHAPTERS.items() if chapter.link])
def test_a_link_opens_the_chapters_own_run_and_the_claims_hold_there(open_page, name):
    chapter = CHAPTERS[name]
    method = CATALOGUE[chapter.page]
    opened = {}
    for value in (chapter.control.default, chapter.answered_at):
        page = open_page(chapter.page, **chapter.link(value))
        assert page.warnings == []
        screen = page.app.session_state[SCREEN]
        ((_, run),) = screen.runs
        own = method.chapter.made()
        params = method.Params(**method.chapter.params(value))
        assert (screen.source.dataset.points == own.points).all()
        assert (screen.source.dataset.box.low == own.box.low).all()
        assert (screen.source.dataset.box.high == own.box.high).all()
        again = method.fit(own.points, own.box, params, rng=np.random.default_rng(method.chapter.seed))
        opened[value] = screen.source.dataset, screen.request(float(chapter.link(value)["epsilon"])).params
        # In the run that this chapter's link opens, a rule chooses the rounds.
        if name == "noise":
            assert repr(replace(opened[value][1], n_iterations=int(value))) == repr(params)
            opened[value] = screen.source.dataset, params
        else:
            assert digest(run.result.release) == digest(again.release), "the run that the chapter shows"
    if name in CLAIMS:
        right = chapter.question.ranges[chapter.question.right(learn.measured(name))]
        assert right.low <= CLAIMS[name](method, *opened[chapter.answered_at]) < right.high


def releases(method, data, params, n):
    """Return the releases of the page's run with noise seeds 0, 1, ..., n - 1."""
    return [method.fit(data.points, data.box, params, rng=np.random.default_rng(seed)).release for seed in range(n)]


def cost(method, data, params):
    """Return the middle cost of 25 runs, against k-means from the best of its starts."""
    unit = data.box.to_unit(data.points)
    costs = [
        pairwise_distances_argmin_min(unit, data.box.to_unit(each.centers), metric="sqeuclidean")[1].sum()
        for each in releases(method, data, params, 25)
    ]
    floor = KMeans(
        5, init=data.box.to_unit(np.stack([data.points[data.labels == k].mean(axis=0) for k in range(5)])), n_init=1
    )
    return float(np.median(costs) / floor.fit(unit).inertia_)


def walk(method, data, params):
    """Return the extra distance that people walk, in percent, as the median of 15 runs."""
    targets = params.targets
    best = cdist(targets, np.concatenate([data.points, targets[stc(data, params)]])).min(axis=1).mean()
    costs = [
        cdist(targets, np.concatenate([data.points, targets[each.selected]])).min(axis=1).mean()
        for each in releases(method, data, params, 15)
    ]
    return 100 * (np.median(costs) / best - 1)


def stc(data, params):
    """Return the targets chosen with the exact source."""
    return nonprivate_stc(data.points, params.targets, params.n_centers, rng=np.random.default_rng(0))


# tests/tools/teaching/test_chapters.py has the moons and the sent places.
CLAIMS = {
    "noise": lambda *page: cost(*page) / cost(page[0], page[1], replace(page[2], n_iterations=3)),
    "cuts": lambda *page: np.median([len(each.centers) for each in releases(*page, 20)]),
    "helpers": walk,
}


@pytest.mark.parametrize("name", CHAPTERS)
def test_an_address_from_after_the_guess_asks_again(name):
    chapter = CHAPTERS[name]
    knob = chapter.control
    value = next(value for value in (knob.choices[-1][0] if knob.choices else knob.high,))
    page = Course(chapter=name, **{knob.name: knob.format(knob.parse(knob.format(value)))})
    assert page.warnings == []
    assert learn.SKIP in page.buttons
    assert "No guess" not in page.said
    assert chapter.question.explained(learn.measured(name)) not in page.said
    right = chapter.question.right(learn.measured(name))
    page.press(chapter.question.ranges[right].words)
    assert f"✓ Your guess is right: “{words(chapter.question.ranges[right])}”" in page.said
    assert chapter.caption(chapter.answered_at) in page.said


def test_a_bad_link_is_said_and_opens_the_first_chapter():
    page = Course(chapter="<b>")
    assert any("chapter must be" in warning for warning in page.warnings)
    assert page.heading == CHAPTERS[NAMES[0]].title
    assert Course(chapter=END).heading == END_TITLE
