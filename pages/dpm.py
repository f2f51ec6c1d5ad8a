"""DPM: move ε, and watch the box being cut where it is empty, level by level."""

from dpviz.methods.dpm.page import draw

draw()
