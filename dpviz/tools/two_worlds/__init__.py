"""Two worlds: with one person and without."""
