"""The noise that each base of the Morse step needs, and its guarantee.

Records are clipped into the public box and scaled to [-1, 1]^D. A pass releases, for each of K clusters that earlier
releases fix, phi(x) = (1, x, x_i x_j for i <= j) summed over the cluster; |phi(x)|^2 <= r_t = 1 + D + D(D+1)/2.
- ADD_REMOVE: one record adds gamma_k phi(x) to cluster k; sum_k gamma_k^2 <= 1, so the squared L2 sensitivity is r_t.
- REPLACE: it is |a - b|^2 = |a|^2 + |b|^2 - 2 a.b, and a.b = sum_k gamma_k gamma'_k phi(x).phi(x') >= 0 because
  phi(x).phi(x') = 1/2 + (1 + x.x')^2 / 2 + sum_i x_i^2 x'_i^2 / 2 >= 1/2: at most 2 r_t = (D+1)(D+2).
tau passes of noise sigma are then mu-GDP with mu = sqrt(tau r) / sigma. Hard clusters are a case of gamma.

DPLloyd-MoG adds Laplace(sigma) to counts and sums, whose L1 sensitivity is D + 1 (2D + 2 under REPLACE: the record
changes cluster), and Gaussian noise to the second moments once: squared L2 sensitivity D(D+1)/2, under REPLACE D(D+1)
when the record changes cluster and D(2D-1) when it stays (diagonal entries move by 1, the others by 2).
"""

import math

from dpviz.accounting import gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho, zcdp_rho_for
from dpviz.core import Account, Adjacency, Budget, Claim, Event, Guarantee, immutable_value
from dpviz.mechanisms import CHOICES_CAVEAT, SUMS_CAVEAT
from dpviz.solvers import moment_length

PAPER = "Byun, Choi & Lee, Improving the Utility of Differentially Private Clustering through Dynamical Processing"
FREE_CAVEAT = (
    "Landscape, transition points, dendrogram, cut and labels of new points are computed from the released mixture: "
    "post-processing, which costs nothing."
)
MOMENTS_CAVEAT = (
    "Algorithm 1 prints scatter around the noisy mean, whose sensitivity its proof does not cover; raw second moments, "
    "which it does cover, are released here and turned into covariances afterwards."
)
SOFT_CAVEAT = (
    "As published, the K components compose; one record's responsibilities add up to 1, so the loss is smaller."
)
LLOYD_CAVEAT = (
    "Algorithm 4 takes 2D + 1 for the L1 sensitivity of counts and sums when one record is changed; it is 2D + 2 when "
    "the record changes cluster. Its σ suffices from 2 iterations on, because it composes them loosely."
)
CUBE_CAVEAT = (
    "The public code of DPCube spends its whole ε on partitions, uses exact counts and takes the range from the data; "
    "here the shares of partition, swaps and moments add up to the budget."
)
MOMENTS_REPAIR = "raw second moments are released instead of the scatter around noisy means"
CUBE_REPAIR = "all counts are noisy, and partition, swaps and moments share one budget"
TIGHT_REPAIR = "the noise is the minimum that this release needs"
BY_RHO = "zCDP of every step, added up"
PUBLIC_N_CAVEAT = "Changing one record keeps the number of records, so it counts as public."


@immutable_value
class MorseScheme:
    """The parameters of calibration, all public."""

    base: str
    published: bool
    adjacency: Adjacency
    budget: Budget
    d: int
    n_components: int
    n_iterations: int


def moment_sensitivity(d: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of all clusters' (count, sum, raw second moments) in [-1, 1]^d."""
    return math.sqrt((2 if adjacency is Adjacency.REPLACE else 1) * moment_length(d))


def lloyd_sensitivity(d: int, adjacency: Adjacency) -> float:
    """Return the L1 sensitivity of all clusters' (count, sum)."""
    return 2.0 * d + 2.0 if adjacency is Adjacency.REPLACE else d + 1.0


def second_sensitivity(d: int, adjacency: Adjacency) -> float:
    """Return the L2 sensitivity of all clusters' raw second moments."""
    return math.sqrt(max(d * (d + 1), d * (2 * d - 1)) if adjacency is Adjacency.REPLACE else d * (d + 1) / 2)


def published_r(base: str, d: int, n_components: int, n_iterations: int) -> float:
    """Return the paper's r, iterations included: sigma = sqrt(r / 2) (sqrt(L + eps) + sqrt(L)) / eps, L = ln(1/delta).

    Algorithm 1: tau (1 + 3D + 2D^2), K times that for soft responsibilities; algorithm 4: (2D+1)^2 tau^2 + D(2D-1).
    """
    if base == "dplloyd_mog":
        return float((2 * d + 1) ** 2 * n_iterations**2 + d * (2 * d - 1))
    per_pass = 1 + 3 * d + 2 * d * d
    return float(per_pass * n_iterations * (n_components if base == "dpmog" else 1))


def noise_scale(scheme: MorseScheme) -> float:
    """Return sigma of every number that the mixture or Lloyd bases release, in [-1, 1]^D; 0 at epsilon = infinity."""
    if math.isinf(scheme.budget.epsilon):
        return 0.0
    if scheme.published:
        r = published_r(scheme.base, scheme.d, scheme.n_components, scheme.n_iterations)
        return math.sqrt(r / (2 * zcdp_rho_for(scheme.budget)))
    if scheme.base == "dplloyd_mog":
        laplace = scheme.n_iterations * lloyd_sensitivity(scheme.d, scheme.adjacency) ** 2
        second = second_sensitivity(scheme.d, scheme.adjacency) ** 2
        return math.sqrt((laplace + second) / (2 * zcdp_rho_for(scheme.budget)))
    return moment_sensitivity(scheme.d, scheme.adjacency) * math.sqrt(scheme.n_iterations) / gdp_mu(scheme.budget)


def guarantee_of(scheme: MorseScheme, events: tuple[Event, ...]) -> Guarantee:
    """Return the paper's claim and the proof from the events, under the run's adjacency."""
    budget = scheme.budget
    named = {"dpmog_hard": "algorithm 1", "dpmog": "section 4.1.2", "dplloyd_mog": "algorithm 4"}
    reference = f"{PAPER}, {named.get(scheme.base, 'appendix I')}"
    if scheme.adjacency is Adjacency.ADD_REMOVE:
        reference += ": its epsilon and delta; the neighbors are the ones chosen here"
    rho = zcdp_rho(events, scheme.adjacency)
    if scheme.base in ("dpmog_hard", "dpmog"):
        epsilon, how = (
            gdp_epsilon(math.sqrt(2 * rho), budget.delta),
            "Gaussian DP of counts, sums and raw second moments",
        )
    elif scheme.base == "dpcube" and scheme.published:
        epsilon, how = budget.epsilon, "sequential composition of partition, swaps and moments"
    else:
        epsilon, how = zcdp_epsilon(rho, budget.delta), BY_RHO
    account = Account.ZCDP if how == BY_RHO else Account.BASIC
    exact_rho = rho if math.isfinite(rho) else None
    proved = Claim(epsilon, budget.delta, scheme.adjacency, how, rho=exact_rho, account=account)
    published = Claim(budget.epsilon, budget.delta, scheme.adjacency, reference, account=proved.account)
    own = {"dpmog_hard": (MOMENTS_CAVEAT,), "dpmog": (SOFT_CAVEAT,), "dplloyd_mog": (LLOYD_CAVEAT,)}
    size = (PUBLIC_N_CAVEAT,) if scheme.adjacency is Adjacency.REPLACE else ()
    of_base = own.get(scheme.base, (CUBE_CAVEAT, CHOICES_CAVEAT))
    repaired = (
        CUBE_REPAIR if scheme.base == "dpcube" else MOMENTS_REPAIR,
        *(() if scheme.published else (TIGHT_REPAIR,)),
    )
    return Guarantee(published, proved, (*of_base, *size, FREE_CAVEAT, SUMS_CAVEAT), "; ".join(repaired))
