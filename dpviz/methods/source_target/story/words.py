"""The words beside a picture of source-target clustering: terms, sentence, numbers."""

import math
from collections.abc import Callable

from dpviz.methods.source_target.algorithm import Params, guarantees
from dpviz.methods.source_target.story.told import (
    SourceTargetContext,
    diameter,
    unit_of_cost,
    vacuous,
)
from dpviz.stories.glossary import meant
from dpviz.stories.label import both_limits
from dpviz.stories.panel import EQUAL, Fact, ceiled, number
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


def allowance(words: Words, params: Params) -> Callable[[float], str]:
    """Return what says, for each budget, what the stated and the proved guarantee allow an attacker."""
    at = guarantees(words.box, params)
    return lambda budget: both_limits(at(budget))


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


def source_words(told: SourceTargetContext) -> str:
    """Name the source, in the words of the pair that the page opens with where it is that one."""
    return "paramedics" if told.words.title == FIRST_AID else "source"


def way(cost: float, without: float) -> str:
    """Say how a mean distance compares with the one without privacy, before the latter's name."""
    if without <= 0:
        return "as long as" if cost <= 0 else "longer than"
    percent = 100.0 * (cost / without - 1.0)
    if abs(percent) < EQUAL:
        return "as long as"
    return f"{number(float(f'{abs(percent):.2g}'))} % {'longer' if percent > 0 else 'shorter'} than"


def costs(told: SourceTargetContext) -> tuple[float, float]:
    """Return what the chosen centers cost, and what those without privacy cost."""
    chosen, floor = told.result.release.selected, told.reference.nonprivate_selected
    return told.nonprivate_cost(chosen), told.nonprivate_cost(floor)


def times(cost: float, floor: float) -> str:
    """Write a cost as a multiple of the one without privacy."""
    if floor > 0:
        return f"{number(cost / floor)} × without privacy"
    return "as good as without privacy" if cost == 0 else "worse than without privacy, 0"


def noise_facts(told: SourceTargetContext) -> tuple[Fact, ...]:
    """Return how much noise the averages have, and what is refused for it; public."""
    release, law = told.result.release, "scale" if told.params.noise == "laplace" else "standard deviation"
    if release.threshold is None:
        off, unit = number(release.scale * diameter(told)), unit_of_cost(told.words)
        return (Fact("Noise of a mean", f"± {off}{unit}", f"On each coordinate ({law}).", True),)
    return (
        Fact("Noise of a count", f"± {number(release.scale)} records", f"Also of each sum ({law}).", True),
        Fact("Threshold", f"{number(release.threshold)} records", "Means of cells below it are refused.", True),
    )


def bound_facts(told: SourceTargetContext) -> tuple[Fact, ...]:
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
