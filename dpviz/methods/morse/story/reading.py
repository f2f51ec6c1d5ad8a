"""Reading the picture of Morse processing: misreadings, formulas with the run's numbers, papers."""

import math

from dpviz.accounting import GaussianEvent, gdp_mu, zcdp_rho, zcdp_rho_for
from dpviz.core import Adjacency, Budget
from dpviz.methods.morse.algorithm.budget import lloyd_sensitivity, moment_sensitivity, published_r, second_sensitivity
from dpviz.stories.formulas import KAIROUZ, SYMBOLS, odds_of, some, steps_of
from dpviz.stories.ledger import leaves
from dpviz.stories.reading import Formula, Known, Misreading, Paper, tex

MISREADINGS = (
    Misreading(
        "Every cut of the dendrogram is one more question to the records, and costs again.",
        "Landscape, [[transition point|transition points]], dendrogram and cut are computed from the released mixture: "
        "[[post-processing]]. You may cut as often as you like.",
        "The ledger: it ends with the mixture, and no move of the cut adds a row.",
    ),
    Misreading(
        "Two moons come out right in the paper's picture, so they do at ε = 1.",
        "That is one seed. Over 25 runs with 8 components and the paper's noise, [[ARI]] is 0.23 on average and the "
        "middle half lies between 0.06 and 0.29; the paper shows 1.",
        "“Many runs”: how often the clusters are right, not how one run looks.",
    ),
    Misreading(
        "Each component is a peak, so there are as many peaks as components.",
        "Components overlap. Some have no peak of their own, and two Gaussians can have three peaks: the third lies "
        "where neither mean is.",
        "The peaks' own marks, and the number of leaves of the dendrogram.",
    ),
    Misreading(
        "Height in the dendrogram is distance: what joins late lies far apart.",
        "Height is how much deeper the pass is than the highest peak, as a difference of log densities. Near clusters "
        "with a deep valley between them join late.",
        "The [[transition point]] that belongs to a join: hover over it, and see how low the density is there.",
    ),
    Misreading(
        "Tight noise is less noise for the same promise.",
        "Only in part. For two features, 10 passes and ε = 1 the published noise is 54.0. The same promise needs 34.9. "
        "The 24.7 of the first picture's kind is for other neighbors: [[add or remove]] instead of [[replace]].",
        "The guarantee's line about neighbors, and the formulas below for both calibrations.",
    ),
)

PAPERS = (
    Paper(
        "Byun, Choi & Lee, Improving the Utility of Differentially Private Clustering through Dynamical Processing",
        (
            ("algorithm 1", "DPMoG-hard, and its noise"),
            ("section 4.1.2", "soft responsibilities, composed over components"),
            ("algorithm 2", "the transition points; of its steps 7 and 11 one is a misprint"),
            ("algorithm 3", "the hierarchy"),
            ("theorem 4.1", "that all of this costs nothing"),
            ("theorem E.2", "labels of new points"),
            ("algorithm 4, appendix C", "DPLloyd-MoG, and the budget's proof"),
            ("appendix G", "why a level set's clusters are found"),
        ),
    ),
    Paper(
        "Bun & Steinke 2016, Concentrated Differential Privacy",
        (("propositions 1.3 and 1.6", "from Gaussian noise to ρ, and from ρ to (ε, δ)"),),
    ),
    Paper(
        "Dong, Roth & Su 2022, Gaussian Differential Privacy",
        (("corollaries 2.13 and 3.3", "the tight noise: what several Gaussian steps cost together"),),
    ),
    Paper(
        "Park, Foulds, Chaudhuri & Welling 2017, DP-EM",
        (("DP-EM", "the private mixture with soft responsibilities"),),
    ),
    KAIROUZ,
)

WORDS = SYMBOLS | {
    r"D,\ \tau,\ K_0": "features, passes over the records, components; the box is 2 wide",
    "L": "the logarithm of 1/δ",
    "r": "squared sensitivity of what one pass releases (as published: of all passes)",
    r"\mu,\ \rho": "what (ε, δ) allows, in Gaussian DP and in zCDP",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run."""
    params = it.params
    if params.base == "dpcube":
        return (*steps_of(it.events), *some(odds_of(it)))
    found = _published(it) if params.calibration == "published" else _tight(it)
    return (*found, *some(_sum(it), odds_of(it)))


def words(_it: Known) -> dict[str, str]:
    """Return what the symbols stand for."""
    return WORDS


def _sigma(it: Known) -> float:
    """Return the noise of the ledger's last Gaussian step."""
    return next(leaf.sigma for event in it.events[::-1] for leaf in leaves(event) if isinstance(leaf, GaussianEvent))


def _budget(it: Known) -> Budget:
    return Budget(it.params.epsilon, it.params.delta)


def _tight(it: Known) -> tuple[Formula, ...]:
    params, d, tau = it.params, it.d, it.params.n_iterations
    replaced = params.neighbors is Adjacency.REPLACE
    if params.base == "dplloyd_mog":
        first = lloyd_sensitivity(d, params.neighbors) ** 2
        second, rho = second_sensitivity(d, params.neighbors) ** 2, zcdp_rho_for(_budget(it))
        return (
            _rho(it),
            Formula(
                "Noise of every number released",
                r"\sigma = \sqrt{\frac{\tau\,\Delta_1^2 + \Delta_2^2}{2\rho}}",
                rf"\sigma = \sqrt{{\frac{{{tau} \cdot {tex(first)} + {tex(second)}}}{{2 \cdot {tex(rho)}}}}}",
                _sigma(it),
                source="ours: algorithm 4 with the sensitivities that hold",
            ),
        )
    r = moment_sensitivity(d, params.neighbors) ** 2
    general = r"r = (D + 1)(D + 2)" if replaced else r"r = 1 + D + D(D + 1)/2"
    filled = rf"({d} + 1)({d} + 2)" if replaced else rf"1 + {d} + {d} \cdot {d + 1} / 2"
    mu = gdp_mu(_budget(it))
    return (
        Formula("Squared sensitivity of a pass: count, sum, second moments", general, filled, r, source="ours"),
        Formula(
            "Noise of every number released",
            r"\sigma = \frac{\sqrt{r\,\tau}}{\mu(\varepsilon, \delta)}",
            rf"\sigma = \frac{{\sqrt{{{tex(r)} \cdot {tau}}}}}{{{tex(mu)}}}",
            _sigma(it),
            source="Dong, Roth & Su 2022, corollaries 2.13 and 3.3",
        ),
    )


def _published(it: Known) -> tuple[Formula, ...]:
    params, d, tau, k = it.params, it.d, it.params.n_iterations, it.params.n_components
    r, rho = published_r(params.base, d, k, tau), zcdp_rho_for(_budget(it))
    if params.base == "dplloyd_mog":
        general, filled = r"(2D + 1)^2 \tau^2 + D(2D - 1)", rf"{2 * d + 1}^2 \cdot {tau}^2 + {d} \cdot {2 * d - 1}"
        source = "Byun et al., algorithm 4"
    else:
        soft = params.base == "dpmog"
        general = r"(1 + 3D + 2D^2)\,\tau" + (r"\,K_0" if soft else "")
        filled = rf"{1 + 3 * d + 2 * d * d} \cdot {tau}" + (rf" \cdot {k}" if soft else "")
        source = "Byun et al., section 4.1.2" if soft else "Byun et al., algorithm 1"
    return (
        Formula("Squared sensitivity of all passes", f"r = {general}", filled, r, source=source),
        _rho(it),
        Formula(
            "Noise of every number released",
            r"\sigma = \sqrt{\frac{r}{2\rho}}",
            rf"\sigma = \sqrt{{\frac{{{tex(r)}}}{{2 \cdot {tex(rho)}}}}}",
            _sigma(it),
            source=source,
        ),
    )


def _rho(it: Known) -> Formula:
    budget = _budget(it)
    log = tex(math.log(1.0 / budget.delta))
    return Formula(
        "What ε and δ allow, in zCDP",
        r"\rho = \left(\sqrt{L + \varepsilon} - \sqrt{L}\right)^2,\ L = \ln(1/\delta)",
        rf"\rho = \left(\sqrt{{{log} + {tex(budget.epsilon)}}} - \sqrt{{{log}}}\right)^2",
        zcdp_rho_for(budget),
        source="Bun & Steinke 2016, proposition 1.3",
    )


def _sum(it: Known) -> Formula | None:
    """Return what all passes cost together in Gaussian DP, None where a step is not Gaussian."""
    leaf = [each for event in it.events for each in leaves(event)]
    passes = [each for each in leaf if isinstance(each, GaussianEvent)]
    if not passes or len(passes) < len(leaf) or passes[0].sigma == 0:
        return None
    mu = math.sqrt(2.0 * zcdp_rho(it.events, it.params.neighbors))
    length, sigma = tex(passes[0].l2_sensitivity), tex(passes[0].sigma)
    return Formula(
        "What the passes cost together; landscape, hierarchy and cut add nothing",
        r"\mu = \sqrt{\tau}\, \Delta_2 / \sigma",
        rf"\mu = \sqrt{{{len(passes)}}} \cdot {length} / {sigma}",
        mu,
        source="Dong, Roth & Su 2022, corollary 3.3; Byun et al., theorem 4.1",
    )
