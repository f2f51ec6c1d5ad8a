"""Morse processing: move ε, and watch a private mixture's landscape, its hierarchy and its clusters change."""

from dpviz.methods.morse.page import draw

draw()
