"""DPM."""

from dpviz.methods.dpm.page import draw

draw()
