"""dpviz: see what differential privacy does to clustering."""

__version__ = "0.1.0"
