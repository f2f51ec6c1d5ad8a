"""Pictures: arrays in, frozen descriptions out. No Streamlit, no input or output, no statistics."""

from dpviz.plots.scene import (
    RISK_QUESTION,
    Audience,
    Axis,
    Frame,
    Kind,
    Layer,
    Measure,
    Role,
    Scene,
    StageWords,
    Strip,
    always,
    pack,
    read_header,
    rows_at,
    scene_hash,
)
from dpviz.plots.svg import small_svg, svg
from dpviz.plots.table import csv_text, defused

__all__ = [
    "RISK_QUESTION",
    "Audience",
    "Axis",
    "Frame",
    "Kind",
    "Layer",
    "Measure",
    "Role",
    "Scene",
    "StageWords",
    "Strip",
    "always",
    "csv_text",
    "defused",
    "pack",
    "read_header",
    "rows_at",
    "scene_hash",
    "small_svg",
    "svg",
]
