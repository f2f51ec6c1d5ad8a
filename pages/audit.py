"""Audit: run a method many times on two worlds that differ in one record, and see how much privacy is lost."""

from dpviz.navigation import draw_page

draw_page("audit")
