"""Morse processing."""

from dpviz.navigation import draw

draw("morse")
