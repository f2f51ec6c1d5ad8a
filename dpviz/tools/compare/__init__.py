"""Compare: methods side by side on the same records."""
