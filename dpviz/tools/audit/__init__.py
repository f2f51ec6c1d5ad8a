"""Audit: how much privacy runs themselves show to be lost."""
