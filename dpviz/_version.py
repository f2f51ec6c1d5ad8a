"""The version, in a module that everything else can import."""

__version__ = "0.3.0"
