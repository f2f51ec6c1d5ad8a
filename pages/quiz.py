"""Quiz: ten questions before and after, and a code that sums the answers up without a name."""

from dpviz.navigation import draw

draw("quiz")
