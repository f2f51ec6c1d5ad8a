"""Everyone's view of neighboring files: with equal releases, every message and every export is equal to the byte."""

import hashlib
import secrets
import sys
import uuid
from collections import Counter
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import local_script_runner

from dpviz.mechanisms import public_rng
from dpviz.tools.audit import runs as audit_tasks
from dpviz.tools.compare import runs as compare_tasks
from dpviz.ui import live, release_ledger, runs
from dpviz.ui.export.files import FORMATS, PICTURED, ExportRequest, make
from tests.pages.conftest import FILES, FIRST, LAPLACE, LINKED, at_once, release, typed
from tests.pages.test_every_export import QUICK

ROWS = np.random.default_rng(8).random((60, 2)).round(3) * [80.0, 9000.0] + [10.0, 500.0]
ADDED = np.vstack([ROWS, [[11.5, 600.0]]])
REPLACED = np.vstack([ROWS[:-1], [[11.5, 600.0]]])
FEWER = np.random.default_rng(9).random((44, 2))
# Pages without records. Home, which the app alone draws, shows only the name of a file.
BESIDE = [name for name in FILES if name not in (*LINKED, "home")]
BOUNDS = {"age from": (0.0, 100.0), "income from": (0.0, 10_000.0)}


@pytest.fixture
def listen(monkeypatch):
    """Return a function that starts a list of all later messages of a session. Chance is the same in each session."""
    session = SimpleNamespace(messages=[], calls=Counter())
    queue = local_script_runner.ForwardMsgQueue
    enqueue = queue.enqueue

    def hear(self, message):
        session.messages.append(message.SerializeToString(deterministic=True))
        enqueue(self, message)

    def drawn(n=32):
        site = sys._getframe(1).f_code.co_filename[-12:], sys._getframe(1).f_lineno
        session.calls[site] += 1
        return f"{site[1] * 1000 + session.calls[site]:0{2 * n}x}"

    def listen(*, anew=False):
        session.messages = []
        if anew:
            session.calls.clear()
        return session.messages

    monkeypatch.setattr(queue, "enqueue", hear)
    for module, name in ((secrets, "token_hex"), (secrets, "token_urlsafe"), (live, "token_hex")):
        monkeypatch.setattr(module, name, drawn)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=session.calls.total()))
    return listen


def over_records(value, n, n_new):
    """Return a step with each array over n records over `n_new` records instead; all else in it is as before."""
    if isinstance(value, np.ndarray) and n in value.shape:
        return np.take(value, np.arange(n_new) % n, axis=value.shape.index(n))
    if isinstance(value, tuple):
        parts = tuple(over_records(each, n, n_new) for each in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    if not is_dataclass(value):
        return value
    held = {each.name: over_records(getattr(value, each.name), n, n_new) for each in fields(value)}
    changed = {name: new for name, new in held.items() if new is not getattr(value, name)}
    return runs.replace(value, **changed) if changed else value


@pytest.fixture
def forced(monkeypatch):
    """Let a method release about every file exactly its release about the first file."""
    first = {}

    def release_own(request, source, enter):
        data, name = source.dataset, request.algorithm.name
        if name not in first:
            first[name] = request.algorithm.fit(data.points, data.box, request.params, rng=public_rng(5))
        made = runs.replace(first[name], guarantee=runs.honest(first[name].guarantee, data, secret=True))
        if data.n != len(ROWS):
            made = runs.replace(made, trace=over_records(tuple(made.trace), len(ROWS), data.n))
        key = runs._key_of(request, source, runs.Noise(None))
        enter(made)
        runs.st.session_state.setdefault(runs._OWN_RELEASES, {})[key] = made

    monkeypatch.setattr(runs, "release_own", release_own)


def written(rows):
    return ("age,income\n" + "\n".join(f"{a},{b}" for a, b in rows.tolist())).encode()


def opened(open_page, name, rows, **link):
    fingerprint = hashlib.sha256(written(ROWS)).hexdigest()[:16]
    page = open_page(name, data=f"upload:{fingerprint}", **QUICK.get(name, {}), **link)
    return typed(page.give(written(rows)), BOUNDS)


def exports(page, monkeypatch):
    """Return every file that everyone can save of the page."""
    shown = page.shown
    if shown is None:
        return {}
    kinds = [kind for kind in FORMATS if shown.scenes or kind not in PICTURED]
    # A file is made in the page's own session.
    with monkeypatch.context() as patch:
        patch.setattr(release_ledger, "_session", lambda: page.app.session_state["dpviz:ledger"])
        return {kind: make(shown, FIRST, ExportRequest(kind, 0)).content for kind in kinds}


def check_equal(one, other):
    """Compare long lists of bytes; a message of the first difference is short."""
    differing = [(a, b) for a, b in zip_longest(one, other, fillvalue=b"") if a != b]
    assert not differing, [each[max(i - 99, 0) : i + 99] for each in differing[0] for i in [first_at(*differing[0])]]


def first_at(one, other):
    """Return the first place at which two messages differ, behind the hash that they begin with."""
    return next((i for i in range(40, min(len(one), len(other))) if one[i] != other[i]), 0)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("name", LINKED)
def test_equal_releases_of_neighbors_give_everyone_equal_bytes(open_page, listen, name, monkeypatch):
    at_once(monkeypatch, audit_tasks, compare_tasks)
    seen = []
    # Released points are as many as the records: their neighbors have one record replaced.
    for rows in (ROWS, REPLACED) if name == LAPLACE else (ROWS, REPLACED, ADDED):
        listen(anew=True)
        page = opened(open_page, name, rows)
        curators = listen()
        page = page.run() if name in QUICK else release(page)
        messages = listen()
        page.look("public")
        seen.append((curators, messages, exports(page, monkeypatch)))
    (curators, one, files), *others = seen
    assert len(one) > 10
    assert name in QUICK or files
    for others_curators, other, others_files in others:
        check_equal(one, other)
        assert files == others_files
        assert curators != others_curators, "the curator's do differ"


@pytest.mark.parametrize("name", LINKED)
def test_before_a_release_any_two_files_give_everyone_equal_bytes(open_page, listen, name, monkeypatch):
    at_once(monkeypatch, audit_tasks, compare_tasks)
    seen = []
    for rows in (ROWS, REPLACED, FEWER):
        messages = listen(anew=True)
        page = opened(open_page, name, rows, audience="public")
        seen.append((messages, exports(page, monkeypatch)))
    for messages, files in seen[1:]:
        check_equal(messages, seen[0][0])
        assert files == seen[0][1]


@pytest.mark.usefixtures("forced")
def test_pages_beside_a_release_of_neighbors_give_equal_bytes(open_page, listen):
    seen = []
    for rows in (ROWS, REPLACED, ADDED):
        listen(anew=True)
        page = release(opened(open_page, FIRST, rows)).look("public")
        messages = listen()
        for other in BESIDE:
            page.app.switch_page(f"pages/{other}.py")
            page.run()
        seen.append(messages)
    assert len(seen[0]) > 10 * len(BESIDE)
    for messages in seen[1:]:
        check_equal(messages, seen[0])
