"""Decision paper: one page that an analyst and an officer sign, an appendix, and a public version.

`PublicFacts` follow only from the question, the public box, the methods' proofs and the releases. `Findings` are
computed on the true records and are for the curator only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dpviz.core import Adjacency, Claim, Confidential, attacker_odds, immutable, immutable_value
from dpviz.stories.label import QUESTIONS, Label, Statement
from dpviz.stories.panel import at_most, beside, ceiled, chance_limit, counted, number, times
from dpviz.tools.compare.document import (
    Block,
    Document,
    Heading,
    Items,
    Named,
    Note,
    Pairs,
    Picture,
    Pictures,
    Signature,
    TableBlock,
    Text,
)
from dpviz.tools.compare.frontier import (
    NEIGHBORS,
    NO_DATA,
    EpsilonMeaning,
    Ranked,
    guarantee_words,
    median_row,
    no_data_ratio,
    per_distance,
    promised_numbers,
    spread_words,
)
from dpviz.tools.compare.runs import Row, Rows
from dpviz.tools.compare.search import Recommendation
from dpviz.tools.release import ReleaseEntry, ReleaseLedger
from dpviz.tools.trials import OK

SECRET = "Curator's paper: its figures are computed on the true records. Do not publish it."
OPEN = "Public version: apart from earlier releases, nothing in it was computed from records."
LARGEST = (
    "If δ depends on the noisy number of records, this is the largest δ that the method uses, because that number is "
    "not public. A run on many records has a smaller δ, shown on its own page."
)
WAITING = (
    "This public version recommends no method and no ε: a recommendation, the costs and the ranking would follow from "
    "the records. The curator's paper has them."
)
NOTHING = "No method is recommended."
NONE_PROVED = "Nothing is proved here for these neighbors and bounds."
SIGNATURES = (
    ("Analyst (name and office)", "Date", "Signature"),
    ("Data protection officer (name and office)", "Date", "Signature"),
)
REFRAIN = (
    "The runs behind this paper use noise from seeds and protect no one. The release needs secret noise, and may cost "
    "more.",
    "With different records, a different k or a different box, the order of the methods may change.",
)
CHOSEN = "ε was chosen from exact results; no guarantee here covers that use of the records."
UNPROTECTED = (
    "Facts about many people stay visible: the released centers show them.",
    "A person's second record, and every further release of these records, adds its ε to this one.",
    "The box, ε and all other settings are public inputs. So is k, unless “Centers” says that a private curve gave it.",
)
NOTHING_YET = ReleaseLedger()
NO_TABLE = "None yet. The Release step of a method's page makes it, once, with secret noise."
ANY_ROWS = "Not specified. All odds here are for one row: a person with more rows is protected less."
ONE_ROW = "Yes, according to the person who provided the file: all odds here are for one person."
EXACT = (
    "No. The release in question is one table in the columns' units: {k} noisy centers, or as many as the method finds "
    "(nD-Laplace: noisy points). No record, no exact average and no exact count is in it."
)
COUNTS = (
    "Only with noise, and only if the method releases counts: the list of releases shows which did. The true number of "
    "people in a cluster stays secret."
)
CLIPPED = "Values outside the bounds count as the nearest bound. Their number is not public."
READING = "Cost: median × without privacy (middle 90 % of runs). A coin flip is right 50 times in 100."
# Maximum number of columns in one table.
MOST_WIDE = 7
# Maximum number of columns named on the first page.
MOST_COLUMNS = 8
COST = (
    "Sum of squared distances from each record to its nearest center, as a multiple of the cost of k-means without "
    "privacy on the same records; every method with at most k centers."
)
NO_LIMIT = "no limit"
BY_WHOM = "Arguments without a source are dpviz's own: its tests check them, but no outside reviewer has."
AGAIN = "This app's address, followed by:"
OWN_DELTA = (
    "A δ in parentheses follows from the noisy count of one run here. It proves nothing: other runs, including the "
    "run on the method's page, have a different δ."
)


@immutable_value
class Promise:
    """Promise of one method at the ε that the paper is about."""

    key: str
    name: str
    label: Label
    # Proved claim, as it composes with other releases.
    proved: Claim | None


@immutable_value
class PublicFacts:
    """The question, the data's public side, the releases, and the promises at one ε. Nothing in it is exact."""

    # Title of the data.
    title: str
    # Pairs (feature, its public bounds); "" for bounds that came from the records.
    bounds: Named
    bounds_note: str
    n_clusters: int
    adjacency: str
    epsilon: float
    promises: tuple[Promise, ...]
    bounds_public: bool
    versions: Named
    # Query that opens the same page again.
    link: str
    day: str
    # Source of k, and whether anyone chose it.
    origin: str = ""
    # Pairs (column, its bounds), if the features are computed from columns.
    columns: Named = ()
    # Description of those computed features.
    derived: str = ""
    # Ledger of all releases of these records.
    ledger: ReleaseLedger = NOTHING_YET
    # Maximum number of rows per person; 0: not specified.
    rows_each: int = 0
    # Location of the records, and how long they are kept.
    kept: str = ""

    @property
    def question(self) -> str:
        """Question to decide."""
        return (
            f"With which method and which ε should {self.n_clusters} cluster centers of these records be released, and "
            f"what does that cost? Two data sets are neighbors when they differ by {NEIGHBORS[self.adjacency]}."
        )


@immutable
class Findings(Confidential):
    """Results of the runs. Curator only."""

    n: int
    # Rows of the file that were left out.
    n_left_out: int
    # Records that were moved to the wall of the box.
    n_clipped: int
    # Effect of that clipping on each column; "" if nothing is known about columns.
    clipping: str
    # Ranking at the paper's ε.
    ranked: tuple[Ranked, ...]
    best: Recommendation | None
    # The recommendation's sentence, or the reason why there is none.
    answer: str
    # Rows of every method, at the paper's ε and at all others.
    rows: Rows
    # Pictures at the paper's ε, and without privacy.
    pictures: tuple[Picture, ...]
    frontier: Picture
    # Centers in the picture.
    centers: tuple[tuple[str, ...], ...]
    # Names of the centers' numbers, with units.
    center_columns: tuple[str, ...]
    # Each center in words; empty for projected columns.
    profiles: tuple[str, ...]
    # Agreement with the clusters without privacy; "" if there is no picture.
    same: str
    pinned: tuple[tuple[str, Row], ...]  # (method, its run nearest to the median)
    # Names of the methods.
    names: Mapping[str, str]
    settings: Named

    @property
    def first(self) -> str:
        """The method that the paper is about, "" for none."""
        return first_of(self.best, self.ranked)

    @property
    def second(self) -> str:
        """The runner-up, "" for none."""
        if self.best is not None and self.best.runner_up is not None:
            return self.best.runner_up.key
        return next((each.key for each in self.ranked if each.key != self.first), "")


def first_of(best: Recommendation | None, ranked: Sequence[Ranked]) -> str:
    """Return the method that a paper is about: the recommended one, else the cheapest proved one, else ""."""
    if best is not None:
        return best.best.key
    return ranked[0].key if ranked else ""


def decision_paper(facts: PublicFacts, findings: Findings) -> Document:
    """Return the curator's paper."""
    epsilon, first, best = number(facts.epsilon), findings.first, findings.best
    about = [each for each in facts.promises if each.key == first]
    others = [each for each in facts.promises if each.key != first]
    runs = pinned(findings, bounds_public=facts.bounds_public)
    keys = [key for key in (first, findings.second) if key]
    rows = f"{findings.n:,} used; {findings.n_left_out:,} left out (missing cells, or the share of rows); "
    moved = f"{findings.n_clipped:,} moved to the bounds"
    blocks: list[Block] = [
        Note(SECRET),
        Text(facts.question),
        *_recommendation(facts, findings),
        Pictures(findings.pictures),
        Heading("What an officer asks"),
        Pairs(
            (
                *answers(facts, about[0] if about else None),
                *((("The same clusters?", findings.same),) if findings.same else ()),
                ("Rows", f"{rows}{moved}{findings.clipping and ': '}{findings.clipping}."),
                *_data(facts),
            )
        ),
        *protection(about, (*UNPROTECTED, *REFRAIN, *((CHOSEN,) if best is not None else ()))),
        *map(Signature, SIGNATURES),
    ]
    appendix: list[Block] = [Heading("Appendix")]
    if first and findings.centers:
        appendix.append(Heading(f"Centers of the picture, {findings.names[first]}"))
        if findings.profiles:
            appendix.append(Pairs(tuple((f"Center {i}", words) for i, words in enumerate(findings.profiles, 1))))
        for begin in range(0, len(findings.center_columns), MOST_WIDE):
            columns = findings.center_columns[begin : begin + MOST_WIDE]
            cells = tuple((row[0], *row[1 + begin : 1 + begin + MOST_WIDE]) for row in findings.centers)
            appendix.append(TableBlock(("Center", *columns), cells))
    appendix += [
        *_releases(facts.ledger),
        Heading("ε against cost"),
        *((costs(findings, keys, facts.epsilon), Text(READING, small=True)) if keys else (Text(NONE_PROVED),)),
        Heading("What is proved, and by whom"),
        Pairs(tuple((each.name, promise_words(each.label)) for each in about)),
        Text(" ".join((BY_WHOM, *(each.text for each in own_delta(about)))), small=True),
        *((Heading("Pinned runs"), runs) if runs.rows else ()),
        Heading("All methods along ε"),
        Pictures((findings.frontier,)),
        Heading("All numbers"),
        numbers(findings, facts.n_clusters),
    ]
    # Methods that the first page is not about.
    if others:
        appendix += [
            Heading(f"What the other methods promise at ε = {epsilon}"),
            Pairs(tuple((each.name, promise_words(each.label)) for each in others)),
            *own_delta(others),
        ]
    appendix += [Heading("Methods, parameters and seeds"), Pairs((("Cost", COST), *findings.settings))]
    title = f"Decision: private clustering of {facts.title}"
    return Document(title, _subtitle(facts), tuple(blocks), (*appendix, *_again(facts)))


def public_paper(facts: PublicFacts) -> Document:
    """Return the version for the public: the question, the public side of the data, and each method's promise."""
    rows = tuple((each.name, *odds(each.label)) for each in facts.promises)
    blocks: list[Block] = [
        Note(OPEN),
        Text(facts.question),
        Text(WAITING),
        Heading(f"What each method promises at ε = {number(facts.epsilon)}"),
        TableBlock(("Method", "Promise", "An attacker is right (coin flip: 50 in 100)"), rows),
        *((Text(LARGEST, small=True),) if any("δ" in promise for _, promise, _ in rows) else ()),
        Heading("What an officer asks"),
        Pairs((*answers(facts, None), ("Clipping", CLIPPED), *_data(facts))),
        *protection(facts.promises, UNPROTECTED),
        *map(Signature, SIGNATURES),
    ]
    appendix: tuple[Block, ...] = (
        Heading("Appendix"),
        *_releases(facts.ledger),
        Heading("What is proved, and by whom"),
        Pairs(tuple((each.name, promise_words(each.label)) for each in facts.promises)),
        Text(BY_WHOM, small=True),
        *_again(facts),
    )
    return Document(f"Private clustering of {facts.title}: what is promised", _subtitle(facts), tuple(blocks), appendix)


def answers(facts: PublicFacts, planned: Promise | None) -> Named:
    """Return an officer's questions and their answers; `planned` is the release that is recommended.

    The odds are for all releases of these records, with and without the planned release.
    """
    before = facts.ledger
    after = None
    if planned is not None:
        what, neighbors = f"{facts.n_clusters} centers", Adjacency[facts.adjacency.upper()]
        delta = 0.0 if planned.proved is None else planned.proved.delta
        spent = facts.epsilon, delta, neighbors, planned.proved
        after = ReleaseLedger(
            (
                *before.entries,
                ReleaseEntry(
                    what, planned.key, planned.name, *spent, facts.day, "release", rows=max(facts.rows_each, 1)
                ),
            )
        )
    tables = [each for each in before.entries if each.fingerprint]
    table = f"{_entry(tables[-1])}, SHA-256 {tables[-1].fingerprint}." if tables else NO_TABLE
    rows = ANY_ROWS if not facts.rows_each else ONE_ROW
    if facts.rows_each > 1:
        rows = f"No: a person has up to {facts.rows_each} rows. The odds here are for all of them together."

    def format_odds(adjacency: Adjacency) -> str:
        so_far = _odds(before, adjacency) if before.entries else "no information: 50 in 100"
        so_far = f"{so_far[:1].upper()}{so_far[1:]}"
        return f"{so_far}." if after is None else f"{so_far}. After this release: {_odds(after, adjacency)}."

    return (
        ("Released so far", f"{_total(before)}{f' With this release: {_spent(after)}.' if after is not None else ''}"),
        (f"{QUESTIONS[Adjacency.ADD_REMOVE]} (coin flip: 50)", format_odds(Adjacency.ADD_REMOVE)),
        (QUESTIONS[Adjacency.REPLACE], format_odds(Adjacency.REPLACE)),
        ("Is the exact table in it?", EXACT.format(k=facts.n_clusters)),
        ("Counts per cluster", COUNTS),
        ("The latest released table", table),
        ("Is one row one person?", rows),
        *((("Location of the data", facts.kept),) if facts.kept else ()),
    )


def _total(ledger: ReleaseLedger) -> str:
    """Report the total spending of all releases."""
    if not ledger.entries:
        return "Nothing, according to this browser tab and the settings loaded into it."
    total, best = ledger.total_basic(), ledger.total_best()
    words = f"{counted(len(ledger.entries), 'release')}, together {_spent(ledger)}."
    if best.epsilon < total.epsilon and not total.uncounted:
        words += f" Composed at best {_amount(best.epsilon, best.delta)}, if no release was chosen by an earlier one."
    return words


def _spent(ledger: ReleaseLedger) -> str:
    total = ledger.total_basic()
    alone = len(ledger.entries) == 1
    words = f"{_amount(total.epsilon, total.delta)}{'' if alone else ', the sum,'} for {NEIGHBORS['add_remove']}"
    return (
        f"{words}, and without a limit: nothing is proved about {_names(total.uncounted)}" if total.uncounted else words
    )


def _amount(epsilon: float, delta: float) -> str:
    return f"ε = {ceiled(epsilon)}{f', δ = {chance_limit(delta)}' if delta else ''}"


def _names(entries: Sequence[ReleaseEntry]) -> str:
    return ", ".join(dict.fromkeys(each.title for each in entries))


def _odds(ledger: ReleaseLedger, adjacency: Adjacency) -> str:
    """Return the limit on how often an attacker who has seen every release is right about all rows of a person."""
    total = ledger.total_basic(adjacency)
    if total.uncounted:
        return f"no limit: nothing is proved about {_names(total.uncounted)}"
    return f"right {at_most(attacker_odds(total.epsilon, total.delta))}"


def _entry(entry: ReleaseEntry) -> str:
    return f"{entry.what}, {entry.title}, {entry.day}"


def _releases(ledger: ReleaseLedger) -> tuple[Block, ...]:
    """List every release with its proved claim and the fingerprint of its table."""
    rows = []
    for each in ledger.entries:
        proved = "nothing is proved"
        if each.proved is not None:
            amount = _amount(each.proved.epsilon, each.proved.delta)
            proved = f"proved: {amount} for {NEIGHBORS[each.proved.adjacency.name.lower()]}"
        table = f" Its table: SHA-256 {each.fingerprint}." if each.fingerprint else ""
        rows.append((_entry(each), f"ε = {ceiled(each.epsilon)} was requested; {proved}. From: {each.origin}.{table}"))
    return (Heading("All releases of these records"), Pairs(tuple(rows))) if rows else ()


def _subtitle(facts: PublicFacts) -> str:
    return f"{facts.day}, made by dpviz. ε = {number(facts.epsilon)} throughout, k = {facts.n_clusters}."


def _data(facts: PublicFacts) -> Named:
    columns = facts.columns or facts.bounds
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    if facts.bounds_public:
        listed = "; ".join(f"{name} {words}" for name, words in columns[:MOST_COLUMNS])
        words = f"{len(columns)}, public bounds: {listed}{more}. "
    else:
        words = f"{len(columns)}: {', '.join(name for name, _ in columns[:MOST_COLUMNS])}{more}. "
    return (
        ("Columns", f"{words}{facts.bounds_note} {facts.derived}".strip()),
        *((("Centers", facts.origin),) if facts.origin else ()),
    )


def _recommendation(facts: PublicFacts, findings: Findings) -> list[Block]:
    epsilon, key, best = number(facts.epsilon), findings.first, findings.best
    ranked = {each.key: each for each in findings.ranked}
    if not key:
        return [Text(NOTHING, strong=True), Text(f"{findings.answer} {NONE_PROVED}")]
    first, name = ranked.get(key), findings.names[key]
    strong = f"Release with {name} at ε = {epsilon}." if best is not None else NOTHING
    sentences = [findings.answer]
    if first is not None:
        lead = "Its" if best is not None else f"At ε = {epsilon}, {name} costs least: its"
        # These runs are not the runs behind the answer.
        n = sum(row["epsilon"] == facts.epsilon for row in findings.rows[key])
        ends = f"the table's {n} runs; middle 90 % of them: {times(first.low)} to {times(first.high)} ×"
        sentences.append(f"{lead} median cost is {beside(first.median)} without privacy ({ends}).")
        without_data = no_data_ratio(findings.rows)
        if without_data is not None and first.median >= without_data:
            sentences.append(
                f"Centers chosen without any record cost no more: {times(without_data)} × without privacy."
            )
    second = ranked.get(findings.second)
    runner = "No other method is proved"
    if findings.second:
        runner = f"Runner-up: {findings.names[findings.second]}"
    if second is not None:
        runner += f". At ε = {epsilon} its median cost is {beside(second.median)} without privacy"
        if first is not None and second.low <= first.high:
            runner += "; the two bands overlap"
    more = f" {best.needed}" if best is not None and best.needed else ""
    return [Text(strong, strong=True), Text(" ".join(sentences)), Text(f"{runner}.{more}")]


def _again(facts: PublicFacts) -> tuple[Block, ...]:
    return (
        Heading("How to reproduce it"),
        Text(", ".join(f"{name} {version}" for name, version in facts.versions)),
        Text(AGAIN),
        Text(f"compare?{facts.link}", small=True, code=True),
    )


def odds(label: Label) -> tuple[str, str]:
    """Return the proved promise, or that there is none, and its odds."""
    if label.proved is None:
        return f"claimed, not proved: {label.stated.numbers}" if label.stated.odds else "nothing is claimed", NO_LIMIT
    apart = ""
    # A label begins with a number, or names one of something.
    if label.distances:
        words = label.distances[0][0]
        apart = f", between two places {words if words[:1].isdigit() else f'one {words}'} apart"
    return f"{label.proved.numbers}, {label.proved.neighbors}", f"{label.proved.odds}{apart}"


def own_delta(promises: Sequence[Promise]) -> tuple[Text, ...]:
    """Explain why a δ here differs from the δ elsewhere; empty if it does not."""
    follows = any(each.label.proved is not None and "noisy count" in each.label.proved.numbers for each in promises)
    return (Text(OWN_DELTA, small=True),) if follows else ()


def promise_words(label: Label) -> str:
    """State the proved claim with its argument, and the claim of the method's authors with its procedure."""
    proved, stated, differs = label.proved, label.stated, label.differs
    theirs = "For their own procedure, its authors state" if differs else "Its authors state"
    otherwise = f" dpviz's procedure differs from theirs: {differs}." if differs else ""
    if not stated.odds:
        return f"Proved: {'nothing.' if proved is None else _claim(proved, 'argument')} Nothing is claimed for it."
    if proved is None:
        return f"Proved: nothing. {theirs} {_claim(stated, 'source')} Not established.{otherwise}"
    words = f"Proved{' as dpviz does it' if differs else ''}: {_claim(proved, 'argument')}"
    if proved == replace(stated, title=proved.title):
        return f"{words}{otherwise or ' Nothing beyond that is claimed for it.'}"
    alike = (proved.numbers, proved.neighbors) == (stated.numbers, stated.neighbors)
    what = f"the same; source: {stated.reference.rstrip('.')}." if alike else _claim(stated, "source")
    return f"{words} {theirs} {what}{otherwise}"


def _claim(claim: Statement, what: str) -> str:
    """Write a claim and its `what`: the argument behind it, or its source."""
    comma = "," if "," in claim.numbers else ""
    return f"{claim.numbers}{comma} for {claim.neighbors}; {what}: {claim.reference.rstrip('.')}."


def protection(promises: Sequence[Promise], unprotected: tuple[str, ...]) -> tuple[Block, ...]:
    """List the protected values, once for all methods with the same ones, and the unprotected values.

    A claim without a proof protects no one.
    """
    names: dict[str, list[str]] = {}
    for each in promises:
        protects = each.label.contents.protects
        words = _inside(protects) if each.label.proved is not None else "nothing is established."
        names.setdefault(words, []).append(each.name)
    items = [f"{'; '.join(whose)}: {words}" for words, whose in names.items()]
    secret = dict.fromkeys(_inside(words) for each in promises for words in each.label.contents.secret)
    items += [f"Not to be released: {'; '.join(secret)}."] if secret else []
    protected = (Heading("What it protects"), Items(tuple(items))) if items else ()
    return (*protected, Heading("What it does not protect"), Items(unprotected))


def _inside(words: str) -> str:
    """Rewrite the beginning of a sentence for use inside a sentence."""
    return words[:1].lower() + words[1:]


def costs(findings: Findings, keys: Sequence[str], epsilon: float) -> TableBlock:
    """Return ε against cost and odds of the methods `keys`, all proved; the row at `epsilon` is marked."""
    rows = findings.rows
    epsilons = sorted({float(row["epsilon"]) for key in keys for row in rows.get(key, ())})
    lines = []
    for at in epsilons:
        cells = [number(at)]
        for key in keys:
            runs = [row for row in rows.get(key, ()) if row["epsilon"] == at]
            row = median_row(runs) or {}
            proved = row.get("proved_epsilon") is not None
            right = at_most(attacker_odds(*promised_numbers(row, "proved"))) if proved else NO_LIMIT
            limit = right.removeprefix("at most ").split(":")[0]
            cells += ["{} ({})".format(*spread_words(runs)), limit] if runs else ["", ""]
        lines.append(tuple(cells))
    head = ["ε"]
    for key in keys:
        head += [f"{findings.names[key]}: cost", "attacker right at most"]
    return TableBlock(tuple(head), tuple(lines), epsilons.index(epsilon) if epsilon in epsilons else None)


def pinned(findings: Findings, *, bounds_public: bool) -> TableBlock:
    """Return the pinned runs, each with its method, cost, number of centers and promise."""
    head = ("Run", "Cost", "Centers", "Promise", "Seed")
    rows = tuple(
        (
            f"{findings.names[key]}, ε = {number(float(row['epsilon']))}",
            times(float(row["inertia_ratio"])),
            str(row["k_found"]),
            guarantee_words(row, bounds_public=bounds_public),
            str(row["noise_seed"]),
        )
        for key, row in findings.pinned
    )
    return TableBlock(head, rows)


def numbers(findings: Findings, n_clusters: int) -> TableBlock:
    """Return the cost of every method at every ε, and its number of centers if that is not k.

    A method whose ε counts per distance is marked as such.
    """
    epsilons = sorted({float(row["epsilon"]) for every in findings.rows.values() for row in every})
    head = ("Method", *(f"ε = {number(at)}" for at in epsilons))
    lines = []
    for key, every in findings.rows.items():
        name = findings.names[key]
        cells = [f"{name} ({EpsilonMeaning.DISTANCE.words})" if per_distance(every) else name]
        for at in epsilons:
            runs = [row for row in every if row["epsilon"] == at]
            counts = sorted({int(row["k_found"]) for row in runs if row["status"] == OK})
            cells.append("{} ({})".format(*spread_words(runs)) if runs else "")
            if counts not in ([], [n_clusters]):
                span = f"{counts[0]}{f' to {counts[-1]}' if len(counts) > 1 else ''}"
                cells[-1] += f"; {span} {'center' if span == '1' else 'centers'} found"
        lines.append(tuple(cells))
    without_data = no_data_ratio(findings.rows)
    if without_data is not None:
        lines.append((NO_DATA, *(times(without_data) for _ in epsilons)))
    return TableBlock(head, tuple(lines))
