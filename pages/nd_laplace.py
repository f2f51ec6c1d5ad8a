"""nD-Laplace."""

from dpviz.navigation import draw

draw("nd_laplace")
