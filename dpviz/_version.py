"""The version, where everything that stamps it can read it."""

__version__ = "0.3.0"
