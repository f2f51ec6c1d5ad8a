"""DPM."""

from dpviz.navigation import draw

draw("dpm")
