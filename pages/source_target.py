"""Source-target clustering."""

from dpviz.navigation import draw

draw("source_target")
