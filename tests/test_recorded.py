"""Seeded runs have the same releases and pictures, to the bit, as when their hashes were recorded."""

import importlib
import json
import subprocess
import sys

import pytest

from tests import recorded
from tests.another_process import another_process

UNKNOWN = (
    "tests/recorded.json has no hashes for this machine's arithmetic or libraries. Check on this machine that nothing "
    "has changed since a revision that is right: python -m tests.recorded --against REV. Then write down the hashes of "
    "this kind, too: python -m tests.recorded."
)


def hashes_here():
    found = recorded.kept().get(recorded.arithmetic())
    if found is None:
        pytest.fail(UNKNOWN)
    return found


@pytest.fixture(scope="module")
def kept():
    return hashes_here()


@pytest.fixture(scope="module")
def here():
    return recorded.here()


@pytest.mark.parametrize("what", recorded.KINDS)
def test_hashes_are_those_that_were_written_down(what, here, kept):
    assert recorded.changed(getattr(here, what), getattr(kept, what)) == []


def test_another_processor_and_more_threads_give_the_same_bits(here):
    assert recorded.computed(settings=recorded.ELSEWHERE) == here


def test_another_seed_is_another_release(kept, monkeypatch):
    monkeypatch.setattr(recorded, "SEED", recorded.SEED + 1)
    monkeypatch.setattr(recorded, "modes", lambda _: ({},))
    found = recorded.releases()
    others = recorded.changed(found, {case: kept.releases[case] for case in found})
    assert len(others) > 0.9 * len(found)  # all but those without noise, such as Lloyd's


def test_the_tests_fail_where_this_machine_has_no_hashes(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FILE", tmp_path / "recorded.json")
    recorded.FILE.write_text(json.dumps({"another": {"releases": {}, "pictures": {}, "datasets": {}}}), "utf-8")
    with pytest.raises(pytest.fail.Exception, match="--against REV"):
        hashes_here()


def test_a_skipped_hash_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(recorded.FILE.parent))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_recorded.py").write_text("import pytest\ndef test_hash(): pytest.skip('')\n", "utf-8")
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "tests"]
    subprocess.run([*command, f"--junitxml={report}"], cwd=tmp_path, capture_output=True, check=True)
    assert importlib.import_module("run").read_counts(report) == (0, 1, 0)


def test_another_process_computes_as_this_one(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX2")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with another_process() as run:
        told = run(tmp_path, "import os; print(*(os.environ[key] for key in os.environ if key.startswith(('O', 'N'))))")
    assert {"Haswell", "AVX2", "2"} <= {*told.stdout.split()}, told


def test_a_revision_is_compared_on_this_machine(monkeypatch, capsys):
    def computed(root=recorded.ROOT):
        found = {"a": "1", "b": "2" if root == recorded.ROOT else "3"}
        assert (root / "dpviz" / "__init__.py").is_file()
        return recorded.Hashes("here", found, {}, {})

    monkeypatch.setattr(recorded, "computed", computed)
    assert recorded.against("HEAD") == 1
    assert capsys.readouterr().out.splitlines() == ["releases, other: b", "Hashes that differ from HEAD: 1."]
    assert recorded.against("no-such-revision") == 2
