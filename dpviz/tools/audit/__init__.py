"""Audit: lower bounds on the privacy loss, from runs."""
