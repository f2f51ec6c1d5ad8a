"""Compare: every method on the same records, at every ε, over many runs, beside the cost without privacy."""

from dpviz.navigation import draw_page

draw_page("compare")
