"""Everything that is read on pages, place by place; as a script it prints that in the language that it is run in."""

import csv
import html
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
FILE = b"age,income\n" + b"".join(b"%d,%d\n" % (20 + i % 50, 900 + i * 37 % 800) for i in range(60))
# Page, link, and whether its background work is done: "" is the app's entrance. What takes longest is left to --slow.
PLACES: dict[str, tuple[str, dict[str, str], bool]] = {
    "home": ("", {}, False),
    "a lesson": ("", {"lesson": "dpm"}, False),
    "a lesson's question": ("", {"lesson": "epsilon", "lesson_step": "3"}, False),
    "a wrong link": ("convergent_kmeans", {"n_clusters": "9999", "hide": "odd,n_levels", "mode": "odd"}, False),
    "the public": ("convergent_kmeans", {"audience": "public", "tab": "methods", "mode": "published"}, False),
    "side by side": ("convergent_kmeans", {"mode": "both", "tab": "read"}, False),
    "a photograph": ("convergent_kmeans", {"data": "image", "n": "500", "tab": "attack"}, False),
    "many runs": ("convergent_kmeans", {"tab": "runs", "mode": "privgene"}, True),
    "over ε": ("convergent_kmeans", {"tab": "play", "mode": "gupt", "data": "draw"}, True),
    "budgets": ("convergent_kmeans", {"tab": "budgets", "mode": "eugkm"}, True),
    "tables": ("convergent_kmeans", {"tab": "reproduction", "mode": "lloyd"}, False),
    "dpm, solid": ("dpm", {"data": "iris", "view": "solid", "tab": "read", "calibration": "published"}, False),
    "dpm, cuts": ("dpm", {"tab": "inside", "node": "1", "shares": "own"}, False),
    "dpm, runs": ("dpm", {"tab": "many"}, True),
    "dpm, quality": ("dpm", {"tab": "quality"}, True),
    "dpm, tables": ("dpm", {"tab": "reproduction"}, False),
    "morse": ("morse", {"below": "read", "calibration": "published"}, False),
    "morse, search": ("morse", {"moves": "search", "first": "1", "second": "2", "relief": "surface"}, False),
    "morse, level": ("morse", {"moves": "level", "below": "reproduction", "base": "dpcube"}, False),
    "laplace": ("nd_laplace", {"under": "read", "domain": "remap"}, False),
    "laplace, play": ("nd_laplace", {"under": "play"}, False),
    "laplace, walls": ("nd_laplace", {"under": "walls", "domain": "redraw"}, True),
    "laplace, runs": ("nd_laplace", {"under": "runs"}, True),
    "targets": ("source_target", {"below": "read", "method": "nas", "noise": "gaussian", "budget": "rho"}, False),
    "targets, one": ("source_target", {"below": "record", "record": "42"}, False),
    "compare": ("compare", {}, False),
    "compare, read": ("compare", {"compare_tab": "read"}, False),
    "audit": ("audit", {}, False),
    "audit, read": ("audit", {"audit_tab": "read"}, False),
    "a file": ("dpm", {"data": "upload:"}, False),
}
SLOW: dict[str, tuple[str, dict[str, str], bool]] = {
    "methods": ("convergent_kmeans", {"tab": "methods"}, True),
    "worlds": ("convergent_kmeans", {"tab": "worlds"}, True),
    "dpm, worlds": ("dpm", {"tab": "worlds"}, True),
    "morse, runs": ("morse", {"below": "runs"}, True),
    "morse, worlds": ("morse", {"below": "worlds"}, True),
    "laplace, clusters": ("nd_laplace", {"under": "clusters"}, True),
    "laplace, attacks": ("nd_laplace", {"under": "attacks"}, True),
    "targets, costs": ("source_target", {"below": "costs"}, True),
    "targets, worlds": ("source_target", {"below": "worlds"}, True),
    "compared": ("compare", {"compare_tab": "numbers"}, True),
    "compared twice": ("compare", {"compare_tab": "grid"}, True),
    "compared people": ("compare", {"compare_tab": "people"}, True),
    "compared, solved": ("compare", {"compare_tab": "solve"}, True),
    "audited": ("audit", {}, True),
}
EXPORTED = ("side by side", "morse, search", "targets, one")

# What travels to a component for its script alone.
UNREAD = {
    "ahead",
    "arrays",
    "audience",
    "dtype",
    "follow",
    "hash",
    "id",
    "key",
    "kind",
    "link",
    "peek",
    "pick",
    "query",
}
UNREAD |= {"picture", "restore", "role", "rows", "session", "symbol", "type"}
FIELDS = {
    "alt",
    "body",
    "caption",
    "content",
    "help",
    "label",
    "options",
    "placeholder",
    "text",
}  # of Streamlit's elements
SAID = re.compile(r'(?:alt|title|aria-label|name="description" content)="([^"]*)"')
UNSEEN = re.compile(r"<(style|script)\b.*?</\1>", re.DOTALL)


def readable(places: dict[str, tuple[str, dict[str, str], bool]]) -> dict[str, list[str]]:
    """Return all that is read at each place, {place: texts}, and what the components' scripts say."""
    from dpviz.ui.live import PARTS
    from dpviz.ui.server.served import script
    from dpviz.words.finding import SPOKEN

    sent = [script("live", *PARTS), *(script(name, "spoken") for name in ("epsilon", "export", "share", "wait"))]
    said = [json.loads(text) for each in sent for text in SPOKEN.findall(each)]
    return {"scripts": said, **{place: list(_place(place, *asked)) for place, asked in places.items()}}


def _place(place: str, page: str, query: dict[str, str], works: bool) -> Iterator[str]:
    from dpviz.ui import asking

    own = asking.workshop
    asking.workshop = lambda: SimpleNamespace(ask=_at_once if works else _not_yet)
    try:
        app = AppTest.from_file(str(ROOT / ("app.py" if page else "dpviz/ui/server/script.py")), default_timeout=300)
        app.query_params.update(query)
        if page:
            app.switch_page(f"pages/{page}.py")
        app.run()
        if place == "a file":
            (uploader,) = [each for each in app.file_uploader if each.proto.type != [".json"]]
            uploader.set_value(("people.csv", FILE, "text/csv"))
            app.run()
        assert [error.message for error in app.exception] == [], place
        yield from (text for element in _elements(app._tree) for text in _read(element))
        if place in EXPORTED:
            yield from _exported(app.session_state["dpviz:shown"], page)
    finally:
        asking.workshop = own


def _at_once(source: Any, jobs: Any, _own: Any) -> Any:
    """Do background work here; what cannot be done is left out, as while it goes on."""
    from dpviz.ui.server.background import Answers

    data = source.dataset
    found = []
    for job in jobs:
        given = (data.labels, *job.arguments) if job.classified else job.arguments
        found.append(job.task(data.points, data.box, *given))
    return Answers(tuple(found))


def _not_yet(_source: Any, jobs: Any, _own: Any) -> Any:
    from dpviz.ui.server.background import Answers

    return Answers((None,) * len(jobs))


def _elements(block: Any) -> Iterator[Any]:
    for child in block.children.values():
        yield child
        if hasattr(child, "children"):
            yield from _elements(child)


def _read(element: Any) -> Iterator[str]:
    """Yield the texts of one element; code is no text."""
    proto, kind = getattr(element, "proto", None), getattr(element, "type", "")
    if proto is None or kind == "code":
        return
    if kind == "bidi_component":
        yield from _component(proto)
    elif kind == "html":
        yield from _markup(proto.body)
    elif kind == "arrow_data_frame":
        yield from _table(element.value, json.loads(proto.columns or "{}"))
    elif hasattr(proto, "DESCRIPTOR"):
        yield from (text for name, text in _strings(MessageToDict(proto)) if name in FIELDS)


def _component(proto: Any) -> Iterator[str]:
    if not proto.bytes:
        data = [json.loads(proto.json or "null")]
    else:
        options, rest = _split(proto.bytes)
        options["formats"] = [words for _, words in options.get("formats", [])]
        data = [options, _split(rest)[0]] if rest else [options]
    yield from (text for one in data for name, text in _strings(one) if name not in UNREAD)


def _split(packed: bytes) -> tuple[Any, bytes]:
    """Return the JSON at the start of packed bytes, and the rest."""
    length = int.from_bytes(packed[:4], "little")
    return json.loads(packed[4 : 4 + length]), packed[4 + length :]


def _markup(body: str) -> Iterator[str]:
    seen = UNSEEN.sub(" ", body)
    yield from map(html.unescape, SAID.findall(seen))
    yield html.unescape(re.sub(r"<[^>]*>", " ", seen))


def _table(frame: Any, columns: dict[str, Any]) -> Iterator[str]:
    for name in frame.columns:
        yield str((columns.get(name) or {}).get("label") or name)
        yield from (cell for cell in frame[name] if isinstance(cell, str) and not cell.startswith("./"))


def _strings(found: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield (the nearest name, string) of everything inside."""
    if isinstance(found, str):
        yield name, found
    elif isinstance(found, dict):
        for key, value in found.items():
            if key not in UNREAD:
                yield from _strings(value, key)
    elif isinstance(found, list):
        for value in found:
            yield from _strings(value, name)


def _exported(shown: Any, page: str) -> Iterator[str]:
    """Yield what is read in the files that leave the page; a table's first line and a script are for machines."""
    from dpviz.ui.export.files import Wish, make

    files = {kind: make(shown, page, Wish(kind)).content.decode("utf-8-sig") for kind in ("svg", "html", "csv", "json")}
    yield from _markup(files["svg"])
    yield from _markup(files["html"])
    for row in csv.DictReader(io.StringIO(files["csv"])):
        yield from (row["picture"], row["layer"], row["name"])
    yield from (text for _, text in _strings(json.loads(files["json"])["guarantees"]))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    json.dump(readable(SLOW if "--slow" in sys.argv else PLACES), sys.stdout)
