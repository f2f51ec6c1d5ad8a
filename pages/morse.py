"""Morse processing."""

from dpviz.methods.morse.page import draw

draw()
