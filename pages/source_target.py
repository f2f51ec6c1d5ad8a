"""Source-target clustering."""

from dpviz.navigation import draw_page

draw_page("source_target")
