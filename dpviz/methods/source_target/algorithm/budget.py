"""The noise of each method, its threshold, and its guarantee.

Records are in the public ball, scaled to diameter 1: |s| <= 1/2. Neighbors add or remove one record of S; T is public.
- NAS releases n averages. One record changes at most one of the t places of each (see `nearest_means`), so each moves
  by at most 1/t in L2 and sqrt(d)/t in L1; n of them compose: sqrt(n)/t in L2, n sqrt(d)/t in L1.
- NNA releases count and sum of n cells. A record is in one cell, which follows from the record and T alone, so all
  cells together have the sensitivity of one: 1 + sqrt(d)/2 in L1, sqrt(1 + 1/4) in L2. Nothing composes. The paper
  bounds a record by 1 instead of 1/2: 1 + sqrt(d) in L1, 2 in L2.
"""

import math
from dataclasses import replace

from dpviz.accounting import GaussianEvent, LaplaceEvent, Purpose, gaussian_sigma, gdp_epsilon, zcdp_rho_for
from dpviz.core import Adjacency, Budget, Claim, Event, Guarantee, immutable_value
from dpviz.mechanisms import SUMS_CAVEAT

PAPER = "Schnapp & Sabato, Differentially Private Source-Target Clustering"
# Our choice: delta at which a run under zCDP is also stated as (epsilon, delta).
SHOWN_DELTA = 1e-5
PUBLIC_CAVEAT = "The target points, the ball and every parameter are public; only the source records are protected."
FREE_CAVEAT = "Choosing the centers from the released points is post-processing and costs nothing."
CURATOR_CAVEAT = (
    "The mean distance to the t nearest records and the bound computed from it are for the curator only. With the "
    "noise of definition 5.4, σ = 1/(tε), releasing it would cost ε²/2-zCDP, (4.4, 1e-5) at ε = 1, on top."
)
RHO_CAVEAT = (
    "ρ and ε are different scales: ρ = 3 is about (12.9, 1e-5), so results at ρ = 3 cannot be compared with ε = 3."
)
HALF_CAVEAT = (
    "The paper lets a record be as long as the ball is wide; in a ball of diameter 1 around the origin it is at most "
    "1/2 long, so the published noise gives more privacy than claimed."
)
PROOF_CAVEAT = (
    "Theorem 5.3 asks for ε ≤ 1/√n; its proof needs ε ≤ 3√ln(1/δ) and takes δ where δ/(n + 1) is needed, which the "
    "full composition formula covers."
)
TIGHT_REPAIR = "the noise is the minimum that this release needs"


@immutable_value
class SourceTargetScheme:
    """Public properties of a run that determine its calibration."""

    # "nas" or "nna".
    method: str
    # "laplace" or "gaussian".
    noise: str
    published: bool
    # Exactly one of epsilon and rho is given.
    epsilon: float | None
    rho: float | None
    delta: float | None
    t: int
    d: int
    # Number of representatives of T.
    n_averages: int

    @property
    def pure_epsilon(self) -> float:
        """Epsilon of Laplace noise; under zCDP sqrt(2 rho), because epsilon-DP is epsilon^2/2-zCDP."""
        return self.epsilon if self.epsilon is not None else math.sqrt(2.0 * (self.rho or 0.0))

    @property
    def budget(self) -> Budget:
        """(epsilon, delta) of Gaussian noise that was given no rho."""
        return Budget(self.epsilon or 0.0, self.delta or 0.0)


def l1_sensitivity(scheme: SourceTargetScheme, *, published: bool) -> float:
    """Return the L1 sensitivity of everything that is released."""
    root = math.sqrt(scheme.d)
    if scheme.method == "nas":
        return scheme.n_averages * root / scheme.t
    return 1.0 + root if published else 1.0 + root / 2.0


def l2_sensitivity(scheme: SourceTargetScheme, *, published: bool) -> float:
    """Return the L2 sensitivity of everything that is released."""
    if scheme.method == "nas":
        return math.sqrt(scheme.n_averages) / scheme.t
    return 2.0 if published else math.sqrt(1.25)


def noise_scale(scheme: SourceTargetScheme) -> float:
    """Return Laplace's b or Gaussian's sigma of every number released, in diameters of the ball; 0 at infinity.

    NAS: b = n sqrt(d) / (t eps), sigma = sqrt(n / (2 rho)) / t, published (eps, delta)
    sigma = sqrt(18 n ln(1/delta) ln(1.25 (n+1)/delta)) / (t eps), theorems 5.3, 5.10, 5.12. NNA: b = (sqrt(d) + 1)/eps,
    sigma = sqrt(2/rho), theorems 5.11, 5.13; tight b = (sqrt(d)/2 + 1)/eps, sigma = sqrt(5/(8 rho)).
    """
    if math.isinf(scheme.pure_epsilon):
        return 0.0
    if scheme.noise == "laplace":
        return l1_sensitivity(scheme, published=scheme.published) / scheme.pure_epsilon
    l2 = l2_sensitivity(scheme, published=scheme.published)
    if scheme.rho is not None:
        return l2 / math.sqrt(2.0 * scheme.rho)
    budget = scheme.budget
    if not scheme.published:
        return gaussian_sigma(l2, budget)
    if scheme.method == "nna":
        return l2 / math.sqrt(2.0 * zcdp_rho_for(budget))
    n, log_inverse = scheme.n_averages, math.log(1.0 / budget.delta)
    return math.sqrt(18.0 * n * log_inverse * math.log(1.25 * (n + 1) / budget.delta)) / (scheme.t * budget.epsilon)


def count_threshold(scheme: SourceTargetScheme, rule: str, gamma: float) -> float:
    """Return the noisy count from which a cell's average is released.

    "published", algorithm 2: 1 + ln((sqrt(d) + 1)/gamma)/eps. "lemma", from lemma 5.9: 1 + b ln(1/gamma), with the b
    of this run. Gaussian noise, on which the paper is silent: 1 + sigma sqrt(2 ln(1/gamma)) under either rule.
    """
    scale = noise_scale(scheme)
    if scheme.noise == "gaussian":
        return 1.0 + scale * math.sqrt(2.0 * math.log(1.0 / gamma))
    if rule == "lemma":
        return 1.0 + scale * math.log(1.0 / gamma)
    return 1.0 + math.log((math.sqrt(scheme.d) + 1.0) / gamma) / scheme.pure_epsilon


def noise_bound(scheme: SourceTargetScheme, gamma: float) -> float:
    """Return Lambda: with probability 1 - gamma no NAS average is moved further, in diameters of the ball. Public.

    Gaussian sqrt(d) sigma sqrt(2 ln(2 d n / gamma)), Laplace sqrt(d) b ln(d n / gamma): a union over n d numbers.
    Theorems 5.5, 5.10 and 5.12. A bound of 1 or more says nothing.
    """
    n, d, scale = scheme.n_averages, scheme.d, noise_scale(scheme)
    if scheme.noise == "laplace":
        return math.sqrt(d) * scale * math.log(d * n / gamma)
    return math.sqrt(d) * scale * math.sqrt(2.0 * math.log(2.0 * d * n / gamma))


def events_of(scheme: SourceTargetScheme) -> tuple[Event, ...]:
    """Return the event of the run: one release of noisy numbers, with its true sensitivity and its noise."""
    nas = scheme.method == "nas"
    what = f"{scheme.n_averages} averages" if nas else "counts and sums of disjoint cells"
    scale = noise_scale(scheme)
    if scheme.noise == "gaussian":
        return (GaussianEvent(what, l2_sensitivity(scheme, published=False), scale, purpose=Purpose.POINTS),)
    # n steps, each with an L1 sensitivity of sqrt(d)/t.
    if scheme.method == "nas":
        return (
            LaplaceEvent(
                what, math.sqrt(scheme.d) / scheme.t, scale, n_coordinates=scheme.n_averages, purpose=Purpose.POINTS
            ),
        )
    return (LaplaceEvent(what, l1_sensitivity(scheme, published=False), scale, purpose=Purpose.POINTS),)


def guarantee_of(scheme: SourceTargetScheme, events: tuple[Event, ...]) -> Guarantee:
    """Return the paper's claim and the proof from the events, both under ADD_REMOVE on S."""
    theorem = {
        ("nas", "laplace"): "theorem 5.10",
        ("nas", "gaussian"): "theorem 5.3" if scheme.rho is None else "theorem 5.12",
        ("nna", "laplace"): "theorem 5.11",
        ("nna", "gaussian"): "theorem 5.13",
    }[scheme.method, scheme.noise]
    (event,) = events
    adjacency, reference = Adjacency.ADD_REMOVE, f"{PAPER}, {theorem}"
    if isinstance(event, LaplaceEvent):
        published = Claim(scheme.pure_epsilon, 0.0, adjacency, reference, rho=scheme.rho)
        rho = event.rho if scheme.rho is not None and math.isfinite(event.rho) else None
        proved = Claim(event.epsilon, 0.0, adjacency, "L1 sensitivity of everything released", rho=rho)
        return Guarantee(published, proved, _caveats(scheme), _repairs(scheme))
    assert isinstance(event, GaussianEvent)
    delta = SHOWN_DELTA if scheme.delta is None else scheme.delta
    if scheme.rho is None:
        published = Claim(scheme.budget.epsilon, delta, adjacency, reference)
    else:
        published = Claim(gdp_epsilon(math.sqrt(2.0 * scheme.rho), delta), delta, adjacency, reference, rho=scheme.rho)
    rho = event.rho if math.isfinite(event.rho) else None
    how = "Gaussian DP of everything released"
    proved = Claim(gdp_epsilon(event.mu, delta), delta, adjacency, how, rho=rho)
    return Guarantee(published, proved, _caveats(scheme), _repairs(scheme))


def _repairs(scheme: SourceTargetScheme) -> str:
    """Describe the differences from the theorem that supports the run's claim, "" if there are none."""
    if noise_scale(scheme) != noise_scale(replace(scheme, published=True)):
        return TIGHT_REPAIR
    own = scheme.method == "nna" and scheme.noise == "gaussian" and scheme.rho is None
    return "its noise for zCDP is used at the largest ρ that (ε, δ) allows" if own else ""


def _caveats(scheme: SourceTargetScheme) -> tuple[str, ...]:
    nas, gaussian = scheme.method == "nas", scheme.noise == "gaussian"
    bound = noise_bound(scheme, 0.05)
    vacuous = (
        f"The noise's part of the cost bound is {bound:.2g} (γ = 0.05) in a ball of diameter 1, so it says nothing "
        "here."
    )
    conditions = (
        ("Without noise exact averages of records are released: nothing is private.", noise_scale(scheme) == 0),
        (RHO_CAVEAT, scheme.rho is not None),
        (HALF_CAVEAT, not nas and scheme.published),
        (
            "The paper has this noise for zCDP only; here ρ is the largest that (ε, δ) allows.",
            not nas and gaussian and scheme.rho is None and scheme.published,
        ),
        (
            "The paper gives no threshold for zCDP; dpviz uses 1 + σ√(2 ln(1/γ)). A threshold costs no privacy.",
            not nas and gaussian,
        ),
        (
            "The published σ comes from advanced composition and is many times what this release needs.",
            nas and gaussian and scheme.rho is None and scheme.published,
        ),
        (PROOF_CAVEAT, nas and gaussian and scheme.rho is None and scheme.published),
        (vacuous, nas and bound >= 1.0),
        (CURATOR_CAVEAT, nas),
    )
    return (*(text for text, holds in conditions if holds), PUBLIC_CAVEAT, FREE_CAVEAT, SUMS_CAVEAT)
