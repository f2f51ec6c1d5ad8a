"""Source-target clustering."""

from dpviz.methods.source_target.page import draw

draw()
