"""Sections of docstrings agree with the signatures."""

import subprocess
import sys


def run_pydoclint(path):
    return subprocess.run(
        [sys.executable, "-m", "pydoclint.main", "--config=pyproject.toml", str(path)], capture_output=True, text=True
    )


def test_sections_agree_with_signatures():
    done = run_pydoclint("dpviz")
    assert done.returncode == 0, done.stderr


def test_a_section_with_a_wrong_name_is_found(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(
        'def add(a: int) -> None:\n    """Add.\n\n    Parameters\n    ----------\n    b\n        Number.\n    """\n'
    )
    assert "DOC103" in run_pydoclint(path).stderr
