"""The privacy boundary is a type: the checker accepts a release and refuses a step, whatever the step looks like."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SNIPPET = ROOT / "tests" / "types" / "release_boundary.py"
IGNORE = "  # type: ignore[arg-type]"


def check(path: Path | None) -> tuple[int, str]:
    """Run mypy on a file, or on the package where none is given; it reads again what has changed since it last ran."""
    command = [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", "--no-pretty"]
    command += ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    command += [] if path is None else [str(path)]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_package_is_typed() -> None:
    code, output = check(None)
    assert code == 0, output


def test_a_release_is_accepted_and_everything_else_is_refused() -> None:
    code, output = check(SNIPPET)
    assert code == 0, output


def test_without_the_ignores_every_refused_line_is_an_error(tmp_path: Path) -> None:
    lines = SNIPPET.read_text().splitlines()
    ignored = [number for number, line in enumerate(lines, start=1) if line.endswith(IGNORE)]
    copy = tmp_path / "release_boundary.py"
    copy.write_text("\n".join(line.removesuffix(IGNORE) for line in lines) + "\n")
    code, output = check(copy)
    assert code == 1, output
    assert len(ignored) >= 21
    found = {int(line.split(":")[1]) for line in output.splitlines() if line.endswith("[arg-type]")}
    assert found == set(ignored), output


def test_an_ignore_on_an_accepted_line_is_reported(tmp_path: Path) -> None:
    copy = tmp_path / "release_boundary.py"
    copy.write_text(
        SNIPPET.read_text().replace("    attack(centers)\n    attack(points)", "    attack(centers)" + IGNORE)
    )
    code, output = check(copy)
    assert code == 1, output
    assert 'Unused "type: ignore" comment' in output
