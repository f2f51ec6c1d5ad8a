"""Glossary: every word of the app, with a small drawing and the picture that shows it."""

from dpviz.tools.glossary.page import draw

draw()
