"""The README is true: its commands are the ones that run, its files exist, its example works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
ROOMS = sorted(path.name for path in ROOT.glob("dpviz/[!_]*") if path.suffix == ".py" or any(path.glob("*.py")))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, f"the README has no section {title}"
    return found[1]


def quick_start(language: str = "sh") -> list[str]:
    found = FENCE.findall(section("Quick start"))
    return [line for name, block in found if name == language for line in block.splitlines() if line.strip()]


def blocks(language: str) -> list[str]:
    return [block for name, block in FENCE.findall(README) if name == language]


def mentioned_files() -> set[str]:
    text = FENCE.sub("", README)
    links = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text)
    quoted = [word for word in re.findall(r"`([^`\s]+)`", text) if re.search(r"/|\.(py|txt|md|toml)$", word)]
    return {name for name in [*links, *quoted] if not name.startswith(("http:", "https:", ".venv"))}


def test_there_are_exactly_two_commands() -> None:
    run, test = quick_start()
    assert "-r requirements.txt" in run
    assert run.endswith("streamlit run app.py")
    assert "tests/run" in test
    assert blocks("sh") == [run + "\n", test + "\n"]
    assert blocks("") == []
    files = [word for command in (run, test) for word in command.split() if re.search(r"\.(py|txt)$", word)]
    assert files == ["requirements.txt", "app.py", "tests/run.py"]
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert "`--require-hashes -r requirements.lock`" in section("Quick start")


def test_windows_has_the_same_steps() -> None:
    (command,) = quick_start("powershell")
    inside = ".venv\\Scripts\\"
    steps = ["py -m venv .venv", f"{inside}python -m pip install -r requirements.txt", f"{inside}streamlit run app.py"]
    assert command.split("; ") == steps  # && is unknown to the PowerShell that every Windows has


def test_continuous_integration_runs_the_test_command_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    code = [line for line in lines if line and not line.startswith(("#", "set ", "cd ", "export "))]
    assert code == [quick_start()[1]]


def test_every_file_that_it_or_contributing_mentions_exists():
    mentioned = mentioned_files()
    assert {"assets/convergent_kmeans.png", "LICENSE", "dpviz/core", "pyproject.toml"} <= mentioned
    assert sorted(name for name in mentioned if not (ROOT / name).exists()) == []
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    files = set(re.findall(r"(?:tests|dpviz|benchmarks)/[\w/.]*\w\.\w+", text))
    assert {"tests/test_house.py", "tests/plugin/__init__.py", "tests/one_record.py"} <= files
    assert sorted(name for name in files if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("room", ROOMS)
def test_it_shows_where_every_part_lives(room: str) -> None:
    assert f"`dpviz/{room}`" in section("How the repository is laid out")


@pytest.mark.parametrize("page", sorted(path.stem for path in ROOT.glob("pages/*.py")))
def test_it_names_every_page(page: str) -> None:
    letters = re.sub(r"[^a-z]", "", section("What you can do today").lower())
    assert re.sub(r"[^a-z]", "", page) in letters


def test_its_benchmarks_exist_and_exclamation_marks_belong_to_code():
    assert "python -m benchmarks" in section("Benchmarks")
    assert (ROOT / "benchmarks" / "__main__.py").is_file()
    assert "!" not in FENCE.sub("", README).replace("![", "[").replace("<!--", "")


def test_the_example_runs_and_prints_what_it_says() -> None:
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line]) <= 12
    done = subprocess.run([sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[") == 6  # five centers, one array
    assert "ε = 1, add or remove one record" in done.stdout
