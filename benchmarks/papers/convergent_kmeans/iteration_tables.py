"""Iterations of convergent k-means relative to Lloyd's, next to figures 9 and 10 of Lu & Shen."""

from collections.abc import Mapping, Sequence

from benchmarks.papers.cells import disagreements, interval, interval_columns, over, rounded
from benchmarks.papers.convergent_kmeans.lloyd_runs import EPSILON, STRATEGIES, SetRuns, reach_and_angle
from benchmarks.papers.convergent_kmeans.quality import iteration_ratio
from benchmarks.papers.statistics import mean_estimate, ratio_estimate
from dpviz.tables import Cell, Column, ResultTable

SET, STRATEGY = Column("set", "Data set"), Column("strategy", "Strategy")


def iterations_table(sets: Sequence[SetRuns]) -> ResultTable:
    """Return Lloyd's iterations next to figures 9b and 10b."""
    rows: list[dict[str, Cell]] = [
        {
            "set": each.name,
            "n": len(each.records.unit),
            "paper_n": each.records.paper.n_records,
            "d": each.records.unit.shape[1],
            "k": each.records.paper.n_clusters,
            "paper_past": each.records.paper.lloyd_past,
            "paper_future": each.records.paper.lloyd_future,
            **interval("measured", mean_estimate(each.lloyd)),
            "measured_confirmed": rounded(float(each.lloyd.mean()) + 1.0),
        }
        for each in sets
    ]
    columns = (
        SET,
        Column("n", "Records", "records"),
        Column("paper_n", "Records, paper", "records"),
        Column("d", "Columns", "columns"),
        Column("k", "Clusters", "clusters"),
        Column("paper_past", "Lloyd, paper's figure 9b", "iterations"),
        Column("paper_future", "Lloyd, paper's figure 10b", "iterations"),
        *interval_columns("measured", "Lloyd, ours", "iterations"),
        Column("measured_confirmed", "Lloyd, ours, with the final check", "iterations"),
    )
    notes = (
        disagreements(rows, "paper_past", "measured"),
        "An iteration computes all means once. The column with the final check also counts the last round, which "
        "only finds that no record moved. On average over the sets, the "
        f"{'first' if _first_is_nearer(rows) else 'second'} way of counting is nearer to the paper's figures.",
        "The paper's own two averages are from different starts and differ by up to about 2 %. The paper rounds "
        "values in its runs, which can end long runs earlier, and a set with different records can differ by more.",
        *(f"{each.name} is {each.records.paper.remark}." for each in sets if each.records.paper.remark),
    )
    caption = (
        "Iterations of Lloyd's algorithm from k random records until no record changes cluster. Every column of the "
        "data is scaled to [0, 1] by its own extremes, as in the paper; this alone is not private."
    )
    return ResultTable("iterations", "Iterations of Lloyd's algorithm", caption, columns, tuple(rows), notes)


def ratios_table(sets: Sequence[SetRuns]) -> ResultTable:
    """Return the iteration ratios, with both ways of counting, next to figures 9b and 10b."""
    rows = [_ratio_row(each, strategy) for strategy in STRATEGIES for each in sets]
    columns = (
        STRATEGY,
        SET,
        Column("paper", "Paper", "× Lloyd"),
        *interval_columns("measured", "Ours", "× Lloyd"),
        *interval_columns("confirmed", "Ours, with the final check", "× Lloyd"),
        Column("rounds", "Ours, rounds over Lloyd's iterations", "× Lloyd"),
        Column("paper_iterations", "Paper", "iterations"),
        Column("iterations", "Ours", "iterations"),
    )
    notes = (
        disagreements(rows, "paper", "measured"),
        "There are two ways of counting. In the first, an iteration computes all means once, and a future round "
        "computes them twice (theorem 4). In the second, the final check, which only finds that no record moved, is "
        "one more round in both algorithms: (I + 1) / (I_Lloyd + 1) for past, 2 (rounds + 1) / (I_Lloyd + 1) for "
        "future. Past hardly changes; future rises, because its final check counts twice. The table of Lloyd's "
        "iterations shows the way of counting that is nearer to the paper's.",
        "The paper's past ratio is 0.95 to 0.97 on every set; ours differs from set to set. A past run continues "
        "until its ever smaller steps move no record across a border, so its length depends on the stopping rule "
        "and on rounding, and the paper states neither.",
        _longer_and_shorter(rows),
        "The future ratio depends less on both, because a future run can end on the means themselves. It is within "
        f"{100 * _largest_difference(rows, 'future'):.0f} % of the paper's on every set. If its rounds were counted "
        "once, they would be far below the paper's figures, so the paper also counts a round twice.",
        "The paper calls past 'posterior' and future 'prior' in section 7, and the reverse in section 6.1. The "
        "captions of figures 9 and 10 name the knowledge used, and so does this table.",
        "The ratio is average divided by average, as in figures 9b and 10b; its interval comes from the delta "
        "method on paired runs.",
    )
    caption = f"Iterations relative to Lloyd's from the same start, with ε = {EPSILON:g} in each step."
    return ResultTable("ratios", "Iterations relative to Lloyd's", caption, columns, tuple(rows), notes)


def ratio_by_epsilon_table(sets_by_epsilon: Mapping[float, Sequence[SetRuns]]) -> ResultTable:
    """Return the iteration ratio for each epsilon of a step, from the same starts for all: figures 9a and 10a."""
    rows: list[dict[str, Cell]] = []
    names = [each.name for each in next(iter(sets_by_epsilon.values()))]
    for strategy in STRATEGIES:
        for i in range(len(names)):
            for epsilon, sets in sets_by_epsilon.items():
                reach, angle = reach_and_angle(sets[i].select(strategy))
                ratio = ratio_estimate(sets[i].iterations(strategy), sets[i].lloyd)
                cells = {"epsilon": epsilon, **interval("measured", ratio)}
                moved = {"reach": rounded(reach), "angle": rounded(angle)}
                rows.append({"strategy": strategy, "set": names[i], **cells, **moved})
    columns = (
        STRATEGY,
        SET,
        Column("epsilon", "ε of each step"),
        *interval_columns("measured", "Ours", "× Lloyd"),
        Column("reach", "Mean δ"),
        Column("angle", "Mean α", "degrees"),
    )
    n_runs = len(next(iter(sets_by_epsilon.values()))[0].runs)
    notes = (
        "The paper's figures 9a and 10a are pictures, flat in ε. The data determine the zone, and ε only affects "
        "the choice within it, where scores hardly differ: mean δ and α show how little ε moves the draw.",
        *_flatness(rows),
    )
    caption = f"Runs for each ε: {n_runs}, all values of ε from the same starts. An iteration computes all means once."
    return ResultTable("ratio_by_epsilon", "Iterations against ε", caption, columns, tuple(rows), notes)


def _first_is_nearer(rows: Sequence[Mapping[str, Cell]]) -> bool:
    """Return True if Lloyd's iterations are nearer to figure 9b without the final check than with it."""

    def distance(key: str) -> float:
        return sum(abs(float(row[key] or 0.0) / float(row["paper_past"] or 1.0) - 1.0) for row in rows)

    return distance("measured") <= distance("measured_confirmed")


def _longer_and_shorter(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Return a note on sets with longer and with shorter past runs than the paper's, and a conclusion."""
    past = [row for row in rows if row["strategy"] == "past"]
    longer = [str(row["set"]) for row in past if over(row["measured"], row["paper"])]
    shorter = [str(row["set"]) for row in past if over(row["paper"], row["measured"])]
    both = (
        "no single stricter or looser rule makes all sets agree"
        if longer and shorter
        else ("a different rule may make all sets agree")
    )
    return f"Ours is longer on {', '.join(longer) or 'none'} and shorter on {', '.join(shorter) or 'none'}: {both}."


def _largest_difference(rows: Sequence[Mapping[str, Cell]], strategy: str) -> float:
    """Return the largest relative difference between our ratio and the paper's ratio."""
    chosen = [row for row in rows if row["strategy"] == strategy]
    return max(abs(float(row["measured"] or 0.0) / float(row["paper"] or 1.0) - 1.0) for row in chosen)


def _flatness(rows: Sequence[Mapping[str, Cell]]) -> tuple[str, str]:
    """Return the largest change of the ratio over epsilon, and the sets with changes beyond their intervals."""
    places: dict[str, list[Mapping[str, Cell]]] = {}
    for row in rows:
        places.setdefault(f"{row['set']} {row['strategy']}", []).append(row)
    ends = {place: sorted(float(row["measured"] or 0.0) for row in found) for place, found in places.items()}
    widest = max(ends, key=lambda place: ends[place][-1] - ends[place][0])
    apart = [
        place
        for place, found in places.items()
        if any(over(one["measured_low"], other["measured_high"]) for one in found for other in found)
    ]
    return (
        f"The largest change of a ratio over all ε is on {widest}: from {ends[widest][0]:.2f} to "
        f"{ends[widest][-1]:.2f}.",
        f"The 95 % intervals of two values of ε do not overlap on: {', '.join(apart) or 'none'}.",
    )


def _ratio_row(each: SetRuns, strategy: str) -> dict[str, Cell]:
    paper, iterations, past = each.records.paper, each.iterations(strategy), strategy == "past"
    rounds = iterations / each.passes(strategy)
    return {
        "strategy": strategy,
        "set": each.name,
        "paper": paper.past_ratio if past else paper.future_ratio,
        **interval("measured", ratio_estimate(iterations, each.lloyd)),
        **interval("confirmed", ratio_estimate(iterations + each.passes(strategy), each.lloyd + 1.0)),
        "rounds": rounded(iteration_ratio(rounds, each.lloyd)),
        "paper_iterations": paper.past if past else paper.future,
        "iterations": rounded(float(iterations.mean())),
    }
