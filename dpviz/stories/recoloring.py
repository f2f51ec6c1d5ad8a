"""A photograph whose pixels are the records, painted with the colors of released centers."""

import numpy as np
from numpy.typing import NDArray

from dpviz.core import Centers, Labels


def recolored(centers: Centers, nonprivate_labels: Labels, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return the picture (height, width, 3) in which each pixel, row by row, wears its cluster's released center.

    The centers (k, 3) are colors from 0 to 255; noise that threw one out of this range leaves it at its end. Which
    pixel is in which cluster is exact, so that the picture is the curator's.
    """
    colors = np.clip(np.rint(centers), 0, 255).astype(np.uint8)
    return colors[nonprivate_labels].reshape(shape)
