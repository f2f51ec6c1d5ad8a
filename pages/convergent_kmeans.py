"""Convergent k-means and its family."""

from dpviz.navigation import draw

draw("convergent_kmeans")
