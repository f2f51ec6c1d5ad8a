"""Reading the picture of source-target clustering: misreadings, formulas with the run's numbers, papers."""

import math

from dpviz.accounting import GaussianEvent, LaplaceEvent, zcdp_rho_for
from dpviz.methods.source_target.algorithm.budget import SourceTargetScheme, l1_sensitivity, l2_sensitivity, noise_bound
from dpviz.stories.formulas import KAIROUZ, SYMBOLS, odds_of, some
from dpviz.stories.reading import Formula, Known, Misreading, Paper, tex

MISREADINGS = (
    Misreading(
        "The blue points of S′ are records of the source.",
        "Each is an average with noise: of the records nearest to one target (NNA), or of a target's t nearest records "
        "(NAS). With little ε a point lies far from all of them.",
        "The count behind a point, and the arrows from exact to released in the curator's view.",
    ),
    Misreading(
        "A cell without a blue point has no records.",
        "Its noisy count was below the threshold. It may have records, and now and then an empty cell passes: with the "
        "published threshold more often than γ says.",
        "The refused cells and their noisy counts, and the threshold among the formulas.",
    ),
    Misreading(
        "ρ = 3 is as private as ε = 3.",
        "[[rho]] is another scale, that of [[zCDP]]: ρ = 3 is about ε = 12.9 at δ = 0.00001. Costs at ρ = 3 and at ε = "
        "3 do not compare.",
        "The guarantee: it states both for the run on screen.",
    ),
    Misreading(
        "NAS averages more records for every target, so it is the more exact one.",
        "Its noise grows with the number of averages, as each record may be in all of them. At ε = 3 on synthetic set "
        "1, NAS closes none of the gap to no privacy, NNA about half.",
        "“Cost of every method”, and how the noise below is made.",
    ),
    Misreading(
        "Everyone in the picture is protected.",
        "Only the source is. Targets, ball and box are public inputs, drawn in green: no noise hides who is a target.",
        "The guarantee's line “Protects”, and its list of public inputs.",
    ),
)

PAPERS = (
    Paper(
        "Schnapp & Sabato 2025, Differentially Private Source-Target Clustering",
        (
            ("observations 4.1 and 4.2", "why one record can move the cost on some inputs"),
            ("algorithm 1, theorems 5.3, 5.10, 5.12", "NAS and its noise"),
            ("algorithm 2, theorems 5.11, 5.13", "NNA and its noise"),
            ("lemma 5.9", "the threshold of an empty cell"),
            ("theorem 5.5", "the bound made of the mean distance and the noise"),
            ("section 6", "coreset, rivals and data sets"),
        ),
    ),
    Paper(
        "de Mathelin, Deheeger, Mougeot & Vayatis 2022, Discrepancy-Based Active Learning for Domain Adaptation",
        (("as cited by Schnapp & Sabato", "source-target clustering without privacy"),),
    ),
    Paper(
        "Schubert & Rousseeuw 2021, Fast and Eager k-Medoids Clustering",
        (("FasterPAM", "how the centers are chosen from the targets"),),
    ),
    Paper(
        "Bun & Steinke 2016, Concentrated Differential Privacy",
        (("propositions 1.3 and 1.6", "ρ of Gaussian noise, and (ε, δ) from ρ"),),
    ),
    KAIROUZ,
)

WORDS = SYMBOLS | {
    r"d,\ n,\ t": "features, number of averages, neighbors in an average; the ball is 1 wide",
    r"\rho": "the budget of zCDP",
    r"\gamma": "how often an empty cell may pass, or noise may pass the bound",
    r"\Lambda": "how far noise moves an average at most, except with chance γ",
}


def formulas(it: Known) -> tuple[Formula, ...]:
    """Return the formulas of a run."""
    scheme = scheme_of(it)
    (event,) = it.events
    assert isinstance(event, LaplaceEvent | GaussianEvent)
    last = _bound(it, scheme) if scheme.method == "nas" else _threshold(it, scheme)
    return (_moved(scheme), _noise(scheme, event), last, *some(_proved(scheme, event), odds_of(it)))


def words(_it: Known) -> dict[str, str]:
    """Return what the symbols stand for."""
    return WORDS


def scheme_of(it: Known) -> SourceTargetScheme:
    """Return what the run's noise was made from; NAS releases every average, so that their number is public."""
    p = it.params
    n = len(it.release.centers) if p.method == "nas" else 1
    published = p.calibration == "published"
    return SourceTargetScheme(p.method, p.noise, published, p.epsilon, p.rho, p.delta, p.t, it.d, n)


def _moved(scheme: SourceTargetScheme) -> Formula:
    """Return how far one record moves everything that is released, as the calibration takes it."""
    d, n, t = scheme.d, scheme.n_averages, scheme.t
    laplace = scheme.noise == "laplace"
    value = (l1_sensitivity if laplace else l2_sensitivity)(scheme, published=scheme.published)
    if scheme.method == "nas":
        general, filled = (
            (r"\frac{n\sqrt{d}}{t}", rf"\frac{{{n}\sqrt{{{d}}}}}{{{t}}}")
            if laplace
            else (r"\frac{\sqrt{n}}{t}", rf"\frac{{\sqrt{{{n}}}}}{{{t}}}")
        )
    elif laplace:
        half = "" if scheme.published else "/2"
        general, filled = rf"1 + \sqrt{{d}}{half}", rf"1 + \sqrt{{{d}}}{half}"
    else:
        general = filled = "2" if scheme.published else r"\sqrt{1 + 1/4}"
    source = "Schnapp & Sabato, section 5" if scheme.published else "ours: a record is at most 1/2 long"
    symbol = r"\Delta_1" if laplace else r"\Delta_2"
    return Formula("How far one record moves what is released", f"{symbol} = {general}", filled, value, source=source)


def _noise(scheme: SourceTargetScheme, event: LaplaceEvent | GaussianEvent) -> Formula:
    name, source = "Noise of every number released", _theorem(scheme)
    if isinstance(event, LaplaceEvent):
        top = l1_sensitivity(scheme, published=scheme.published)
        general = r"b = \frac{\Delta_1}{\varepsilon}" if scheme.rho is None else r"b = \frac{\Delta_1}{\sqrt{2\rho}}"
        bottom = tex(scheme.pure_epsilon) if scheme.rho is None else rf"\sqrt{{2 \cdot {tex(scheme.rho)}}}"
        return Formula(name, general, rf"b = \frac{{{tex(top)}}}{{{bottom}}}", event.scale, source=source)
    top = l2_sensitivity(scheme, published=scheme.published)
    if scheme.rho is not None:
        filled = rf"\sigma = \frac{{{tex(top)}}}{{\sqrt{{2 \cdot {tex(scheme.rho)}}}}}"
        return Formula(name, r"\sigma = \frac{\Delta_2}{\sqrt{2\rho}}", filled, event.sigma, source=source)
    if scheme.published and scheme.method == "nas":
        n, log = scheme.n_averages, math.log(1.0 / scheme.budget.delta)
        inner = math.log(1.25 * (n + 1) / scheme.budget.delta)
        general = r"\sigma = \frac{\sqrt{18 n \ln\frac{1}{\delta} \ln\frac{1.25(n+1)}{\delta}}}{t\,\varepsilon}"
        root = rf"\sqrt{{18 \cdot {n} \cdot {tex(log)} \cdot {tex(inner)}}}"
        filled = rf"\sigma = \frac{{{root}}}{{{scheme.t} \cdot {tex(scheme.budget.epsilon)}}}"
        return Formula(name, general, filled, event.sigma, source=source)
    if scheme.published:
        rho = zcdp_rho_for(scheme.budget)
        filled = rf"\sigma = \frac{{{tex(top)}}}{{\sqrt{{2 \cdot {tex(rho)}}}}}"
        general, source = (
            r"\sigma = \frac{\Delta_2}{\sqrt{2\rho(\varepsilon, \delta)}}",
            "ours: the paper has it for ρ only",
        )
        return Formula(name, general, filled, event.sigma, source=source)
    filled = rf"\sigma = \frac{{{tex(top)}}}{{{tex(top / event.sigma)}}}"
    return Formula(name, r"\sigma = \frac{\Delta_2}{\mu(\varepsilon, \delta)}", filled, event.sigma, source=source)


def _theorem(scheme: SourceTargetScheme) -> str:
    """Return where the noise is from."""
    theorem = {
        ("nas", "laplace"): "5.10",
        ("nas", "gaussian"): "5.3" if scheme.rho is None else "5.12",
        ("nna", "laplace"): "5.11",
        ("nna", "gaussian"): "5.13",
    }[scheme.method, scheme.noise]
    return f"Schnapp & Sabato, theorem {theorem}" if scheme.published else "ours: the least that this release needs"


def _threshold(it: Known, scheme: SourceTargetScheme) -> Formula:
    name, value, gamma = "A cell's average is released from this noisy count on", it.release.threshold, it.params.gamma
    scale = tex(it.release.scale)
    if scheme.noise == "gaussian":
        filled = rf"1 + {scale}\sqrt{{2\ln(1/{tex(gamma)})}}"
        return Formula(name, r"1 + \sigma\sqrt{2\ln(1/\gamma)}", filled, value, "records", "ours: the paper is silent")
    if it.params.threshold == "lemma":
        filled = rf"1 + {scale} \ln(1/{tex(gamma)})"
        return Formula(name, r"1 + b\ln(1/\gamma)", filled, value, "records", "Schnapp & Sabato, lemma 5.9")
    filled = rf"1 + \frac{{\ln((\sqrt{{{scheme.d}}} + 1)/{tex(gamma)})}}{{{tex(scheme.pure_epsilon)}}}"
    general = r"1 + \frac{\ln((\sqrt{d} + 1)/\gamma)}{\varepsilon}"
    return Formula(name, general, filled, value, "records", "Schnapp & Sabato, algorithm 2")


def _bound(it: Known, scheme: SourceTargetScheme) -> Formula:
    d, n, gamma = scheme.d, scheme.n_averages, it.params.gamma
    scale = tex(it.release.scale)
    if scheme.noise == "laplace":
        general = r"\Lambda = \sqrt{d}\, b \ln\frac{d n}{\gamma}"
        filled = rf"\Lambda = \sqrt{{{d}}} \cdot {scale} \ln\frac{{{d * n}}}{{{tex(gamma)}}}"
    else:
        general = r"\Lambda = \sqrt{d}\,\sigma\sqrt{2\ln\frac{2 d n}{\gamma}}"
        filled = rf"\Lambda = \sqrt{{{d}}} \cdot {scale}\sqrt{{2\ln\frac{{{2 * d * n}}}{{{tex(gamma)}}}}}"
    value = noise_bound(scheme, gamma)
    unit = "widths of the ball" + (": it says nothing" if value >= 1 else "")
    return Formula(
        "How far noise moves an average at most", general, filled, value, unit, "Schnapp & Sabato, theorem 5.5"
    )


def _proved(scheme: SourceTargetScheme, event: LaplaceEvent | GaussianEvent) -> Formula | None:
    """Return the proved epsilon of Laplace noise from the sensitivity that holds."""
    if not isinstance(event, LaplaceEvent) or event.scale == 0:
        return None
    top = l1_sensitivity(scheme, published=False)
    filled = rf"\varepsilon = \frac{{{tex(top)}}}{{{tex(event.scale)}}}"
    return Formula("What is proved", r"\varepsilon = \frac{\Delta_1}{b}", filled, event.epsilon, source="ours")
