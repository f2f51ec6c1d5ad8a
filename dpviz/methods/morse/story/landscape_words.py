"""The words of a landscape's picture: its terms, its description, its caption; public."""

import numpy as np

from dpviz.core import FloatArray
from dpviz.methods.morse.story import landscape_plane as land
from dpviz.methods.morse.story.landscape_stage import LandscapeContext
from dpviz.methods.morse.story.landscape_surface import AXIS, Surface
from dpviz.stories.glossary import meant
from dpviz.stories.panel import counted, number
from dpviz.stories.view import Projection

TERMS = (
    (
        "Colors",
        "Gray and locked: exact, secret. Blue: released. Orange: noise. Green: public input. Red: refused. "
        "Other colors: clusters.",
    ),
    *meant("epsilon", "delta"),
    (
        "Mixture",
        "Many small Gaussians, the components, made from noisy counts, sums and squares. It is all that costs.",
    ),
    (
        "Landscape",
        "The mixture's density p. The paper turns it upside down: its f is −ln p, and peaks are minima of f.",
    ),
    ("Peak", "A place that points flow to: the top of a basin."),
    *meant("basin", "transition point", "TEV"),
    ("Dendrogram", "Which basins join at which density. Cut it anywhere: that many clusters, of any shape."),
    ("Level", "Everything denser than a level. Islands appear at peaks and meet at passes, and nowhere else."),
    ("Free", "All of this is computed from the released mixture. Moving the cut or labeling new points costs no ε."),
)
HINT = "Click a transition point to see its search."


def alt(told: LandscapeContext) -> str:
    """Describe the picture from public parameters and the release alone."""
    unit = land.unsigned(told.tree.landscape.minima)
    peaks: FloatArray = told.words.box.from_unit(unit)
    places = "; ".join(", ".join(number(float(x)) for x in peak[:3]) for peak in peaks[:8])
    what = {"cut": "cuts of its hierarchy", "level": "levels of its density", "search": "the search of one pair"}
    return (
        f"{told.words.title}: the landscape of a private mixture of "
        f"{counted(len(told.result.release.kept), 'component')}, with {counted(told.tree.n_leaves, 'peak')} "
        f"at {places}, and {what[told.look.moves]}."
    )


def caption(told: LandscapeContext, plane: Projection) -> str:
    """Say what is drawn, from public facts only."""
    d = told.words.box.d
    if plane.nonprivate:
        return "Principal directions are computed from the records: curator only. Two features have a public view."
    if d > 2:
        return (
            f"Two of {d} features. Shading and contours are the exact marginal density of the two; peaks and passes "
            "are those of all features, projected."
        )
    if d == 1:
        return "One feature. The curve is the density; records are spread out so that they can be seen."
    return "All of it is computed from the released mixture, for free."


def surface_caption(told: LandscapeContext, plane: Projection, surface: Surface, edges: str) -> str:
    """Say what the height is, its range, where it is cut off, and where the `edges` point; public facts only."""
    if plane.nonprivate:
        return caption(told, plane)
    what = "the released mixture" if plane.d == 2 else f"the exact marginal of two of {plane.d} features"
    range_ = f"from {_height(-surface.low)} at the highest peak down to {_height(-surface.cut)}"
    times = f", {number(surface.multiple)} × as far down as the lowest pass or peak"
    cut = times if np.isfinite(surface.multiple) else ""
    colors = "Colors are the merged basins. " if told.regions is not None else "Basins have no borders in a marginal. "
    levels = "Without color: below the level. " if told.regions is not None and told.look.moves == "level" else ""
    return (
        f"Height is the {AXIS} of {what}, {range_}, where it is cut off{cut}. {colors}{levels}"
        f"Marks are seen through the surface. Edges of the box: {edges}."
    )


def _height(f: float) -> str:
    return f"{f:.2f}".replace("-", "−")
