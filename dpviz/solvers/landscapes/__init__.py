"""The landscape of a Gaussian mixture: critical points, passes, basins."""
