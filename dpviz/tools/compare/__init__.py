"""Compare: methods beside each other on the same records."""
