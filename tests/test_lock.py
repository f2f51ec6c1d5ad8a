"""The lock file holds one version of everything that requirements.txt brings along, with checksums."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement

from tests.test_licenses import REQUIREMENTS, app_needs

LOCKED = (Path(__file__).resolve().parents[1] / "requirements.lock").read_text("utf-8")
# The other machines that the app runs on; `brought` lists the packages that this one needs.
MACHINES = [{}, {"sys_platform": "win32", "platform_system": "Windows"}, {"sys_platform": "darwin"}]


def pins(lock):
    """Return (pinned package, its checksums) for each entry."""
    entries = [entry for entry in re.split(r"\n(?=\S)", lock) if entry[:1].isalpha()]
    return [
        (Requirement(re.split(r"\s*\\\n|\s+--hash", entry)[0]), re.findall(r"--hash=(\S+)", entry)) for entry in entries
    ]


def problems(requirements, lock, needed):
    """Return one sentence for each way in which a lock does not fit."""
    found = [
        f"{pin} has no good checksum"
        for pin, hashes in pins(lock)
        if not hashes or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes)
    ]
    for machine in MACHINES:
        here = [
            pin
            for pin, _ in pins(lock)
            if pin.marker is None or pin.marker.evaluate({**default_environment(), **machine})
        ]
        versions = {pin.name.lower(): str(pin.specifier).removeprefix("==") for pin in here}
        if len(versions) < len(here):
            found.append("two versions of one package meet")
        wanted = [Requirement(line.split("#")[0]) for line in requirements.splitlines() if line[:1].isalpha()]
        for each in wanted:
            if each.marker is not None and not each.marker.evaluate({**default_environment(), **machine}):
                continue
            pinned = versions.get(each.name.lower())
            if pinned is None or not each.specifier.contains(pinned):
                found.append(f"{each.name} is {pinned}, but {each.specifier} is wanted")
        if not machine:
            found += [f"{name} is missing" for name in sorted(needed - versions.keys())]
    return found


def brought_along():
    """Return the dependencies of the locked versions; nothing if different versions are installed."""
    locked = {(pin.name.lower(), str(pin.specifier)) for pin, _ in pins(LOCKED)}
    needed = app_needs().keys()
    same = all((name, f"=={version(name)}") in locked for name in needed if name in dict(locked))
    return needed if same else set()


def test_it_fits_what_is_required_and_names_no_place_to_install_from():
    assert problems(REQUIREMENTS, LOCKED, brought_along()) == []
    assert not re.search(r"://|index-url|find-links|trusted-host", LOCKED)


@pytest.mark.parametrize(
    ("requirements", "lock", "words"),
    [
        (REQUIREMENTS.replace("segno>=1.6.6,<2", "segno>=1.9,<2"), LOCKED, "segno is"),
        (REQUIREMENTS + "harmless>=1\n", LOCKED, "harmless is None"),
        (REQUIREMENTS, re.sub(r"^llvmlite==.*\n(?: .*\n)*", "", LOCKED, flags=re.MULTILINE), "llvmlite is missing"),
        (REQUIREMENTS, LOCKED.replace("--hash=sha256:", "--hash=md5:", 1), "checksum"),
        (REQUIREMENTS, LOCKED + "segno==1.6.7 --hash=sha256:" + "0" * 64 + "\n", "two versions"),
    ],
)
def test_a_lock_that_does_not_fit_is_told(requirements, lock, words):
    assert any(words in each for each in problems(requirements, lock, app_needs().keys()))
