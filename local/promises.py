"""Step of `make check` that compares the contract with the last release and checks commit subjects.

The last release is the commit that set `__version__` in `shared/redpacket/__init__.py`, because a
clone may lack tags. A version below 1.0 or with a suffix (`2.0.0.dev0`) promises nothing. A folder
without Git has nothing to compare. A shallow clone first fetches the rest of its history.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from local import places
from local.contract import breaks
from local.errors import StackError

SOURCE = "shared/redpacket/__init__.py"
SUBJECT_MAX = 72
"""Maximum number of characters in the first line of a commit message."""

_CHANGED = ("-G^__version__", "--", SOURCE)
_PROMISED = re.compile(r'^__version__ = "[1-9]\d*\.\d+\.\d+"$', re.MULTILINE)


def check(root: Path) -> str:
    """Return a summary of the checks.

    Raises StackError with a list of broken promises and subjects that are too long.
    """
    if not _PROMISED.search((root / SOURCE).read_text(encoding="utf-8")):
        return "No version is promised yet."
    if not (root / ".git").exists():
        return "No history here: neither the contract nor commits are compared."
    if _git(root, "rev-parse", "--is-shallow-repository") == "true":
        _fetch_history(root)
    # An uncommitted version change makes this tree a new release.
    is_new = bool(_git(root, "diff", "--name-only", "HEAD", *_CHANGED))
    since = "HEAD" if is_new else last_release(root)
    broken = long_subjects(root, f"{since}..")
    if not is_new:
        released = json.loads(_git(root, "show", f"{since}:openapi.json"))
        broken += breaks(released, json.loads((root / "openapi.json").read_text(encoding="utf-8")))
    if broken:
        raise StackError("\n".join(broken))
    return f"openapi.json keeps everything that {since} promised."


def last_release(root: Path, at: str = "HEAD") -> str:
    """Return the commit that set the version at *at*, or "" if the version promises nothing."""
    commit = _git(root, "log", "-1", "--format=%h", at, *_CHANGED)
    return commit if _PROMISED.search(_git(root, "show", f"{commit}:{SOURCE}")) else ""


def long_subjects(root: Path, commits: str) -> list[str]:
    """Return subjects that are too long; skip merges, whose subjects a tool writes."""
    subjects = _git(root, "log", "--no-merges", "--format=%h %s", commits).splitlines()
    longer = (each for each in subjects if len(each.partition(" ")[2]) > SUBJECT_MAX)
    return [f"a subject has more than {SUBJECT_MAX} characters: {each}" for each in longer]


def _fetch_history(root: Path) -> None:
    try:
        _git(root, "fetch", "--quiet", "--unshallow")
    except subprocess.CalledProcessError as error:
        raise StackError(
            "this clone is shallow, so the last release is missing, and `git fetch --unshallow` "
            f"failed: {error.stderr.strip()}"
        ) from error


def _git(root: Path, *words: str) -> str:
    # In a container, the checkout may belong to another user.
    command = ["git", "-c", f"safe.directory={root.resolve()}", *words]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return run.stdout.strip()


if __name__ == "__main__":
    try:
        print(check(places.ROOT))
    except StackError as error:
        sys.exit(f"make promises: {error}")
