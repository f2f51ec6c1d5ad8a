"""Quiz: ten questions, a score, and the right answers."""

from dpviz.navigation import draw

draw("quiz")
