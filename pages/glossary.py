"""Glossary: every word of the app, with a small drawing and the picture that shows it."""

from dpviz.navigation import draw_page

draw_page("glossary")
