"""A landscape as a surface with its peaks and transition points standing on it. Nothing in it is exact."""

from dpviz.methods.morse.story import landscape_layers as draw
from dpviz.methods.morse.story import landscape_surface as rising
from dpviz.methods.morse.story import landscape_words as saying
from dpviz.methods.morse.story import string_search as strings
from dpviz.methods.morse.story.landscape_stage import LandscapeContext, levels
from dpviz.methods.morse.story.point_layers import path_layers
from dpviz.methods.morse.story.search import search_layers
from dpviz.plots import Frame, Scene
from dpviz.stories.stage import Clock
from dpviz.stories.view import Projection, View

TURN = "Drag the surface to turn it, or set the angles."


def scene(told: LandscapeContext, plane: Projection, view: View, frames: tuple[Frame, ...], start_frame: int) -> Scene:
    """Return ln p over the plane as a surface that can be turned, with the same stops as the flat picture.

    Needs two features or more. In principal directions the plane is computed from records: then nothing is public.
    """
    moves, surface = told.look.moves, rising.surface_of(told, plane)
    stage = rising.SurfaceStage(plane, Clock(len(frames) - 2, ("stop",)), surface)
    groups = draw.group_rows(told, moves)
    found = strings.find(told) if moves == "search" else None
    layers = [
        *rising.box_layers(told, stage),
        rising.mesh_layer(told, stage, groups, levels(told) if moves == "level" else ()),
        *path_layers(told, stage, groups),
        *(search_layers(told, stage, found) if found else []),
        *draw.critical_layers(told, stage, groups, joins=moves == "cut"),
    ]
    seen, x, y = rising.turned(layers, plane, view)
    return Scene(
        title=told.words.title,
        alt=f"As a surface of the {rising.AXIS}. {saying.alt(told)}",
        caption=saying.surface_caption(told, plane, surface, x.label),
        hint=f"{TURN} {'' if plane.nonprivate else saying.HINT}".strip(),
        x=x,
        y=y,
        axes_public=not plane.nonprivate,
        layers=seen,
        frames=frames,
        start_frame=start_frame,
        group_names=told.group_names,
        solid=(float(view.yaw), float(view.pitch)),
    )
