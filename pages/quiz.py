"""Quiz: ten questions before and after, and a code that sums the answers up without a name."""

from dpviz.tools.quiz.page import draw

draw()
