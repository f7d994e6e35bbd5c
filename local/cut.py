"""Command that cuts a release: it sets the package's version and dates the changelog.

python -m local.cut 1.2.0

`make release VERSION=1.2.0` runs this command, then derives openapi.json and the element's version.
"""

import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from local import places
from local.errors import StackError
from local.promises import SOURCE

UNRELEASED = "## [Unreleased]\n"


def cut(version: str, day: date, root: Path) -> None:
    """Set the version, and move the unreleased changes under that version. Raises StackError."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise StackError(f"{version} is not a version: use three numbers, as in 1.2.0")
    changelog, source = root / "CHANGELOG.md", root / SOURCE
    changes = changelog.read_text(encoding="utf-8")
    if f"\n## [{version}]" in changes:
        raise StackError(f"CHANGELOG.md already has {version}")
    before, heading, after = changes.partition(UNRELEASED)
    if not heading or not after.partition("\n## [")[0].strip():
        raise StackError("CHANGELOG.md has no unreleased changes")
    dated = f"{before}{heading}\n## [{version}] - {day.isoformat()}\n{after}"
    text = re.sub(
        r'^__version__ = ".*"$',
        f'__version__ = "{version}"',
        source.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    changelog.write_text(dated, encoding="utf-8")
    source.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        cut(sys.argv[1], datetime.now(UTC).date(), places.ROOT)
    except StackError as error:
        sys.exit(f"make release: {error}")
