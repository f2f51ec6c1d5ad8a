"""The command `dpviz publish` writes the app's pages as a static web site, with every state of a plan as files."""

import argparse
import hashlib
import json
import logging
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from dpviz.assets import FOLDER as ASSETS
from dpviz.core import immutable_value
from dpviz.methods import CATALOGUE
from dpviz.plots.page import state_of
from dpviz.publishing.files import ASKED, address, article_title, write_article, write_common, write_page
from dpviz.publishing.pages import ABOVE, HIDDEN, Writer, bands_of, data_of, visit
from dpviz.publishing.plan import AUDIENCES, BUDGET, PagePlan, PlanError, SitePlan, default_plan, read_plan
from dpviz.ui.asking import background
from dpviz.ui.server.worker import watch_parent

# Packages of the extra `publish`.
EXTRA = ("markdown_it", "latex2mathml", "rjsmin", "rcssmin")
MISSING = "The site needs the extra `publish`: pip install 'dpviz[publish]'."
# File in the cache that lists the files of the last run.
_FILES = "files.json"
# Streamlit would warn for each page that it is drawn without a server. Set here, so that it applies in every process.
logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True
# Number of states that a process makes at a time.
_PART = 25


class SiteFolderError(ValueError):
    """A folder with files that this command did not write, or a folder that cannot be used."""


@immutable_value
class Visit:
    """One state of a page: its name in the site, and its link in the app."""

    # Page of the app.
    page: str
    # Folder in the site.
    folder: str
    tab: str
    # mode.seed.audience.stop, by number; or `ASKED`.
    name: str
    link: tuple[tuple[str, str], ...]
    # Values of the slider whose bands of losses are computed with this state.
    banded: tuple[float, ...] = ()

    def key(self) -> str:
        """Return a digest of everything that determines the state: its link, and this version's source."""
        return hashlib.sha256(
            repr((source_digest(), self.page, self.folder, self.tab, self.link, self.banded)).encode()
        ).hexdigest()


@cache
def source_digest() -> str:
    """Return a digest of the package's source, data and scripts."""
    digest = hashlib.sha256()
    for path in sorted(ASSETS.parent.rglob("*")):
        if path.suffix in {".py", ".json", ".css", ".npz", ".toml"}:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main(arguments: Sequence[str]) -> int:
    """Write a site according to the arguments; return 0, or 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="dpviz publish", description="Write the app's pages as a static web site.")
    parser.add_argument("folder", type=Path, help="the site's folder; a second run makes only changed parts")
    parser.add_argument("--config", type=Path, help="a TOML file: pages, data, modes, seeds and stops")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {options.jobs}.")
    if absent := [name for name in EXTRA if find_spec(name) is None]:
        print(f"{MISSING} ({', '.join(absent)}: not installed)", file=sys.stderr)
        return 2
    try:
        plan = read_plan(options.config) if options.config else default_plan()
        n_states = publish(options.folder, plan, jobs=options.jobs)
    except (PlanError, SiteFolderError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{n_states} states made. Open {options.folder / 'index.html'}, or serve the folder.")
    return 0


def publish(folder: Path, plan: SitePlan, *, jobs: int = 1, say: Callable[[str], None] = print) -> int:
    """Write the site of a plan into `folder`; return the number of new states. Other states are cached.

    `jobs` is the number of processes; 1 means this process alone. States are cached next to the folder, in a folder of
    the same name with `.kept`, so that an interrupted run continues. Pages of an earlier plan are removed. Raises
    SiteFolderError if the folder contains other files, or cannot be used.
    """
    states = cache_of(folder)
    listing = states / _FILES
    try:
        if not listing.exists() and folder.exists() and any(folder.iterdir()):
            raise SiteFolderError(f"The folder {folder} has other files in it. Choose a new folder, or empty this one.")
        states.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SiteFolderError(f"The folder {folder} cannot be used ({error.strerror}). Name a new folder.") from None
    earlier = json.loads(listing.read_text("utf-8")) if listing.exists() else []
    listing.write_text(json.dumps(earlier), "utf-8")
    plan = replace(plan, article=article_title(plan))
    visits = {page.folder: list(every_state(page)) for page in plan.pages}
    # Missing states. One process makes each part.
    parts: list[list[Visit]] = []
    for page in plan.pages:
        missing = [each for each in visits[page.folder] if not (states / each.key()).exists()]
        # States of other pages share long computations.
        size = _PART if page.page in CATALOGUE else max(1, len(missing))
        parts += [missing[i : i + size] for i in range(0, len(missing), size)]
    n_missing, n_done = sum(map(len, parts)), 0
    if jobs <= 1 or not parts:
        for part in parts:
            make(part, states, plan.folders)
            n_done += len(part)
            say(f"{n_done} of {n_missing} states made")
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=watch_parent) as pool:
            running = {pool.submit(make, part, states, plan.folders): len(part) for part in parts}
            for each in as_completed(running):
                each.result()
                n_done += running[each]
                say(f"{n_done} of {n_missing} states made")
    for name in earlier:
        (folder / name).unlink(missing_ok=True)
    for path in sorted((each for each in folder.rglob("*") if each.is_dir()), reverse=True):
        if not any(path.iterdir()):
            path.rmdir()
    for page in plan.pages:
        write_page(
            folder,
            page,
            {each.name: pickle.loads((states / each.key()).read_bytes()) for each in visits[page.folder]},
            plan,
        )
    write_common(folder)

    def headline(page: str, stop: str) -> str:
        state = next(each for each in visits[page] if (BUDGET, stop) in each.link)
        text: str = pickle.loads((states / state.key()).read_bytes())[0].headline
        return text

    if plan.article:
        write_article(folder, plan, headline)
    written = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    listing.write_text(json.dumps(written), "utf-8")
    current = {each.key() for some in visits.values() for each in some} | {_FILES}
    for path in states.iterdir():
        if path.name not in current:
            path.unlink()
    return n_missing


def cache_of(folder: Path) -> Path:
    """Return the folder of cached states. It is outside the site, so that copies of the site do not contain it."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.kept")


def every_state(page: PagePlan) -> Iterator[Visit]:
    """Yield a page's states. Baselines, and modes after the first, have only the first seed."""
    fixed = {**page.link, "hide": HIDDEN if page.tab else ABOVE}
    stops = page.stops or ("",)
    # Use all values of the page's slider. Its background work need not be ready.
    if page.knob and not page.stops:
        link = {**page.link, "hide": ABOVE, **({page.knob: "1"} if page.asks else {})}
        slider = Writer(lambda *_: None).write(visit(page.page, link, wait=False)).slider
        if slider is None:
            raise KeyError(page.knob)
        stops = tuple(f"{value:g}" for value in slider["values"])
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
            # Bands belong to a mode: they are the same for every seed and at all stops.
            first = page.knob == BUDGET and (s, i, audience) == (0, 0, AUDIENCES[0])
            banded = tuple(map(float, stops)) if first else ()
            yield Visit(page.page, page.folder, page.tab, f"{m}.{s}.{a}.{i}", tuple(sorted(link.items())), banded)


def make(part: Sequence[Visit], states: Path, folders: Sequence[str]) -> None:
    """Make states and cache each atomically, because a run can end at any time."""
    try:
        for each in part:
            writer = Writer(partial(address, each.folder, folders=folders), frozenset(dict(each.link)))
            main = visit(each.page, dict(each.link))
            page = writer.write(main, each.tab)
            page.bands = bands_of(main, each.banded) if each.banded else page.bands
            page.data = data_of(main)
            path = states / each.key()
            whole = path.with_suffix(f".{os.getpid()}")
            whole.write_bytes(pickle.dumps((page, state_of(page.frame, page.leaves, page.pictures))))
            whole.replace(path)
    finally:
        # Otherwise a process with a background process would wait for it forever.
        background().close()
