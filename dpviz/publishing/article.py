"""The example article: prose from the package's assets, with computed numbers and the site's own pictures."""

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
from dpviz.publishing.pages import Writer
from dpviz.publishing.plan import ARTICLE, SitePlan
from dpviz.stories.panel import limit
from dpviz.tools.teaching.chapters import clusters
from dpviz.tools.teaching.chapters.clusters import AGE, N_GROUPS, N, nonprivate_centers, nonprivate_labels, records

SOURCE = ASSETS / "example_article"
LOW, HIGH = 0.1, 5.0  # values of ε in the prose, besides 1
_METHOD = "convergent_kmeans"
_ATTACK = "Who is protected?"  # the step of its lesson that measures the leak of the published mode
_QUOTED = ((_METHOD, "1"), (_METHOD, f"{LOW:g}"), ("nd_laplace", "1"))  # page and stop
_PICTURE = re.compile(r'<dpviz-picture page="([^"]+)"')
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)

Headline = Callable[[str, str], str]  # folder of a page, stop of its slider -> the page's headline there


def article_title(plan: SitePlan) -> str:
    """Return the article's title; "" where the site lacks a page of its pictures, or a quoted ε."""
    stops = {each.folder: each.stops for each in plan.pages}
    absent = set(_PICTURE.findall(prose())) - stops.keys()
    absent |= {name for name, stop in _QUOTED if stops.get(name) and stop not in stops[name]}
    title = _TITLE.search(prose())
    assert title is not None
    return "" if absent else title[1]


def write_article(folder: Path, plan: SitePlan, headline: Headline) -> None:
    """Write the article, with a style sheet of its own; links to pages that the site lacks become words."""
    from markdown_it import MarkdownIt  # of the extra `publish`

    text = MarkdownIt("commonmark").render(prose().format_map(numbers(headline)))
    links = Writer(partial(address, ARTICLE, folders=plan.folders))
    body = f'<article class="article">{links.linked(text)}</article>'
    place = folder / ARTICLE
    place.mkdir(exist_ok=True)
    sheet = '<link rel="stylesheet" href="article.css">'
    (place / "index.html").write_text(document(plan.article, ARTICLE, body, plan, head=sheet), "utf-8")
    shutil.copyfile(SOURCE / "article.css", place / "article.css")


def numbers(headline: Headline) -> dict[str, str]:
    """Return every number of the prose, computed; all its records are synthetic."""
    missing = int(clusters.MISSING.format(clusters.MISSING.default))
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
        "rounds": clusters.clusters_answer().words["measured"],
        "missing": str(missing),
        "size": str(size),
        "others": str(size - 1),
        "center_age": f"{center_age:.2f}",
        "total": f"{size * center_age:.2f}",
        "known": f"{known:.2f}",
        "age": f"{float(_years(clusters.computed_place(missing)[:1], AGE)[0]):.1f}",
        "digits": clusters.leak_answer().words["measured"],
        "low": f"{LOW:g}",
        "high": f"{HIGH:g}",
        "odds_low": limit(attacker_odds(LOW)),
        "odds_1": limit(attacker_odds(1.0)),
        "odds_high": limit(attacker_odds(HIGH)),
        **{name: headline(*each) for name, each in zip(("said_1", "said_low", "said_sent"), _QUOTED, strict=True)},
        "attacked": f"{int(lesson.query['n']):,}",
        "published_digits": attack.words["measured"],
        "n_attacks": attack.words["runs"],
    }


def _years(places: FloatArray, axis: Axis) -> FloatArray:
    low, high = axis.values
    return low + places * (high - low)


def prose() -> str:
    """Return the article's text, with fields for numbers."""
    return (SOURCE / "article.md").read_text("utf-8")
