"""The words beside a picture of source-target clustering: terms, sentence, numbers."""

import math
from collections.abc import Callable

from dpviz.methods.source_target.algorithm import Params, guarantees
from dpviz.methods.source_target.story.told import (
    SourceTargetContext,
    diameter,
    nonprivate_accuracies,
    unit_of_cost,
    vacuous,
)
from dpviz.stories import center_facts
from dpviz.stories.glossary import meant
from dpviz.stories.label import Contents, both_limits, box_words
from dpviz.stories.panel import EQUAL, Fact, Sentence, ceiled, number
from dpviz.stories.view import Projection, Words

FIRST_AID = "First-aid points"
TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: refused.",
    ),
    (
        "The question",
        "Where do you put k first-aid points when some residents are secretly paramedics? Places near a paramedic are "
        "served already, but the points must not give away who is one.",
    ),
    ("Source S", "The secret records: the paramedics. Each of them serves whoever is near."),
    ("Targets T", "The public places that need somebody near. New centers are chosen among them."),
    ("S′", "Points that are released in place of S: means of records, with noise."),
    ("NNA", "Each record goes to its nearest target. A target's cell with enough records gives one noisy mean."),
    ("NAS", "Each target gives the noisy mean of the t records nearest to it."),
    ("Threshold", "A cell whose noisy count is below it is refused: a mean of few records would be all noise."),
    *meant("coreset"),
    ("Cost", "The mean distance from a target to the nearest of the source and the new centers."),
    *meant("epsilon", "delta", "rho"),
)


def sentence(told: SourceTargetContext) -> Sentence:
    """Say the run in one sentence; without a proof no limit is named."""
    params = told.params
    spent = f"At ρ = {number(params.rho)}" if params.rho is not None else f"At ε = {number(params.epsilon or math.inf)}"
    k, r = len(told.result.release.selected), told.step.n_averages
    centers = f"{k} new {'centers' if k != 1 else 'center'}"
    released = told.n_released if params.method == "nna" else r
    averages = "averages stand" if released != 1 else "average stands"
    means = f"{released} noisy {averages} in for the secret {_source(told)}"
    made = f"{spent}, {means}"
    cost, without = _costs(told)
    off = f"with {centers}, the way to the nearest is {_way(cost, without)} without privacy"
    return Sentence(curator=f"{made}; {off}.", public=f"{made}, and {centers} {'are' if k != 1 else 'is'} chosen.")


def utility(told: SourceTargetContext) -> tuple[Fact, ...]:
    """Return what the release says, public, and what it costs, which is exact: the curator's."""
    unit, (cost, floor) = unit_of_cost(told.words), _costs(told)
    ignorant = told.nonprivate_cost(told.reference.ignorant)
    r = told.step.n_averages
    facts = [
        Fact("Cost", f"{number(cost)}{unit}", "Mean distance from a target to the source or a new center.", False),
        Fact("Beside no privacy", _times(cost, floor), "Without privacy, centers are chosen beside S itself.", False),
        Fact("Ignoring the source", _times(ignorant, floor), "Cluster T: centers for the targets alone.", False),
        Fact("Cost estimated from S′", f"{number(float(told.served.mean()))}{unit}", "All the public knows.", True),
    ]
    facts += [
        Fact(f"Right label, {name}", f"{number(100 * share)} %", "1-NN on T, labels of S and of the centers.", False)
        for name, share in nonprivate_accuracies(told)
    ]
    points = f"{told.n_released} of {r}"
    shared = f"{len(told.targets)} targets share {r} averages." if r < len(told.targets) else "Each target has its own."
    return (*facts, Fact("Points in S′", points, shared, True), *_noise_facts(told), *_bound_facts(told))


def risk(told: SourceTargetContext) -> tuple[Fact, ...]:
    """Return what the guarantee allows an attacker; public."""
    return center_facts.risk(told.result.guarantee.proved)


def allowance(words: Words, params: Params) -> Callable[[float], str]:
    """Return what says, for each budget, what the stated and the proved guarantee allow an attacker."""
    at = guarantees(words.box, params)
    return lambda budget: both_limits(at(budget))


def contents(told: SourceTargetContext) -> Contents:
    """Declare what a run protects, takes as public, and shows in confidence."""
    targets = "All targets" if told.targets_public else "The targets, which were spread over the records' bounds here"
    return Contents(
        "Whether one record is in the source, and all of its values. Targets are not protected.",
        (targets, f"{box_words(told.words)}, and the ball around it", "ε or ρ, and every other knob"),
        (
            "Source records, their exact averages and counts",
            "The cost beside the source, and what centers without privacy would cost",
            "The data-dependent bound",
        ),
    )


def alt(told: SourceTargetContext) -> str:
    """Describe the picture from public parameters and the release alone."""
    places = told.params.targets[told.result.release.selected]
    where = "; ".join(", ".join(number(float(x)) for x in place[:3]) for place in places[:8])
    return (
        f"{told.words.title}: {len(told.targets)} public targets, {told.n_released} released points in place of the "
        f"secret source, and {len(places)} new centers at {where}."
    )


def caption(told: SourceTargetContext, plane: Projection) -> str:
    """Say what is drawn, from public facts only."""
    if plane.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    released, parts = told.released, []
    outside = int(((released < 0.0) | (released > 1.0)).any(axis=1).sum())
    if outside:
        parts.append(f"{outside} of {told.n_released} released points lie outside the box, thrown there by noise.")
    if told.words.box.d > 2:
        parts.append(f"Two of {told.words.box.d} features: what is near in the picture need not be near.")
    elif told.words.box.d == 1:
        parts.append("One feature. Height has no meaning: records are spread out so that they can be seen.")
    else:
        parts.append("Gray is secret, green public, blue released. Lines lead from each target to whoever serves it.")
    return " ".join(parts)


def _source(told: SourceTargetContext) -> str:
    """Name the source, in the words of the pair that the page opens with where it is that one."""
    return "paramedics" if told.words.title == FIRST_AID else "source"


def _way(cost: float, without: float) -> str:
    """Say how a mean distance compares with the one without privacy, before the latter's name."""
    if without <= 0:
        return "as long as" if cost <= 0 else "longer than"
    percent = 100.0 * (cost / without - 1.0)
    if abs(percent) < EQUAL:
        return "as long as"
    return f"{number(float(f'{abs(percent):.2g}'))} % {'longer' if percent > 0 else 'shorter'} than"


def _costs(told: SourceTargetContext) -> tuple[float, float]:
    chosen, floor = told.result.release.selected, told.reference.nonprivate_selected
    return told.nonprivate_cost(chosen), told.nonprivate_cost(floor)


def _times(cost: float, floor: float) -> str:
    if floor > 0:
        return f"{number(cost / floor)} × without privacy"
    return "as good as without privacy" if cost == 0 else "worse than without privacy, 0"


def _noise_facts(told: SourceTargetContext) -> tuple[Fact, ...]:
    release, law = told.result.release, "scale" if told.params.noise == "laplace" else "standard deviation"
    if release.threshold is None:
        off, unit = number(release.scale * diameter(told)), unit_of_cost(told.words)
        return (Fact("Noise of a mean", f"± {off}{unit}", f"On each coordinate ({law}).", True),)
    return (
        Fact("Noise of a count", f"± {number(release.scale)} records", f"Also of each sum ({law}).", True),
        Fact("Threshold", f"{number(release.threshold)} records", "Means of cells below it are refused.", True),
    )


def _bound_facts(told: SourceTargetContext) -> tuple[Fact, ...]:
    """Return the measured difference between S and S', and the data-dependent bound on it: the curator's."""
    share, step = "Mean change of a target's distance to the source, in diameters of the ball.", told.step
    facts = [Fact("S′ instead of S, measured", number(told.nonprivate_difference()), share, False)]
    if step.nonprivate_bound is not None:
        bound = step.nonprivate_bound
        said = "no bound: fewer than t records" if math.isnan(bound) else f"at most {ceiled(bound)}"
        if math.isfinite(bound) and vacuous(bound):
            said += ", which says nothing"
        help_text = f"Holds with probability 1 - γ = {number(1 - told.params.gamma)}. From 1 on it is empty."
        facts.append(Fact("S′ instead of S, bound", said, help_text, False))
    return tuple(facts)
