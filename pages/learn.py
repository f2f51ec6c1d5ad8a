"""Start here: a course of short chapters, one idea on a screen."""

from dpviz.tools.learn.page import draw

draw()
