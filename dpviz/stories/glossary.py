"""The words of the app, each with one short plain definition; a text names one as [[word]] or [[word|as it reads]]."""

import re
from collections.abc import Iterator

GLOSSARY = {
    "add or remove": "Neighbors are two data sets of which one has one record more. The number of records is "
    "private. The usual choice here.",
    "adjacency": "Which two data sets must look alike: one record added or removed, or one record changed. A "
    "budget means nothing without it.",
    "AMI": "Adjusted mutual information: how much two groupings of the same records tell about each other. About "
    "0 is chance, 1 is the same grouping.",
    "ARI": "Adjusted Rand index: how well two groupings agree on which pairs of records belong together. About 0 "
    "is chance, 1 is the same grouping.",
    "attacker odds": "How often an attacker guesses right whether one record is in the data, starting from a "
    "coin's 50 in 100 and knowing every other record.",
    "basin": "All places from which walking uphill in the density ends on the same peak.",
    "BLUM": "The first private k-means, by Blum, Dwork, McSherry and Nissim (2005): Lloyd's algorithm with equally "
    "noisy sums and counts in every step.",
    "box": "The public bounds of every feature. Records outside are moved onto its wall before anything is computed.",
    "budget": "The ε, or ε and δ, that a whole run may spend. Steps share it.",
    "centreness": "DPM's measure of how near a cut is to the middle record of a subset: 1 in the middle, 0 at the "
    "ends.",
    "composition": "What several releases of the same records cost together. Pure ε adds up at most; for Gaussian "
    "noise less than the sum is enough.",
    "convergent zone": "The open ball around a cluster's mean that reaches the old center. Every point inside "
    "lowers that cluster's cost.",
    "coreset": "A few representatives that stand for many points: every point is within a fixed distance of one.",
    "curator": "Whoever holds the exact records and runs the method. What is gray and locked is for the curator only.",
    "delta": "δ: a small allowance beside ε. The guarantee may be weaker with about this probability; it should "
    "be far below one in n.",
    "DPCube": "A private mixture made from noisy counts of ever smaller cubes (after Balcan et al., 2017).",
    "DPLloyd": "Differentially private Lloyd: k-means whose sums and counts get noise in every step.",
    "DPM": "Differentially private Mondrian (Liebenow et al.): it cuts the box where few records are, until clusters "
    "are left.",
    "DPMoG": "Differentially private mixture of Gaussians: many small bell curves, each with a noisy weight, middle "
    "and spread.",
    "DWORK": "Dwork's private k-means (2011): every step gets half of what is left of ε, so that it may go on forever.",
    "emptiness": "DPM's measure of how few records lie near a cut: 1 where there are none, 0 where the whole "
    "subset is.",
    "epsilon": "ε: how much one record may change what is released. Any outcome may become at most e^ε times as "
    "likely. Smaller is more private.",
    "EUGkM": "Extended uniform grid k-means (Su et al., 2016): records are counted on a grid once, with noise, and "
    "the noisy counts are clustered.",
    "exponential mechanism": "Chooses one of many candidates at random, the likelier the better its score. Its "
    "budget limits how much one record can change the chances.",
    "Gaussian noise": "Noise from the bell curve, measured by its standard deviation σ. It needs a δ.",
    "geo-indistinguishability": "A guarantee that counts per distance: two places d apart are told apart by a "
    "factor of at most e^(ε d). Far places are told apart easily.",
    "GUPT": "A tool by Mohan et al. (2012): many blocks of records are clustered without noise, and the average of "
    "their centers gets noise.",
    "inertia": "Sum of squared distances from each record to its nearest center. k-means tries to make it small; "
    "also called cost.",
    "Laplace noise": "Noise with a sharp peak and straight tails on a log scale, measured by its scale b. It "
    "gives pure ε: b is sensitivity over ε.",
    "ledger": "The list of what each step of a run has spent. Its rows add up to the budget.",
    "Lloyd's algorithm": "The usual k-means: give each record to its nearest center, move each center to its "
    "records' mean, repeat. No privacy.",
    "local model": "Every person adds noise before sending, so that no curator has to be trusted.",
    "medoid": "A center that is itself one of the points.",
    "NAS": "Noisy average set: for each target, the noisy average of the source records nearest to it.",
    "neighbors": "Two data sets that differ in one person's record, as the adjacency says.",
    "NNA": "Neighbor noisy averages: for each target, the noisy average of all source records that have no nearer "
    "target.",
    "perturbation area": "The circle around a place whose radius is the noise's mean length: where the released "
    "place is on average.",
    "post-processing": "Whatever is computed from a release without looking at the records again. It costs no budget.",
    "PrivGene": "Private genetic search by Zhang et al. (2013): sets of centers are crossed and changed, and good "
    "ones are picked with noise.",
    "pure": "A guarantee with δ = 0: no outcome may become more than e^ε times as likely, without exception.",
    "release": "What is published: drawn in blue. Anyone may see it, forever, and compute with it.",
    "replace": "Neighbors are two data sets of the same size that differ in one record's values. The number of "
    "records is public.",
    "rho": "ρ: the budget of zCDP, another scale than ε. ρ = 3 is about ε = 12.9 at δ = 0.00001.",
    "sampling zone": "The smaller ball between mean and controller in which the next center is drawn.",
    "sensitivity": "The most that one record can move a number, over all pairs of neighbors. Noise has to be made "
    "for it, not for what your records would do.",
    "silhouette": "How much nearer a record is to its own cluster than to the next one, from -1 to 1.",
    "SU": "Su et al. (2016), whose number of steps and split of ε this DPLloyd has.",
    "TEV": "Transition equilibrium vector: the transition point of two basins, in the words of the Morse paper.",
    "transition point": "The saddle between two basins: the highest pass on a path from one peak to the other.",
    "zCDP": "Zero-concentrated differential privacy: counts budget as ρ, which adds up exactly over Gaussian steps.",
    "zone": "A ball that a step of convergent k-means works in: the convergent zone, or the sampling zone inside.",
}

_MARK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield (words, term): the text in pieces, with the term that a piece stands for, "" for none.

    Raises KeyError for a term that the glossary has not.
    """
    end = 0
    for found in _MARK.finditer(text):
        if text[end : found.start()]:
            yield text[end : found.start()], ""
        term = found[1]  # in every language texts name terms in English
        term = term if term in GLOSSARY else ""
        if not term:
            raise KeyError(f"{found[1]} is not in the glossary. Add it, or take its brackets away.")
        yield found[2] or term, term
        end = found.end()
    if text[end:]:
        yield text[end:], ""


def plainly(text: str) -> str:
    """Return the text without its marks."""
    return "".join(words for words, _ in pieces(text))
