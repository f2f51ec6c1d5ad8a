"""Attacks: take what was published and guess what was not. None takes a trace, none knows an algorithm.

- `differencing`: the one record that is missing, from the centers of all and every other record.
- `bayes`: a place from its releases, given a public prior.
- `roc`: ROC curves, their bounds under a budget, confidence bands.
- `two_points`: which of two places; the best possible success.
- `two_worlds`: with or without one record; a rule chosen on half of many runs, scored on the other half.
- `membership`, `label_only`: was this record in, or another in its place.
- `reconstruction`: a record from several releases of it.
- `play`: rounds of a game with a public part and a secret, and scores against the best adversary.
"""

from dpviz.attacks.bayes import (
    LOSSES,
    LocationAdversary,
    Loss,
    Prior,
    best_guess,
    empirical_prior,
    error_of,
    expected_error,
    location_adversary,
    posterior,
    posterior_bound,
    uniform_prior,
)
from dpviz.attacks.differencing import (
    PartitionSums,
    Segment,
    ZonePath,
    exact_record,
    expected_record,
    likeliest_record,
    ray_segment,
    zone_record,
)
from dpviz.attacks.label_only import ClassifierRelease, boundary_distances, label_only_scores, tree_release
from dpviz.attacks.membership import (
    GameScores,
    center_fit_scores,
    membership_game,
    row_fit_scores,
    yeom_guesses,
)
from dpviz.attacks.play import (
    LocationRound,
    LocationScore,
    LocationSecret,
    LocationTally,
    MembershipRound,
    MembershipSecret,
    MembershipTally,
    is_correct,
    location_rounds,
    membership_rounds,
    score_location,
    tally_locations,
    tally_memberships,
)
from dpviz.attacks.reconstruction import (
    mean_error,
    median_error,
    reconstruct_mean,
    reconstruct_median,
    spent,
)
from dpviz.attacks.roc import (
    RateBand,
    Roc,
    RocBand,
    advantage_bound,
    auc_bound,
    clopper_pearson,
    empirical_roc,
    exceeds,
    replacement_budget,
    roc_band,
    roc_bound,
)
from dpviz.attacks.two_points import laplace_total_variation, nearer_scores, two_point_success
from dpviz.attacks.two_worlds import HeldOutScore, center_statistics, chosen_rule, held_out_score

__all__ = [
    "LOSSES",
    "ClassifierRelease",
    "GameScores",
    "HeldOutScore",
    "LocationAdversary",
    "LocationRound",
    "LocationScore",
    "LocationSecret",
    "LocationTally",
    "Loss",
    "MembershipRound",
    "MembershipSecret",
    "MembershipTally",
    "PartitionSums",
    "Prior",
    "RateBand",
    "Roc",
    "RocBand",
    "Segment",
    "ZonePath",
    "advantage_bound",
    "auc_bound",
    "best_guess",
    "boundary_distances",
    "center_fit_scores",
    "center_statistics",
    "chosen_rule",
    "clopper_pearson",
    "empirical_prior",
    "empirical_roc",
    "error_of",
    "exact_record",
    "exceeds",
    "expected_error",
    "expected_record",
    "held_out_score",
    "is_correct",
    "label_only_scores",
    "laplace_total_variation",
    "likeliest_record",
    "location_adversary",
    "location_rounds",
    "mean_error",
    "median_error",
    "membership_game",
    "membership_rounds",
    "nearer_scores",
    "posterior",
    "posterior_bound",
    "ray_segment",
    "reconstruct_mean",
    "reconstruct_median",
    "replacement_budget",
    "roc_band",
    "roc_bound",
    "row_fit_scores",
    "score_location",
    "spent",
    "tally_locations",
    "tally_memberships",
    "tree_release",
    "two_point_success",
    "uniform_prior",
    "yeom_guesses",
    "zone_record",
]
