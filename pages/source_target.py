"""Source-target clustering: move ε, and watch what is released of a secret source, and the centers beside it."""

from dpviz.methods.source_target.page import draw

draw()
