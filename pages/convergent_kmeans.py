"""Convergent k-means and its family: move ε, and watch zones, centers and cost move, beside every other method."""

from dpviz.methods.convergent_kmeans.page import draw

draw()
