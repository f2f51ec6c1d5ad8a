"""Quiz: ten questions, a score, and the right answers."""

from dpviz.navigation import draw_page

draw_page("quiz")
