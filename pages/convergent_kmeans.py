"""Convergent k-means and its family."""

from dpviz.methods.convergent_kmeans.page import draw

draw()
