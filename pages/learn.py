"""Start here: a course of short chapters, one idea on a screen."""

from dpviz.navigation import draw_page

draw_page("learn")
