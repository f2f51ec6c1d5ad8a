"""Pictures: arrays in, frozen descriptions out. No Streamlit, no input or output, no statistics."""

from dpviz.plots.scene import (
    Audience,
    Axis,
    Frame,
    Kind,
    Layer,
    Role,
    Scene,
    always,
    pack,
    read_header,
    rows_at,
)

__all__ = [
    "Audience",
    "Axis",
    "Frame",
    "Kind",
    "Layer",
    "Role",
    "Scene",
    "always",
    "pack",
    "read_header",
    "rows_at",
]
