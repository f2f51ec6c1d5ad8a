"""One record moves all others if the data's own extremes define the scale."""

import numpy as np

records = np.append(np.linspace(0.0, 1.0, 101), 2.0)
scaled = [(data - data.min()) / (data.max() - data.min()) for data in (records, records[:-1])]
moved = np.abs(scaled[0][:-1] - scaled[1])
print(f"{(moved > 0).sum()} of {moved.size} other records move, their sum by {moved.sum():.2f}")
