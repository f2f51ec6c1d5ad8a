"""Grids of runs over methods, budgets and seeds, as arrays and tables."""
