"""Makes pages of the documentation from what the package says of itself, so that nothing is said twice."""
