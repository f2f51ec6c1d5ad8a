"""Pictures with the code that makes each: the code that is printed is the code that is run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.plots import svg
from dpviz.plots.theme import DARK

INTRODUCTION = """\
# Gallery

Every method at work, as its curator sees it: gray marks are secret. All records are made up, and all seeds are public.
With `scene.public()` in place of `scene` you get what the world may see. The code is what made the picture above it.
"""
CODE = """\
import dpviz
from dpviz.methods import CATALOGUE
from dpviz.plots import svg

data, given = CATALOGUE[{page!r}].thumbnail.made()
run = dpviz.run({name!r}, data, seed={seed}{params})
scene = run.picture()
picture = svg([scene])
"""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A picture in both themes, its code, and the run that it shows."""

    name: str  # of the method or baseline, and of the files
    method: str  # on whose page it stands
    code: str
    light: str
    dark: str
    alt: str
    run: Any

    @property
    def title(self) -> str:
        """The method's."""
        return ALGORITHMS[self.name].title

    def shown(self, top: str) -> str:
        """Return the Markdown of both themes; `top` leads from the page to the site's start."""
        alt = " ".join(self.alt.replace("[", "(").replace("]", ")").split())
        files = {theme: f"{top}pictures/{self.name}{end}.svg" for theme, end in (("light", ""), ("dark", "_dark"))}
        # A picture is a link to itself: on a narrow screen its words are small.
        return "\n".join(f"[![{alt}]({file}){{.{theme}}}]({file})" for theme, file in files.items())


def pictures() -> Iterator[Picture]:
    """Make the picture of every method that has a thumbnail, and of the baselines on its page."""
    for page, method in CATALOGUE.items():
        if method.thumbnail is None:
            continue
        for name in (page, *method.family):
            chosen = method.thumbnail.params if name == page else {}
            # What comes with the records is for the method itself; the baselines on its page have only their defaults.
            params = "".join([*([", **given"] if name == page else []), *(f", {k}={v!r}" for k, v in chosen.items())])
            yield _made(name, page, CODE.format(name=name, page=page, params=params, seed=method.thumbnail.seed))


def _made(name: str, page: str, code: str) -> Picture:
    found: dict[str, Any] = {}
    exec(code, found)
    dark = svg([found["scene"]], theme=DARK)
    return Picture(name, page, code, found["picture"], dark, found["scene"].alt, found["run"])


def page(made: Sequence[Picture]) -> str:
    """Return the page of all pictures."""
    parts = [INTRODUCTION]
    for each in made:
        parts += [f"## {each.title}", each.shown("")]
        parts.append(f"[What it is, and what is proved](methods/{each.method}.md)")
        parts.append(f'??? example "The code"\n\n{indent(fenced(each.code), "    ")}')
    return "\n\n".join(parts)


def fenced(code: str) -> str:
    """Return Python as a block of Markdown."""
    return f"```python\n{code}```"
