"""Gallery of pictures with their code: the printed code is the code that runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any

from dpviz.methods import ALGORITHMS, CATALOGUE
from dpviz.plots import svg
from dpviz.plots.theme import DARK

INTRODUCTION = """\
# Gallery

All methods in the curator's view: gray marks are secret. All records are made up, and all seeds are public.
With `scene.public()` instead of `scene`, you get the public view. The code below each picture made it.
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
    """Picture in both themes, with its code and its run."""

    # Name of the method or baseline, and of the files.
    name: str
    # Method whose page has the picture.
    method: str
    code: str
    light: str
    dark: str
    alt: str
    run: Any

    @property
    def title(self) -> str:
        """Return the method's title."""
        return ALGORITHMS[self.name].title

    def shown(self, top: str) -> str:
        """Return Markdown for both themes; `top` is the path from the page to the site's root."""
        alt = " ".join(self.alt.replace("[", "(").replace("]", ")").split())
        files = {theme: f"{top}pictures/{self.name}{end}.svg" for theme, end in (("light", ""), ("dark", "_dark"))}
        # Each picture links to itself, because its text is small on a narrow screen.
        return "\n".join(f"[![{alt}]({file}){{.{theme}}}]({file})" for theme, file in files.items())


def pictures() -> Iterator[Picture]:
    """Make the picture of every method that has a thumbnail, and of the baselines on its page."""
    for page, method in CATALOGUE.items():
        if method.thumbnail is None:
            continue
        for name in (page, *method.family):
            chosen = method.thumbnail.params if name == page else {}
            # Parameters that come with the records are for the method only; baselines on its page use their defaults.
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
        parts.append(f"[How it works, and its proof](methods/{each.method}.md)")
        parts.append(f'??? example "The code"\n\n{indent(fenced(each.code), "    ")}')
    return "\n\n".join(parts)


def fenced(code: str) -> str:
    """Return Python code as a Markdown code block."""
    return f"```python\n{code}```"
