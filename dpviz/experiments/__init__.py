"""Experiments: many runs to tables, in one report that the app reads. `python -m dpviz.experiments --help`."""

from dpviz.experiments.tables import Cell, Column, Report, ResultTable, TablesError, read_tables, write_tables

__all__ = ["Cell", "Column", "Report", "ResultTable", "TablesError", "read_tables", "write_tables"]
