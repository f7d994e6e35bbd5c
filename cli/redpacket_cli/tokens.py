"""Operators' tokens in the user's cache folder, because Cognito charges for each new one."""

import json
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_ENDS_BEFORE_S = 300
"""Minimum remaining lifetime of a token in seconds, because a command may take minutes."""


def kept_token(client_id: str) -> str:
    """Return the stored token of a client, or "" if it is missing or about to expire."""
    try:
        kept = json.loads(_file(client_id).read_text("utf-8"))
        token, ends_at_s = str(kept["token"]), float(kept["ends_at_s"])
    except (OSError, ValueError, TypeError, KeyError, RuntimeError):
        return ""
    return token if time.time() < ends_at_s - _ENDS_BEFORE_S else ""


def keep_token(client_id: str, token: str, lives_s: float) -> None:
    """Store a token in a file that only its owner can read, if the user has a writable folder."""
    with suppress(OSError, RuntimeError):
        file = _file(client_id)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp creates the file with mode 600. Readers see the old file or the complete new file.
        descriptor, new = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as target:
            json.dump({"token": token, "ends_at_s": time.time() + lives_s}, target)
        Path(new).replace(file)


def _file(client_id: str) -> Path:
    """Return the path of a client's token. Raises RuntimeError if the user has no home folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "redpacket" / f"{client_id}.json"
