"""Everything that the app brings along is under a license that asks no more than the project's own, MIT."""

import re
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "docs" / "licenses.md"
REQUIREMENTS = (ROOT / "requirements.txt").read_text("utf-8")
# Identifiers of SPDX that ask for a notice at most.
_NOTICE = "MIT MIT-CMU 0BSD BSD-2-Clause BSD-3-Clause Apache-2.0 PSF-2.0 ISC Zlib CC0-1.0"
PERMISSIVE = {*_NOTICE.split(" "), "Apache-2.0 WITH LLVM-exception"}
# Changed files stay under it; code that uses them does not fall under it.
FILE_BY_FILE = {"certifi": "MPL-2.0"}  # the root certificates, a table; Streamlit's own dependency brings it
# Licenses of packages without an expression, in their own words or as a classifier.
WORDS = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
Find = Callable[[str], Distribution]


def license_of(found: Distribution) -> str:
    """Return the license as an SPDX expression, or a distribution's own words where they are not known."""
    said = found.metadata
    if expression := said.get("License-Expression"):
        return str(expression)
    classified = [each.split(" :: ")[-1] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    words = classified or [(said.get("License") or "").strip().split("\n")[0] or "none"]
    return " AND ".join(dict.fromkeys(WORDS.get(each, each) for each in words))


def brought(requirements: str, find: Find = distribution) -> Iterator[tuple[str, str]]:
    """Yield (name, license) of all that requirements bring along on this machine, each once."""
    waiting = [Requirement(line.split("#")[0]) for line in requirements.splitlines() if line[:1].isalpha()]
    seen = set()
    while waiting:
        wanted = waiting.pop()
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if name in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        found = find(name)
        waiting += [Requirement(each) for each in found.requires or []]
        yield name, license_of(found)


def too_strong(name: str, expression: str) -> bool:
    """Check whether a license requires more than a notice. For alternatives one suffices, for a sum all count."""
    if FILE_BY_FILE.get(name) == expression:
        return False
    return not any(
        all(part.strip("() ") in PERMISSIVE for part in either.split(" AND ")) for either in expression.split(" OR ")
    )


def app_needs() -> dict[str, str]:
    return dict(brought(REQUIREMENTS))


def test_nothing_required_or_listed_is_under_a_stronger_license():
    found = app_needs()
    assert len(found) > 30
    assert {name: said for name, said in found.items() if too_strong(name, said)} == {}
    listed = dict(re.findall(r"^\| ([\w.-]+) \| ([^|]+?) \|$", LISTED.read_text("utf-8"), re.MULTILINE))
    required = {re.split(r"[^\w-]", line)[0] for line in REQUIREMENTS.splitlines() if line[:1].isalpha()}
    assert required <= listed.keys()
    assert not [name for name, said in listed.items() if name != "package" and too_strong(name, said)]
    # A later version of one of theirs may bring another package.
    assert [name for name in required & found.keys() if found[name] != listed[name]] == []


@pytest.mark.parametrize(
    "said", ["GPL-3.0-or-later", "LGPL-3.0", "AGPL-3.0-only", "MPL-2.0", "MIT AND GPL-2.0-only", "none", "Proprietary"]
)
def test_stronger_ones_are_seen(said):
    assert too_strong("planted", said)
    assert not too_strong("planted", f"{said} OR MIT")


def test_a_dependency_of_a_dependency_is_seen(tmp_path):
    texts = {
        "first": "Name: first\nVersion: 1\nLicense-Expression: MIT\nRequires-Dist: second>=1\n",
        "second": "Name: second\nVersion: 1\nClassifier: License :: OSI Approved :: GNU General Public License v3\n",
    }
    for name, text in texts.items():
        folder = tmp_path / f"{name}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\n{text}", "utf-8")
    found = dict(brought("first>=1", lambda name: Distribution.at(tmp_path / f"{name}-1.dist-info")))
    assert [name for name, said in found.items() if too_strong(name, said)] == ["second"]
    with pytest.raises(PackageNotFoundError):
        list(brought("there-is-none"))
