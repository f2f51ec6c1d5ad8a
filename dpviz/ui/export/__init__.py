"""Exports of a page: files, links, settings, and reports."""
