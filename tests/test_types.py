"""The privacy boundary is a type: the checker accepts a release and refuses a step, of any type."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = ROOT / "tests" / "types" / "release_boundary.py"
IGNORE = "  # type: ignore[arg-type]"
BARE, TOO_MANY = "bare_boundary.py", "ignored_boundary.py"  # the snippet without its ignores, and with one too many


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Return mypy's messages about each file, {name: lines}: of the package, of the snippet, and of two wrong copies.

    It reads all of them at once, and keeps nothing: a second look would cost more than it saves.
    """
    folder, text = tmp_path_factory.mktemp("copies"), SNIPPET.read_text()
    (folder / BARE).write_text(text.replace(IGNORE, ""))
    (folder / TOO_MANY).write_text(
        text.replace("    attack(centers)\n    attack(points)", "    attack(centers)" + IGNORE)
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--no-pretty"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", os.devnull]
    command += ["dpviz", str(SNIPPET), str(folder / BARE), str(folder / TOO_MANY)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr  # errors, of the copies at least, and no crash
    assert "checked" in done.stdout.splitlines()[-1], done.stdout
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines()[:-1]:
        found.setdefault(Path(line.partition(":")[0]).name, []).append(line)
    return found


def test_the_package_is_typed_and_a_release_is_accepted(said: Mapping[str, list[str]]) -> None:
    wrong = [line for name, lines in said.items() if name not in (BARE, TOO_MANY) for line in lines]
    assert not wrong, "\n".join(wrong)


def test_every_refused_line_and_every_needless_ignore_is_an_error(said):
    ignored = [number for number, line in enumerate(SNIPPET.read_text().splitlines(), start=1) if line.endswith(IGNORE)]
    assert len(ignored) >= 21
    found = {int(line.split(":")[1]) for line in said[BARE] if line.endswith("[arg-type]")}
    assert found == set(ignored), said[BARE]
    assert any('Unused "type: ignore" comment' in line for line in said[TOO_MANY]), said[TOO_MANY]
