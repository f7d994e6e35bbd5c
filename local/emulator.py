"""Runs the AWS emulator, and lets all processes of functions share the unpacked layers.

The emulator unpacks every layer again for each process: 3,000 files that a cold start waits for,
and that a stopped stack has to delete.
"""

import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from os import PathLike
from pathlib import Path

from ministack.app import main

_unpacking = threading.Lock()


class _Archive(zipfile.ZipFile):
    """An archive that is unpacked once if it is a layer; each process gets a link to it."""

    def extractall(
        self,
        path: str | PathLike[str] | None = None,
        members: Iterable[str | zipfile.ZipInfo] | None = None,
        pwd: bytes | None = None,
    ) -> None:
        target = Path(path or ".")
        if not target.name.startswith("layer_"):
            super().extractall(path, members, pwd)
            return
        listed = "".join(f"{each.filename}\n{each.CRC}\n" for each in self.infolist())
        shared = Path(tempfile.gettempdir(), f"layer-{sha256(listed.encode()).hexdigest()}")
        with _unpacking:
            if not shared.exists():
                unfinished = shared.with_suffix(".unfinished")
                super().extractall(unfinished)
                unfinished.rename(shared)
        # A process has the archive to itself, and needs its 40 MB no more.
        Path(str(self.filename)).unlink()
        target.rmdir()
        target.symlink_to(shared)


if __name__ == "__main__":
    # Its threads wait for each other at each file of a function: by default 5 ms.
    sys.setswitchinterval(0.0005)
    zipfile.ZipFile = _Archive  # type: ignore[misc]
    main()
