"""Check the subjects of commits: python3 tests/commit_message.py FILE, or a range such as origin/main..HEAD."""

import subprocess
import sys
from pathlib import Path

LONGEST = 72
WORDS = """
Accept Adapt Add Align Allocate Allow Annotate Append Apply Arrange Ask Assert Assign Avoid Await Balance Begin
Block Bound Bring Build Bump Bundle Cache Calculate Call Carry Catch Change Check Clean Clear Clip Close Collect
Color Combine Commit Compare Complete Compress Compute Configure Connect Convert Copy Correct Count Cover Create
Cut Decide Declare Decode Deduplicate Default Defer Define Delay Delete Deprecate Describe Detect Disable
Display Divide Document Download Draw Drive Drop Edit Enable Encode End Enforce Enlarge Ensure Estimate Evaluate
Exclude Expand Expect Explain Export Expose Extend Extract Fall Fill Filter Find Finish Fit Fix Flatten Fold
Follow Force Forget Format Generalize Generate Give Group Guard Guess Handle Help Hide Highlight Hold Identify
Ignore Implement Import Improve Include Indent Infer Initialize Inline Insert Install Introduce Invert Isolate
Join Judge Keep Key Label Layer Learn Leave Let Limit Link Lint List Load Lock Log Lower Make Map Mark Mask
Match Measure Mention Merge Migrate Mirror Mock Move Name Normalize Note Notice Number Offer Omit Open Optimize
Order Pack Paint Pair Parametrize Parse Pass Permit Pick Pin Place Play Plot Point Polish Post Prefer Prepare
Preserve Prevent Print Promote Propose Protect Prove Publish Put Quote Raise Randomize Rank Reach Read Rebuild
Recognize Recommend Recompute Record Redirect Reduce Refactor Refer Refine Refresh Refuse Regenerate Register
Reject Release Rely Remove Rename Render Reorder Reorganize Repeat Replace Replay Report Require Reset Resize
Resolve Restore Resume Retry Return Reuse Reveal Revert Reword Rewrite Round Run Sample Save Say Scale Scroll
Search Seed Select Send Separate Serve Set Share Shift Shorten Show Shrink Shuffle Sign Simplify Size Skip
Smooth Solve Sort Specify Speed Spell Split Standardize Start State Stay Step Stop Store Strengthen Style
Subtract Suggest Sum Support Suppress Switch Take Tell Test Thin Tighten Time Trace Track Transform Translate
Treat Trim Trust Try Tune Turn Type Uncover Undo Unfold Unify Unlock Unpack Update Upgrade Upload Use Validate
Vary Verify View Visit Wait Walk Warn Weigh Widen Wire Withdraw Word Wrap Write Zoom
"""
VERBS = frozenset(WORDS.split())


def find_problem(subject: str) -> str | None:
    """Return a sentence about the problem in the first line of a commit message, or None."""
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
