"""The example article: prose from the package's assets, with numbers that are computed and the site's own pictures."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import FloatArray, attacker_odds
from dpviz.methods import CATALOGUE
from dpviz.plots import Axis
from dpviz.publishing.files import address, document
from dpviz.publishing.plan import ARTICLE, SitePlan
from dpviz.publishing.written import Writer
from dpviz.stories.panel import limit
from dpviz.tools.learn.story import leak
from dpviz.tools.learn.story.groups import AGE, N_GROUPS, N, measured, nonprivate_centers, nonprivate_labels, records

SOURCE = ASSETS / "example_article"
LOW, HIGH = 0.1, 5.0  # ε that the prose speaks of, beside 1
_METHOD = "convergent_kmeans"
_ATTACK = "Who is protected?"  # the step of its lesson that measures what the published mode gives away
_SPOKEN = ((_METHOD, "1"), (_METHOD, f"{LOW:g}"), ("nd_laplace", "1"))  # what is quoted
_PICTURE = re.compile(r'<dpviz-picture page="([^"]+)"')
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

Say = Callable[[str, str], str]  # folder of a page, stop of its slider -> what the page says there


def titled(plan: SitePlan) -> str:
    """Return the article's title; "" where the site lacks a page that a picture is from, or an ε that is spoken of."""
    stops = {each.folder: each.stops for each in plan.pages}
    lacks = set(_PICTURE.findall(_prose())) - stops.keys()
    lacks |= {name for name, stop in _SPOKEN if stops.get(name) and stop not in stops[name]}
    found = _TITLE.search(_prose())
    assert found is not None
    return "" if lacks else found[1]


def write_article(folder: Path, plan: SitePlan, say: Say) -> None:
    """Write the article, with a style sheet of its own."""
    place = folder / ARTICLE
    place.mkdir(exist_ok=True)
    sheet = '<link rel="stylesheet" href="article.css">'
    (place / "index.html").write_text(document(plan.article, ARTICLE, html_of(plan, say), plan, head=sheet), "utf-8")
    shutil.copyfile(SOURCE / "article.css", place / "article.css")


def html_of(plan: SitePlan, say: Say) -> str:
    """Return the article as HTML; links to pages that the site has not stay as words."""
    from markdown_it import MarkdownIt  # of the extra `publish`

    written = MarkdownIt("commonmark").render(_prose().format_map(numbers(say)))
    links = Writer(partial(address, ARTICLE, folders=plan.folders))
    return f'<article class="article">{links.linked(written)}</article>'


def numbers(say: Say) -> dict[str, str]:
    """Return every number of the prose, from what it speaks of; all records in it are made up."""
    missing = int(leak.MISSING.format(leak.MISSING.default))
    labels, ages = nonprivate_labels(), _years(records()[:, 0], AGE)
    group = labels[missing - 1]
    size = int(np.sum(labels == group))
    center_age = float(_years(nonprivate_centers()[group, :1], AGE)[0])
    known = float(ages[labels == group].sum() - ages[missing - 1])
    lesson = CATALOGUE[_METHOD].lesson
    assert lesson is not None
    attack = next(each.question.measure() for each in lesson.steps if each.title == _ATTACK and each.question)
    return {
        "n": str(N),
        "k": str(N_GROUPS),
        "rounds": measured().words["measured"],
        "missing": str(missing),
        "size": str(size),
        "others": str(size - 1),
        "center_age": f"{center_age:.2f}",
        "total": f"{size * center_age:.2f}",
        "known": f"{known:.2f}",
        "age": f"{float(_years(leak.found(missing)[:1], AGE)[0]):.1f}",
        "digits": leak.measured().words["measured"],
        "low": f"{LOW:g}",
        "high": f"{HIGH:g}",
        "odds_low": limit(attacker_odds(LOW)),
        "odds_1": limit(attacker_odds(1.0)),
        "odds_high": limit(attacker_odds(HIGH)),
        **{name: say(*each) for name, each in zip(("said_1", "said_low", "said_sent"), _SPOKEN, strict=True)},
        "attacked": f"{int(lesson.query['n']):,}",
        "published_digits": attack.words["measured"],
        "n_attacks": attack.words["runs"],
    }


def _years(places: FloatArray, axis: Axis) -> FloatArray:
    low, high = axis.values
    return low + places * (high - low)


def _prose() -> str:
    return (SOURCE / "article.md").read_text("utf-8")
