"""The decision paper: one page that an official signs, and an appendix; and what of it anybody may read.

`PublicFacts` follow from the question, the public box and the methods' proofs alone. `Found` was computed on the true
records, and is the curator's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpviz.core import Confidential
from dpviz.stories.panel import attacker, beside, number
from dpviz.tools.compare.document import (
    Block,
    Document,
    Heading,
    Note,
    Pairs,
    Picture,
    Pictures,
    Signature,
    TableBlock,
    Text,
)
from dpviz.tools.compare.story import NEIGHBORS, Row, Rows
from dpviz.tools.compare.story import paper_promises as promises
from dpviz.tools.compare.story import paper_tables as tables
from dpviz.tools.compare.story.answer import Recommendation
from dpviz.tools.compare.story.paper_promises import Promise
from dpviz.tools.compare.story.ranking import Ranked

SECRET = "Curator's paper: its figures are computed on the true records. Do not publish it."
OPEN = "Public version: nothing in it was computed from records."
LARGEST = (
    "Where δ follows the noisy number of records, it is the largest that the method takes: how many there are is not "
    "public. A run on many records has a smaller δ, which its own page shows."
)
WAITING = (
    "This public version recommends no method and no ε: a recommendation, the costs and the ranking would follow from "
    "the records. The curator's paper has them."
)
NOTHING = "No method is recommended."
NONE_PROVED = "Nothing is proved here for these neighbors and bounds."
SIGNATURE = ("Decided by (name and office)", "Date", "Signature")
REFRAIN = (
    "The runs behind this paper have noise from seeds and protect nobody. The release needs secret noise, and may cost "
    "more.",
    "With other records, another k or another box, the order of the methods may change.",
)
CHOSEN = "ε was chosen by exact results; no guarantee here covers that look at the records."
UNPROTECTED = (
    "What is true of many people stays visible: that is what the released centers say.",
    "A person's second record, and every further release of these records, adds its ε to this one.",
    "The box, ε and all other settings are public inputs. So is k, unless “Centers” says that a private curve gave it.",
)
READING = "Cost: median × without privacy (middle 90 % of runs). A coin flip is right 50 times in 100."
MOST_COLUMNS = 8  # that are named on the first page
COST = (
    "Sum of squared distances from each record to its nearest center, as a multiple of the cost of k-means without "
    "privacy on the same records; every method with k centers at most."
)


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """The question, the data's public side, and the promises at one ε. Nothing in it is exact."""

    title: str  # of the data
    bounds: tuple[tuple[str, str], ...]  # (feature, its public bounds); "" where they came from the records
    bounds_note: str
    n_clusters: int
    adjacency: str
    epsilon: float
    promises: tuple[Promise, ...]
    bounds_public: bool
    versions: tuple[tuple[str, str], ...]
    link: str  # the query that brings the page back
    day: str
    origin: str = ""  # where k comes from, and whether anybody chose it
    typed: tuple[tuple[str, str], ...] = ()  # (column, its bounds) where other features were made of them
    remade: str = ""  # which features those are

    @property
    def question(self) -> str:
        """What is to be decided."""
        return (
            f"With which method and which ε should {self.n_clusters} cluster centers of these records be released, and "
            f"what does that cost? Two data sets are neighbors when they differ by {NEIGHBORS[self.adjacency]}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Found(Confidential):
    """What the runs show. Curator only."""

    n: int
    n_left_out: int  # rows of the file
    n_moved: int  # records, onto the box's wall
    ranked: tuple[Ranked, ...]  # at the paper's ε
    best: Recommendation | None
    answer: str  # its sentence, or why there is none
    rows: Rows  # of every method, at the paper's ε and at all others
    pictures: tuple[Picture, ...]  # at the paper's ε, and without privacy
    frontier: Picture
    centers: tuple[tuple[str, ...], ...]  # of the picture
    center_columns: tuple[str, ...]  # what their numbers are, with units
    pinned: tuple[tuple[str, Row], ...]  # (method, its run nearest to the median)
    names: Mapping[str, str]  # of the methods
    settings: tuple[tuple[str, str], ...]

    @property
    def first(self) -> str:
        """The method that the paper is about, "" for none: the recommended one, else the cheapest that is proved."""
        return first_of(self.best, self.ranked)

    @property
    def second(self) -> str:
        """The runner-up, "" for none."""
        if self.best is not None and self.best.runner_up is not None:
            return self.best.runner_up.key
        return next((each.key for each in self.ranked if each.key != self.first), "")


def first_of(best: Recommendation | None, ranked: Sequence[Ranked]) -> str:
    """Return the method that a paper is about: the recommended one, else the cheapest that is proved, else ""."""
    if best is not None:
        return best.best.key
    return ranked[0].key if ranked else ""


def decision_paper(known: PublicFacts, found: Found) -> Document:
    """Return the curator's paper."""
    shown = [each for each in known.promises if each.key == found.first]
    pinned = tables.pinned(found.pinned, found.names, bounds_public=known.bounds_public)
    keys = [key for key in (found.first, found.second) if key]
    costs = tables.costs(found.rows, found.names, keys, known.epsilon)
    blocks: list[Block] = [
        Note(SECRET),
        Heading("The question"),
        Text(known.question),
        Heading("The data"),
        Pairs((*_records(found), *_data(known))),
        Heading("Recommendation"),
        *_recommendation(known, found),
        Pictures(found.pictures),
        Heading("ε against cost"),
        *((costs, Text(READING, small=True)) if keys else (Text(NONE_PROVED),)),
        Heading("What is proved, and by whom"),
        Pairs(tuple((each.name, promises.promised(each.label)) for each in shown)),
        Text(" ".join((promises.BY_WHOM, *(each.text for each in promises.own_delta(shown)))), small=True),
        *promises.protection(shown, (*UNPROTECTED, *REFRAIN, *((CHOSEN,) if found.best is not None else ()))),
        *((Heading("Pinned runs"), pinned) if pinned.rows else ()),
        Signature(SIGNATURE),
    ]
    title = f"Decision: private clustering of {known.title}"
    return Document(title, _made(known), tuple(blocks), _appendix(known, found))


def public_paper(known: PublicFacts) -> Document:
    """Return what anybody may read: the question, the public side of the data, and what each method promises."""
    epsilon = number(known.epsilon)
    odds = tuple((each.name, *promises.odds(each.label)) for each in known.promises)
    blocks: list[Block] = [
        Note(OPEN),
        Heading("The question"),
        Text(known.question),
        Text(WAITING),
        Heading("The data"),
        Pairs(_data(known)),
        Heading(f"What each method promises at ε = {epsilon}"),
        TableBlock(("Method", "Promise", "An attacker is right (coin flip: 50 in 100)"), odds),
        *((Text(LARGEST, small=True),) if any("δ" in promise for _, promise, _ in odds) else ()),
        Heading("What is proved, and by whom"),
        Pairs(tuple((each.name, promises.promised(each.label)) for each in known.promises)),
        Text(promises.BY_WHOM, small=True),
        *promises.protection(known.promises, UNPROTECTED),
        Signature(SIGNATURE),
        *_again(known),
    ]
    return Document(f"Private clustering of {known.title}: what is promised", _made(known), tuple(blocks))


def _made(known: PublicFacts) -> str:
    return f"{known.day}, made by dpviz. ε = {number(known.epsilon)} throughout, k = {known.n_clusters}."


def _data(known: PublicFacts) -> tuple[tuple[str, str], ...]:
    given = known.typed or known.bounds
    names = [name for name, _ in given[:MOST_COLUMNS]]
    shown = [f"{name} {words}" for name, words in given[:MOST_COLUMNS]]
    more = f" and {len(given) - MOST_COLUMNS} more" if len(given) > MOST_COLUMNS else ""
    bounds = f"{'; '.join(shown)}{more}. " if known.bounds_public else ""
    columns = f"{len(given)}, public bounds: {bounds}" if bounds else f"{len(given)}: {', '.join(names)}{more}. "
    return (
        ("Columns", f"{columns}{known.bounds_note} {known.remade}".strip()),
        *((("Centers", known.origin),) if known.origin else ()),
    )


def _records(found: Found) -> tuple[tuple[str, str], ...]:
    left_out = f"{found.n_left_out:,} left out (missing cells, or the share of rows)"
    moved = f"{found.n_moved:,} moved onto the bounds"
    return (("Rows", f"{found.n:,} used; {left_out}; {moved}"),)


def _recommendation(known: PublicFacts, found: Found) -> list[Block]:
    epsilon = number(known.epsilon)
    at = {each.key: each for each in found.ranked}
    if not found.first:
        return [Text(NOTHING, strong=True), Text(f"{found.answer} {NONE_PROVED}")]
    first, name = at.get(found.first), found.names[found.first]
    strong = f"Release with {name} at ε = {epsilon}." if found.best is not None else NOTHING
    said = [found.answer]
    if first is not None:
        lead = "Its" if found.best is not None else f"At ε = {epsilon}, {name} costs least: its"
        said.append(f"{lead} median cost is {tables.cost(first)}.")
        said += filter(None, [tables.no_better(first, found.rows)])
    label = next(each.label for each in known.promises if each.key == found.first)
    if label.proved is not None:
        said.append(attacker(tables.percent(found.rows, found.first, known.epsilon)))
    second = at.get(found.second)
    runner = f"Runner-up: {found.names[found.second]}" if found.second else "There is no runner-up that is proved"
    if second is not None:
        runner += f". At ε = {epsilon} its median cost is {beside(second.median)} without privacy"
        if first is not None and second.low <= first.high:
            runner += "; the two bands overlap"
    more = f" {found.best.needed}" if found.best is not None and found.best.needed else ""
    return [Text(strong, strong=True), Text(" ".join(said)), Text(f"{runner}.{more}")]


def _appendix(known: PublicFacts, found: Found) -> tuple[Block, ...]:
    blocks: list[Block] = [
        Heading("Appendix: all methods along ε"),
        Pictures((found.frontier,)),
        Heading("All numbers"),
        tables.numbers(found.rows, found.names, known.n_clusters),
        *_others(known, found),
        Heading("Methods, parameters and seeds"),
        Pairs((("Cost", COST), *found.settings)),
    ]
    if found.first and found.centers:
        columns = ("Center", *found.center_columns)
        blocks += [Heading(f"Centers of the picture, {found.names[found.first]}"), TableBlock(columns, found.centers)]
    return (*blocks, *_again(known))


def _others(known: PublicFacts, found: Found) -> tuple[Block, ...]:
    """Say what the methods promise that the first page is not about."""
    others = [each for each in known.promises if each.key != found.first]
    if not others:
        return ()
    said = Pairs(tuple((each.name, promises.promised(each.label)) for each in others))
    return Heading(f"What the other methods promise at ε = {number(known.epsilon)}"), said, *promises.own_delta(others)


def _again(known: PublicFacts) -> tuple[Block, ...]:
    versions = ", ".join(f"{name} {version}" for name, version in known.versions)
    return Heading("How to make it again"), Text(versions), Text(f"compare?{known.link}", small=True)
