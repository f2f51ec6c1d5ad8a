"""Check the subjects of commits: python3 tests/commit_message.py FILE, or a range such as origin/main..HEAD."""

import subprocess
import sys
from pathlib import Path

LONGEST = 72
WORDS = """
Accept Adapt Add Allow Ask Build Bump Call Change Check Clip Close Compare Compute Correct Count Cut Declare
Describe Document Draw Drop Explain Export Fix Follow Format Give Group Handle Hide Ignore Improve Include Inline
Join Keep Label Let Limit List Load Make Mark Measure Merge Move Name Open Pass Pin Point Polish Prepare Put Raise
Read Record Reduce Refuse Reject Remove Rename Repeat Replace Replay Report Require Restore Return Reuse Revert
Rewrite Round Run Save Say Scroll Search Send Set Share Shorten Show Simplify Skip Sort Speed Split Start State Stop
Store Support Take Test Track Translate Treat Try Tune Turn Type Undo Unify Update Use Verify Wait Warn Widen Write
"""
VERBS = frozenset(WORDS.split())


def find_problem(subject: str) -> str | None:
    """Return a sentence on what is wrong with the first line of a commit's message, None if nothing is."""
    if len(subject) > LONGEST:
        return f"The subject has {len(subject)} characters, but at most {LONGEST} are allowed: {subject}"
    if ";" in subject:
        return f"The subject has a semicolon; make two commits, or give the reason in the body: {subject}"
    if subject.partition(" ")[0] not in VERBS:
        return f"The subject must begin with an imperative verb such as Fix, Add, or Rename: {subject}"
    return None


def read_subjects(given: str) -> list[str]:
    """Return the first line of a file with a message, or the subjects of the commits in a range."""
    if Path(given).is_file():
        return Path(given).read_text("utf-8").splitlines()[:1] or [""]
    log = ["git", "log", "--no-merges", "--format=%s", given]
    return subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()


if __name__ == "__main__":
    problems = [problem for subject in read_subjects(sys.argv[1]) if (problem := find_problem(subject))]
    sys.exit("\n".join(problems) or 0)
