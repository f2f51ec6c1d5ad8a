"""A picture for print: an SVG with a chosen width and type size, and the same as PDF or PNG."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.plots.scene import Scene
from dpviz.plots.svg import FONT, LEGEND, printed

PDF = "pdf"
PNG = "png"
# Points per CSS unit.
POINTS = {"in": 72.0, "cm": 72.0 / 2.54, "mm": 7.2 / 2.54, "pt": 1.0, "px": 0.75}
_WIDTH = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(POINTS)})\s*")
# Resolution of a PNG. Our choice.
DPI = 300.0
SHEET = """#set document(date: none)
#set page(width: auto, height: auto, margin: 0pt)
#set text(font: "Libertinus Serif")
#image(bytes(sys.inputs.svg), format: "svg")"""


@dataclass(frozen=True)
class Figure:
    """A scene as a figure for a paper. A notebook shows the drawing."""

    scene: Scene = field(repr=False)
    # A CSS length.
    width: str = "6.5in"
    font_size: float = 8.0  # points
    # Step to draw. None for the step that the scene opens with.
    frame: int | None = None
    # Lines below the picture, after its words. None for no text below the picture.
    notes: tuple[str, ...] | None = ()
    # Whether there is a legend.
    legend: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError for an invalid width or size, or a step that does not exist."""
        found = _WIDTH.fullmatch(str(self.width))
        if found is None or not self.font_size > 0 or self.pixels < LEGEND:
            raise ValueError(
                f"width must be a length such as '3.3in' or '84mm', at least {round(LEGEND / FONT)} times font_size, "
                f"and font_size must be above 0, got width {self.width!r} and font_size {self.font_size}."
            )
        self.scene.checked_frame(self.frame)

    @property
    def pixels(self) -> float:
        """Width in units in which the type size is `FONT`."""
        number, unit = _WIDTH.fullmatch(self.width).groups()  # type: ignore[union-attr]  # checked when it was made
        return float(number) * POINTS[unit] * FONT / self.font_size

    @property
    def svg(self) -> str:
        """The drawing, as text."""
        return printed(
            self.scene, self.width.strip(), round(self.pixels), frame=self.frame, notes=self.notes, legend=self.legend
        )

    def save(self, path: str | Path) -> None:
        """Write the figure in the format of `path`'s ending: svg, pdf (vector) or png. Raises ValueError otherwise."""
        ending = Path(path).suffix.removeprefix(".").lower()
        if ending == "svg":
            Path(path).write_text(self.svg, encoding="utf-8")
        elif ending in (PDF, PNG):
            Path(path).write_bytes(converted(self.svg, ending))
        else:
            raise ValueError(f"path must end in svg, {PDF} or {PNG}, got {str(path)!r}. Try figure.pdf.")

    def _repr_svg_(self) -> str:
        return self.svg


def converted(drawing: str, ending: str) -> bytes:
    """Return an SVG file as PDF, in vectors with its fonts, or PNG. Raises ValueError if Typst is not installed."""
    try:
        # Typst has 80 MB of code, which only PDF and PNG files need.
        import typst
    except ModuleNotFoundError:
        raise ValueError(
            f"A {ending.upper()} needs the extra `pdf`, or save it as SVG: pip install 'dpviz[pdf]'"
        ) from None
    # Any, because Typst's types name each format in a separate literal.
    setting: Any = typst.compile
    made: bytes = setting(SHEET.encode(), sys_inputs={"svg": drawing}, format=ending, ppi=DPI)
    return made
