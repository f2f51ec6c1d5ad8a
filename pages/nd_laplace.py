"""nD-Laplace."""

from dpviz.navigation import draw_page

draw_page("nd_laplace")
