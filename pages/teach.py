"""For teachers: plans with links, wrong ideas, exercises, what a class answered, stills for slides."""

from dpviz.navigation import draw

draw("teach")
