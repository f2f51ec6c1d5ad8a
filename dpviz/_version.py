"""The version, in a place where everything that stamps it can read it."""

__version__ = "0.3.0"
