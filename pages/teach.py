"""For teachers: plans with links, wrong ideas, exercises, a live class, stills for slides."""

from dpviz.navigation import draw_page

draw_page("teach")
