"""Morse processing."""

from dpviz.navigation import draw_page

draw_page("morse")
