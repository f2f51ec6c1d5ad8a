"""The live picture in JupyterLab itself: its keys, its theme, and the messages that Python receives from it.

JupyterLab is large and slow to start, so neither the tests' environment nor a usual run has it. With `jupyter-lab` on
the path, from any environment that also has anywidget, `python3 tests/run.py --slow` runs this, too.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.servers import ROOT, free_port, start
from tests.browser.waiting import SLOW

LAB = shutil.which("jupyter-lab")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(LAB is None, reason="no JupyterLab on the path")]
DARK = re.compile(r"\bdark\b")
CELLS = (
    """
import numpy as np
import dpviz
from dpviz.data import load
from dpviz.methods import CATALOGUE
data = load("blobs", n=300)
params = CATALOGUE["dpm"].Params(epsilon=2.0)
result = CATALOGUE["dpm"].fit(data.points, data.box, params, rng=np.random.default_rng(0))
picture = dpviz.show(result, data, params)
picture
""",
    "dpviz.show(result, data, params, curator=True)",
    "print('stop', picture.frame)",
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """Start JupyterLab with these tests' Python as its kernel; gives the address of a notebook that has not run."""
    kernel = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python"}
    kernel |= {"display_name": "dpviz", "env": {"PYTHONPATH": str(ROOT)}}
    spec = tmp_path / "jupyter" / "kernels" / "dpviz" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(kernel), "utf-8")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each.strip()) for each in CELLS])
    notebook.metadata["kernelspec"] = {"name": "dpviz", "display_name": "dpviz", "language": "python"}
    (tmp_path / "notebooks").mkdir()
    nbformat.write(notebook, tmp_path / "notebooks" / "show.ipynb")
    port = free_port()
    command = [str(LAB), "--allow-root", "--no-browser", "--port", str(port), "--IdentityProvider.token="]
    folders = {"HOME": str(tmp_path), "JUPYTER_PATH": str(tmp_path / "jupyter")}
    process = start(command, f"http://localhost:{port}/api", tmp_path / "log", tmp_path / "notebooks", folders)
    yield f"http://localhost:{port}/lab/tree/show.ipynb"
    process.terminate()
    process.wait(timeout=30)


def order(page: Page, name: str) -> None:
    """Give a command of JupyterLab by its palette."""
    page.keyboard.press("ControlOrMeta+Shift+c")
    page.locator(".lm-CommandPalette-input").last.fill(name)
    page.keyboard.press("Enter")


def test_the_picture_lives_in_jupyterlab(lab: str, page: Page) -> None:
    page.goto(lab)
    expect(page.locator(".jp-Notebook .jp-CodeCell")).to_have_count(len(CELLS), timeout=SLOW)
    expect(page.get_by_text("dpviz | Idle")).to_be_visible(timeout=SLOW)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    public, curated = (page.locator(".jp-Notebook .dpviz-live").nth(i) for i in range(2))
    for each in (public, curated):
        expect(each).to_have_attribute("data-dpviz-drawn", "1", timeout=SLOW)
    expect(public.get_by_text("released center")).to_be_visible()
    expect(public.get_by_text("person")).to_have_count(0)
    expect(curated.get_by_text("person")).to_have_count(1)

    step = public.get_by_role("slider", name="Step")
    last = int(step.get_attribute("max") or 0)
    step.press("ArrowLeft")
    step.press("ArrowLeft")
    expect(public).to_have_attribute("data-dpviz-frame", str(last - 2))
    page.locator(".jp-Notebook .jp-CodeCell").last.click()
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.get_by_text(f"stop {last - 2}", exact=True)).to_be_visible()

    expect(public).not_to_have_class(DARK)
    order(page, "Use Theme: JupyterLab Dark")
    for each in (public, curated):
        expect(each).to_have_class(DARK)
