"""Home: what this is, in ten seconds, and the ways in."""

from dpviz.ui import home

home.show()
