"""nD-Laplace: move ε within a radius, and watch every person hide the own place before anybody sees it."""

from dpviz.methods.nd_laplace.page import draw

draw()
