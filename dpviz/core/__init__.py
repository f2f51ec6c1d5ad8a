"""The words every other floor speaks: arrays, chunks, box and ball, privacy claims, runs and knobs."""

from dpviz.core import algebra, functions
from dpviz.core.arguments import charge_run, charge_with, charged, check_arguments
from dpviz.core.arrays import Centers, Counts, FloatArray, Labels, Points, as_points, fingerprint, frozen
from dpviz.core.ball import Ball, unit_projected
from dpviz.core.box import FEWEST_STEPS, Box, unit_records
from dpviz.core.chunks import BLOCK_ROWS, ArrayChunks, Chunks, as_chunks, trusting
from dpviz.core.compiled import compiled
from dpviz.core.geometry import voronoi_borders
from dpviz.core.knobs import Knob, KnobError, check_params, friendly, given, knob, knobs
from dpviz.core.limits import ceiled, floored, number
from dpviz.core.method import Algorithm, AnyAlgorithm, AuditPlan, Choices, Entry, FoundClusters, Targets, Varied
from dpviz.core.privacy import Account, Adjacency, Budget, Claim, Guarantee, attacker_odds
from dpviz.core.rows import projections, public_axes, squared_distances, squared_norms
from dpviz.core.run import CentersRelease, Confidential, Event, MovedCenters, PointsRelease, Release, Result, Step

__all__ = [
    "BLOCK_ROWS",
    "FEWEST_STEPS",
    "Account",
    "Adjacency",
    "Algorithm",
    "AnyAlgorithm",
    "ArrayChunks",
    "AuditPlan",
    "Ball",
    "Box",
    "Budget",
    "Centers",
    "CentersRelease",
    "Choices",
    "Chunks",
    "Claim",
    "Confidential",
    "Counts",
    "Entry",
    "Event",
    "FloatArray",
    "FoundClusters",
    "Guarantee",
    "Knob",
    "KnobError",
    "Labels",
    "MovedCenters",
    "Points",
    "PointsRelease",
    "Release",
    "Result",
    "Step",
    "Targets",
    "Varied",
    "algebra",
    "as_chunks",
    "as_points",
    "attacker_odds",
    "ceiled",
    "charge_run",
    "charge_with",
    "charged",
    "check_arguments",
    "check_params",
    "compiled",
    "fingerprint",
    "floored",
    "friendly",
    "frozen",
    "functions",
    "given",
    "knob",
    "knobs",
    "number",
    "projections",
    "public_axes",
    "squared_distances",
    "squared_norms",
    "trusting",
    "unit_projected",
    "unit_records",
    "voronoi_borders",
]
