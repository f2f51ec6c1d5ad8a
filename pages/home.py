"""Home: what this is, in ten seconds, and the ways in."""

from dpviz.navigation import draw_page

draw_page("home")
