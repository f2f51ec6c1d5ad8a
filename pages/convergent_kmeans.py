"""Convergent k-means and its family."""

from dpviz.navigation import draw_page

draw_page("convergent_kmeans")
