"""Grids of methods, budgets, seeds and data, run to tidy tables."""
