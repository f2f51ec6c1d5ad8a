"""Without one record, t-SNE puts all other records elsewhere."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

points = load_digits().data[:60]
places = [
    TSNE(3, perplexity=5, method="exact", max_iter=250, random_state=0).fit_transform(data)
    for data in (points, points[1:])
]
moved = np.linalg.norm(places[0][1:] - places[1], axis=1) > 0.001 * np.ptp(places[0])
print(f"{moved.sum()} of {moved.size} other records move")
