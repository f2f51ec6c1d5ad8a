"""Content and exports of every page, as hashes, to compare two revisions on one machine.

    python -m tests.recorded_pages --against REV computes both sides, each with its own tests, and lists the
    differences python -m tests.recorded_pages prints today's hashes as JSON

A page is opened in Streamlit's own test runner at several links. Hashed are all elements that it sends to a browser,
in their order, with the live pictures' bytes, and all files of its Export menu but scripts.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
# Names of a session, a run or a folder, which are not content.
NAMELESS = {"id", "elementId", "formId", "pageScriptHash", "scriptHash", "ahead", "session", "peek", "mainScriptPath"}
COMMON: tuple[dict[str, str], ...] = (
    {},
    {"audience": "public"},
    {"epsilon": "0.1"},
    {"epsilon": "10", "audience": "public"},
    {"x": "0", "y": "1", "size": "projector"},
    {"data": "draw", "drawing": "ring"},
    {"hide": "epsilon,seeds,terms"},
)
# Page -> knob -> values that are not its default; each is a separate link.
CHOICES: dict[str, dict[str, str]] = {
    "convergent_kmeans": {
        "mode": "published both lloyd blum dwork dplloyd fastlloyd gupt privgene eugkm",
        "tab": "runs play budgets attack worlds read",
        "start": "private records",
        "orientation": "future",
    },
    "dpm": {"calibration": "published", "shares": "own", "tab": "many quality worlds read"},
    "morse": {
        "moves": "level search",
        "base": "dpmog dplloyd_mog dpcube",
        "calibration": "published",
        "adjacency": "replace",
        "below": "worlds read",
    },
    "nd_laplace": {
        "domain": "clamp redraw remap",
        "unit": "range",
        "under": "runs attacks play worlds walls dimensions read",
    },
    "source_target": {
        "method": "nas",
        "noise": "gaussian",
        "calibration": "tight",
        "targets": "uniform",
        "below": "runs record worlds read",
    },
    "learn": {"chapter": "average coin mean clusters leak noise cuts hills sending helpers audit decide end"},
    "compare": {
        "audience": "public",
        "compare_tab": "solve people clusters report",
        "chosen": "dpm dplloyd",
        "data": "iris",
    },
    "audit": {"audience": "public", "audit_tab": "read", "audited": "morse nd_laplace dplloyd noisy_count"},
    "glossary": {"term": "epsilon"},
    "quiz": {},
    "teach": {"teach_tab": "plan90 wrong exercises class stills"},
    "home": {},
}
METHODS = ("convergent_kmeans", "dpm", "morse", "nd_laplace", "source_target")
N = "300"  # records of a method's page


def links(name: str) -> Iterator[dict[str, str]]:
    """Yield the links that a page is opened at."""
    size = {"n": N} if name in METHODS else {}
    for link in COMMON if name in METHODS else COMMON[:1]:
        yield {**size, **link}
    for knob, values in CHOICES[name].items():
        for value in values.split():
            yield {**size, knob: value}


def main() -> int:
    """Read the command line, and compute or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.recorded_pages", description=__doc__.split("\n")[0])
    parser.add_argument("--against", metavar="REV", help="a Git revision to compare with on this machine")
    parser.add_argument("--only", metavar="PAGE", action="append", help="a page; all of them when left out")
    options = parser.parse_args()
    pages = options.only or list(CHOICES)
    if not options.against:
        print(json.dumps(figures(pages), indent=1))
        return 0
    ours = elsewhere(ROOT, pages)
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", options.against], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        theirs = elsewhere(Path(folder), pages)
    changed = sorted(case for case in ours.keys() | theirs.keys() if ours.get(case) != theirs.get(case))
    print("\n".join(changed) or f"All {len(ours)} hashes are those of {options.against}.")
    return int(bool(changed))


def elsewhere(folder: Path, pages: list[str]) -> dict[str, str]:
    """Return the hashes of a checkout, computed by its own code in a separate process."""
    only = [word for page in pages for word in ("--only", page)]
    command = [sys.executable, "-m", "tests.recorded_pages", *only]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def figures(pages: list[str]) -> dict[str, str]:
    """Return the hash of each page at each of its links, and of each of its files."""
    from dpviz.ui import asking
    from dpviz.ui.asking import Answers

    idle = SimpleNamespace(
        ask=lambda _source, jobs, _own: Answers((None,) * len(jobs)), recall=lambda _source, _job: None
    )
    asking.background = lambda: idle  # type: ignore[assignment]  # work in the background is never done
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        for name in pages:
            for link in links(name):
                app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
                app.query_params.update({"noise_seed": "1", **link} if name != "home" else {})
                if name != "home":
                    app.switch_page(f"pages/{name}.py")
                app.run()
                case = f"{name}, {', '.join(f'{key}={value}' for key, value in link.items()) or 'as it is'}"
                found[case] = _hash(repr(list(_elements(app._tree))))
                found |= {f"{case}, {kind}": hashed for kind, hashed in _files(app, name)}
    return found


def _elements(node: Any) -> Iterator[Any]:
    """Yield the content sent to a browser, element by element."""
    proto = getattr(node, "proto", None)
    if proto is not None:
        said = _named(MessageToDict(proto))
        if said.get("json"):
            said["json"] = _named(json.loads(said["json"]))
        data = bytes(getattr(proto, "bytes", b"") or b"")
        if data:
            length = int.from_bytes(data[:4], "little")
            said["bytes"] = [_named(json.loads(data[4 : 4 + length])), hashlib.sha256(data[4 + length :]).hexdigest()]
        yield type(node).__name__, said
    for child in (getattr(node, "children", None) or {}).values():
        yield from _elements(child)


def _named(value: Any) -> Any:
    """Return a value without names of a session, and without the folder of this checkout."""
    if isinstance(value, dict):
        return {key: _named(each) for key, each in sorted(value.items()) if key not in NAMELESS}
    if isinstance(value, list):
        return [_named(each) for each in value]
    return value.replace(str(ROOT), "") if isinstance(value, str) else value


def _files(app: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a page's Export menu."""
    from dpviz.ui.export.files import ExportRequest, make

    menus = [each for each in app.get("bidi_component") if each.proto.component_name == "dpviz.export"]
    for menu in menus:
        data = menu.proto.bytes
        options = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
        for kind, _ in options["formats"]:
            if kind != "py":
                try:
                    content = make(app.session_state["dpviz:shown"], name, ExportRequest(kind)).content
                except (ValueError, IndexError) as error:  # no such file of this page as it stands
                    content = str(error).encode()
                yield kind, _hash(content)


def _hash(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
