"""Audit: run a method many times on two worlds that differ in one record, and see how much privacy is lost."""

from dpviz.tools.audit.page import draw

draw()
