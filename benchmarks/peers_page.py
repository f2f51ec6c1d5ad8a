"""Documentation page from the figures of `benchmarks.peers` alone."""

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
DASH = "–"

INTRO = """# Compared with other packages

This command compares dpviz with alternatives on the same records, with the same ε, number of clusters k and public box:

    {command}

ε = {epsilon:g}, with {seeds} runs of each peer on one thread. Python {python}, NumPy {numpy}, scikit-learn \
{scikit_learn}, {cores} cores. Figures are medians over runs, each with its own start and noise.
"""
COSTS = """
## Cost

The cost is the sum of squared distances to the nearest center, divided by the cost of scikit-learn's k-means \
without privacy. The worst run is in parentheses. If a method releases more than k centers, we merge them to k \
before we measure. A method that costs more than the cheaper of the two lines "No data" would have done better \
without any record.
"""
AGREEMENT = """
## Agreement with known classes

The table shows the adjusted Rand index of the released clusters: 1 means equal groups, and 0 means no better than \
chance. Classes need not be the groups that k-means looks for.
"""
TIMES = """
## Processor time of a run, ms
"""
PROOFS = """
## Proved guarantees

The table shows the weakest guarantee of all runs. Neighbors are the data sets that must look alike. The proofs \
assume that noise is a real number. Noise drawn from a seed, as here, hides nothing from anyone who knows the seed.

| peer | ε | δ | neighbors |
|---|---|---|---|
"""
DIFFPRIVLIB = """
diffprivlib states ε = {epsilon:g}. We prove nothing about version {version}, for three reasons that are visible in \
its code. First, an empty cluster keeps its center without noise. Anyone who knows the start can see from the center \
whether the cluster is empty: in {untouched} of {runs} runs, a center was still at its start at the end. Second, the \
shares of ε for counts and for sums are swapped, and with five or more features they add up to more than ε; \
according to its own code, they add up to {shares}. Third, the number of rounds depends on the exact number of \
records, which one more record changes. Here diffprivlib received records in the unit box, where a record moves a \
sum by at most the width of the box, which is the sensitivity that diffprivlib uses. With bounds from 3 to 9 it uses \
6, but a record moves a sum by up to 9.
"""


def page(report: Mapping[str, Any]) -> str:
    """Return the page as Markdown."""
    said = report["versions"] | report["machine"] | {"epsilon": report["epsilon"], "seeds": report["seeds"]}
    parts = [INTRO.format(command=report["command"], **said), _sets(report)]
    parts += [COSTS, _table(report, _cost), AGREEMENT, _table(report, _ari), TIMES, _table(report, _ms)]
    parts += [PROOFS, _proofs(report), _shares(report)]
    refused = {
        f"- {row['peer']} on {row['set']}: {row['refused']}": None for row in report["figures"] if row["refused"]
    }
    left = [f"- {name}: {why}" for name, why in report["left_out"].items()]
    parts.append("\n## Not in the tables\n\n" + "\n".join([*left, *refused]) + "\n")
    return "".join(parts)


def _sets(report: Mapping[str, Any]) -> str:
    lines = ["", "| set | records | features | k | box |", "|---|---:|---:|---:|---|"]
    for one in report["sets"]:
        box = "public" if one["public_box"] else "from the records, which is not private"
        lines.append(f"| {one['name']} | {one['n']:,} | {one['d']} | {one['k']} | {box} |")
    return "\n".join([*lines, ""])


def _table(report: Mapping[str, Any], cell: Callable[[Row], str]) -> str:
    sets = [one["name"] for one in report["sets"]]
    cells = {(row["peer"], row["set"]): cell(row) for row in report["figures"]}
    lines = ["", f"| peer | {' | '.join(sets)} |", f"|---|{'---:|' * len(sets)}"]
    lines += [f"| {peer} | {' | '.join(cells[peer, name] for name in sets)} |" for peer in _peers(report)]
    return "\n".join([*lines, ""])


def _peers(report: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["peer"] for row in report["figures"]))


def _cost(row: Row) -> str:
    return DASH if row["refused"] else f"{row['cost']:.2f} ({row['worst_cost']:.2f})"


def _ari(row: Row) -> str:
    return DASH if row["refused"] or row["ari"] is None else f"{row['ari']:.2f}"


def _ms(row: Row) -> str:
    return DASH if row["refused"] else f"{row['ms']:.0f}" if row["ms"] >= 10 else f"{row['ms']:.1f}"


def _proofs(report: Mapping[str, Any]) -> str:
    lines = []
    for peer in _peers(report):
        ran = [row["proved"] for row in report["figures"] if row["peer"] == peer and not row["refused"]]
        if not ran or None in ran:
            lines.append(f"| {peer} | nothing | {DASH} | {DASH} |")
            continue
        epsilon, _, neighbors = max(ran)
        lines.append(f"| {peer} | {epsilon:.4g} | {max(each[1] for each in ran):.2g} | {neighbors} |")
    return "\n".join([*lines, ""])


def _shares(report: Mapping[str, Any]) -> str:
    ran = [row for row in report["figures"] if row.get("looked_into")]
    if not ran:
        return ""
    return DIFFPRIVLIB.format(
        epsilon=report["epsilon"],
        version=report["versions"]["diffprivlib"],
        untouched=sum(row["looked_into"]["untouched"] for row in ran),
        runs=len(ran) * report["seeds"],
        shares=", ".join(f"{row['looked_into']['handed_out']:.3f} on {row['set']}" for row in ran),
    )
