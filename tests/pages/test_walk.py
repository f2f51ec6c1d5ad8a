"""How far ε goes from the slider to the card: through so few files that somebody can follow it in an afternoon."""

import dataclasses
import threading
from contextlib import contextmanager
from pathlib import Path

from tests.pages.conftest import DPM, ROOT

MOST_FILES = 34  # 26 today; files that run without ever having ε do not count
EPSILON = 2.37  # no other number on the page is this one


def holds(value: object, depth: int) -> bool:
    """Tell whether a value is ε, or a record or a row that has it within `depth` steps."""
    if isinstance(value, float):
        return value == EPSILON
    if depth == 0:
        return False
    if dataclasses.is_dataclass(value):
        return any(holds(getattr(value, each.name, None), depth - 1) for each in dataclasses.fields(value))
    return isinstance(value, tuple | list) and any(holds(each, depth - 1) for each in value[:20])


@contextmanager
def walk():
    """Give what fills meanwhile: {file of the app that runs: whether a function in it has, is handed or returns ε}."""
    found = {}

    def look(frame, event, given):
        path = frame.f_code.co_filename
        if event not in ("call", "return") or not path.startswith((str(ROOT / "dpviz"), str(ROOT / "pages"))):
            return
        if not found.get(path):
            found[path] = any(holds(value, 2) for value in [*frame.f_locals.values(), given])

    threading.setprofile(look)  # of every thread that starts, as each pass of a page does
    try:
        yield found
    finally:
        threading.setprofile(None)


def test_epsilon_goes_through_few_files(open_page):
    open_page(DPM)  # all is loaded
    with walk() as walked:
        page = open_page(DPM, epsilon=str(EPSILON))
    assert f"ε = {EPSILON:g}" in page.card
    files = sorted(str(Path(path).relative_to(ROOT)) for path, has_it in walked.items() if has_it)
    assert {"dpviz/ui/epsilon.py", "dpviz/methods/dpm/algorithm/plan.py", "dpviz/stories/label.py"} <= {*files}
    assert len(files) <= MOST_FILES, files
