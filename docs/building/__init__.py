"""Generators for documentation pages from the package's own records and docstrings."""
