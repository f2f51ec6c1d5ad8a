"""Experiments: many runs to tables, in one report that the app reads. `python -m dpviz.experiments --help`."""
