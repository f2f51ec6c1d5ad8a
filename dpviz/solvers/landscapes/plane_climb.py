"""Steps of climbing walks in the plane, in machine code, from what `plane.known_at` tells of where they stand.

What is computed is said where it is done for any number of axes: `climbing`. Here it is written out for two.
"""

import math

import numpy as np

from dpviz.core import FloatArray, Labels, compiled

WALKING, ARRIVED, STUCK = 0, 1, 2  # what a walk is, after a look at where it stands


@compiled
def climb_steps(
    known: FloatArray, lost: Labels, walks: Labels, flat: float, close: float, longest: float, most_lost: int
) -> tuple[FloatArray, Labels]:
    """Return the step (n, 2) of each of `walks` (n,), zero where it ends, and what it is now (n,).

    Its row of `lost` counts its steps since -log p last bent downwards along some axis, and is brought up to date.
    """
    n = len(known)
    steps, became = np.zeros((n, 2)), np.full(n, WALKING)
    for i in range(n):
        # L^-1 with R = L L', and S in that basis.
        first = 1.0 / math.sqrt(known[i, 3])
        below = known[i, 4] * first
        second = 1.0 / math.sqrt(known[i, 5] - below * below)
        mixed = -below * first * second
        a = first * first * known[i, 6]
        b = first * (mixed * known[i, 6] + second * known[i, 7])
        c = mixed * (mixed * known[i, 6] + 2.0 * second * known[i, 7]) + second * second * known[i, 8]
        angle = 0.5 * math.atan2(2.0 * b, a - c)  # of the larger eigenvalue's axis
        middle, radius, cos, sin = (a + c) / 2.0, math.hypot((a - c) / 2.0, b), math.cos(angle), math.sin(angle)
        steep, soft = 1.0 - middle + radius, 1.0 - middle - radius  # curvatures of -log p
        steep_x, steep_y = mixed * cos - first * sin, second * cos
        soft_x, soft_y = first * cos + mixed * sin, second * sin
        falls_steeply = known[i, 1] * steep_x + known[i, 2] * steep_y
        falls_softly = known[i, 1] * soft_x + known[i, 2] * soft_y
        along_steep = falls_steeply / max(abs(steep), flat)
        along_soft = -falls_softly / max(abs(soft), flat)  # up along the softest axis, also where it curves upwards
        length = math.hypot(along_steep, along_soft)
        lost[walks[i]] = 0 if soft < 0.0 else lost[walks[i]] + 1
        if soft < 0.0 <= steep and length < close:
            became[i] = ARRIVED
            continue
        share = min(1.0, longest / max(length, longest))
        x = share * (along_steep * steep_x + along_soft * soft_x)
        y = share * (along_steep * steep_y + along_soft * soft_y)
        if lost[walks[i]] < most_lost and math.isfinite(x) and math.isfinite(y):
            steps[i] = x, y
        else:
            became[i] = STUCK
    return steps, became
