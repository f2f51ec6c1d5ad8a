"""The data picker: sets, uploads, drawings."""
