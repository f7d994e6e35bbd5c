"""Command that creates or rotates the product issuer's keys, and writes the files to publish.

`python -m local.issuer_keys KEYS FOLDER --url URL [--rotate]`: KEYS is the payment function's
secret, and the operator publishes FOLDER at URL. Publish FOLDER first, then store KEYS.
"""

import argparse
import time
from pathlib import Path

from redpacket.payments.token_issuer import IssuerKey, IssuerKeys, issuer_files


def make(keys_file: Path, folder: Path, url: str, *, now_ms: int, rotates: bool = False) -> None:
    """Create *keys_file* if it is missing, and write *folder*; a rotation adds a key to both."""
    if keys_file.exists():
        keys = IssuerKeys.of(keys_file.read_text())
        if rotates:
            keys = keys.rotated(now_ms, IssuerKey.new(now_ms))
    else:
        keys = IssuerKeys.new(now_ms)
    for path, content in issuer_files(url, keys).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    keys_file.touch(mode=0o600)
    keys_file.write_text(keys.text())


def main() -> None:
    """Run the command."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("keys", type=Path)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--url", required=True)
    arguments.add_argument("--rotate", action="store_true")
    given = arguments.parse_args()
    now_ms = time.time_ns() // 1_000_000
    make(given.keys, given.folder, given.url, now_ms=now_ms, rotates=given.rotate)


if __name__ == "__main__":
    main()
