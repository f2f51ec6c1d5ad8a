"""The glossary: every word of the app with a small drawing, to be searched."""
