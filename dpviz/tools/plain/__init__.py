"""A page for a method that brings none: its knobs, its picture, and what every page has."""
