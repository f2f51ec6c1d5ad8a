"""Morse processing in two worlds: the peaks of its mixtures."""

import numpy as np

from dpviz.core import Box, Points
from dpviz.methods.morse.algorithm import Mixture, MorseRelease, Params
from dpviz.solvers.landscapes.flow import distinct, settle
from dpviz.stories.worlds import Worlds


def places_of(release: MorseRelease, box: Box) -> Points:
    """Return the peaks of a released mixture (m, d), data units."""
    return box.from_unit((peaks_of(release.mixture) + 1.0) / 2.0)


def peaks_of(mixture: Mixture) -> Points:
    """Return the peaks (m, D) that the means of a mixture's components flow to."""
    ends = settle(mixture, mixture.means)
    return ends[np.unique(distinct(mixture, ends), return_index=True)[1]]


WORLDS: Worlds[Params, MorseRelease] = Worlds(places=places_of)
