"""The app's pages as a static web site: every state that a plan names, made by the app itself and written as files."""

import hashlib
import json
import os
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from dpviz.assets import FOLDER as ASSETS
from dpviz.methods import CATALOGUE
from dpviz.publishing.article import titled, write_article
from dpviz.publishing.files import ASKED, address, write_common, write_page
from dpviz.publishing.plan import BUDGET, PagePlan, SitePlan
from dpviz.publishing.visits import ABOVE, HIDDEN, visit
from dpviz.publishing.written import Writer, headline
from dpviz.ui.export.states import state_of
from dpviz.ui.server.background import background
from dpviz.ui.server.worker import end_with_parent

_LISTED = "files.json"  # what the last run wrote into the site
_PART = 25  # states that a process makes at a time


class SiteFolderError(ValueError):
    """A folder that holds what this command did not write."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One state of a page: what it is called in the site, and the link that opens it in the app."""

    page: str  # of the app
    folder: str  # of the site
    tab: str
    name: str  # mode.seed.audience.stop, by number; or `ASKED`
    link: tuple[tuple[str, str], ...]

    def key(self) -> str:
        """Return what the state follows from: the link, and this version's own source."""
        return hashlib.sha256(repr((source_digest(), self.page, self.folder, self.tab, self.link)).encode()).hexdigest()


@cache
def source_digest() -> str:
    """Return a digest of the package's source, data and scripts."""
    digest = hashlib.sha256()
    for path in sorted(ASSETS.parent.rglob("*")):
        if path.suffix in {".py", ".json", ".css", ".npz", ".toml"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def publish(folder: Path, plan: SitePlan, *, jobs: int = 1, say: Callable[[str], None] = print) -> int:
    """Write the site of a plan into `folder`; return how many states were made, the others being there already.

    `jobs` is how many processes work: 1 is this one alone. What is made is kept beside the folder, in one of the same
    name with `.kept`, so that a run that was ended goes on. Pages that an earlier plan had are removed. Raises
    SiteFolderError where the folder holds something else.
    """
    kept = kept_beside(folder)
    listed = kept / _LISTED
    if not listed.exists() and folder.exists() and any(folder.iterdir()):
        raise SiteFolderError(f"The folder {folder} holds other files. Name a new folder, or empty this one.")
    kept.mkdir(parents=True, exist_ok=True)
    earlier = json.loads(listed.read_text("utf-8")) if listed.exists() else []
    listed.write_text(json.dumps(earlier), "utf-8")
    plan = replace(plan, article=titled(plan))
    visits = {page.folder: list(every_state(page)) for page in plan.pages}
    missing = [
        lacking
        for page in plan.pages
        for lacking in _parted([each for each in visits[page.folder] if not (kept / each.key()).exists()], page)
    ]
    _make(missing, kept, plan.folders, jobs, say)
    _remove(folder, earlier)
    for page in plan.pages:
        made = {each.name: pickle.loads((kept / each.key()).read_bytes()) for each in visits[page.folder]}
        write_page(folder, page, made, plan)
    write_common(folder)
    if plan.article:
        write_article(folder, plan, partial(_said, kept, visits))
    written = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    listed.write_text(json.dumps(written), "utf-8")
    wanted = {each.key() for some in visits.values() for each in some} | {_LISTED}
    for path in kept.iterdir():
        if path.name not in wanted:
            path.unlink()
    return sum(map(len, missing))


def _said(kept: Path, visits: Mapping[str, Sequence[Visit]], folder: str, stop: str) -> str:
    """Return the headline that a page opens with at a stop of its slider, as plain words."""
    state = next(each for each in visits[folder] if (BUDGET, stop) in each.link)
    return headline(pickle.loads((kept / state.key()).read_bytes())[0])


def kept_beside(folder: Path) -> Path:
    """Return where states are kept: beside the site, so that who copies the site copies nothing else."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.kept")


def _remove(folder: Path, names: Sequence[str]) -> None:
    """Remove files of an earlier run, and the folders that they leave empty."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    for path in sorted((each for each in folder.rglob("*") if each.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()


def every_state(page: PagePlan) -> Iterator[Visit]:
    """Yield a page's states; baselines and other modes than the first have the first seed alone."""
    stops = page.stops or (_stops(page) if page.knob else ("",))
    fixed = {**page.link, "hide": HIDDEN if page.tab else ABOVE}
    if page.asks:
        yield Visit(page.page, page.folder, page.tab, ASKED, tuple(sorted(fixed.items())))
    for (m, mode), (s, seed), (a, audience) in product(
        enumerate(page.modes or ("",)), enumerate(page.seeds or (None,)), enumerate(page.audiences)
    ):
        if m and s:
            continue
        link = {**fixed, "audience": audience}
        link |= {} if seed is None else {"noise_seed": str(seed)}
        link |= {page.mode: mode} if mode else {}
        for i, stop in enumerate(stops):
            link |= {page.knob: stop} if page.knob else {}
            yield Visit(page.page, page.folder, page.tab, f"{m}.{s}.{a}.{i}", tuple(sorted(link.items())))


def _stops(page: PagePlan) -> tuple[str, ...]:
    """Return all values of a page's slider; what it shows need not be ready."""
    opened = {**page.link, "hide": ABOVE, **({page.knob: "1"} if page.asks else {})}
    slider = Writer(lambda *_: None).write(visit(page.page, opened, wait=False)).slider
    if slider is None:
        raise KeyError(page.knob)
    return tuple(f"{value:g}" for value in slider["values"])


def _parted(missing: list[Visit], page: PagePlan) -> Iterator[list[Visit]]:
    """Yield parts of a page's states that one process makes: all of them where they share long work."""
    size = _PART if page.page in CATALOGUE else max(1, len(missing))
    yield from (missing[i : i + size] for i in range(0, len(missing), size))


def _make(
    missing: list[list[Visit]], kept: Path, folders: Sequence[str], jobs: int, say: Callable[[str], None]
) -> None:
    """Make states in several processes, each of which opens the app again and again."""
    if not missing:
        return
    done, all_of_them = 0, sum(map(len, missing))
    if jobs <= 1:
        for part in missing:
            make(part, kept, folders)
            done += len(part)
            say(f"{done} of {all_of_them} states made")
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
        running = {pool.submit(make, part, kept, folders): len(part) for part in missing}
        for each in as_completed(running):
            each.result()
            done += running[each]
            say(f"{done} of {all_of_them} states made")


def _end_with_parent() -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()


def make(part: Sequence[Visit], kept: Path, folders: Sequence[str]) -> None:
    """Make states and keep each: all of it or nothing, whenever the run ends."""
    try:
        for wanted in part:
            writer = Writer(partial(address, wanted.folder, folders=folders), frozenset(dict(wanted.link)))
            page = writer.write(visit(wanted.page, dict(wanted.link)), wanted.tab)
            path = kept / wanted.key()
            whole = path.with_suffix(f".{os.getpid()}")
            whole.write_bytes(pickle.dumps((page, state_of(page.frame, page.leaves, page.pictures))))
            whole.replace(path)
    finally:
        background().close()  # a process that has one of its own would wait for it at its end, for ever
