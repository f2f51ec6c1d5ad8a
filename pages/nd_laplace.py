"""nD-Laplace."""

from dpviz.methods.nd_laplace.page import draw

draw()
