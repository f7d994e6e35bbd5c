"""Preparation of functions for SnapStart, which takes a snapshot after the imports."""

from __future__ import annotations

import importlib
import pkgutil
import random
from collections.abc import Callable
from typing import Any

from redpacket.platform.settings import settings

_LATE_MODULES = ("_strptime", "encodings.idna", "stringprep")
"""Modules that Python imports when it first parses a date or encodes a host name."""


def before_snapshot(*packages: str, build: Callable[[], Any]) -> None:
    """Import all modules of *packages* and call *build*, but only before a snapshot.

    Without a snapshot, imports stay lazy. *build* creates the objects that slow down a first
    request most, but opens no connection and reads no credential, because a snapshot would outlive
    them.
    """
    if not settings.makes_snapshot():
        return
    from snapshot_restore_py import register_after_restore

    for name in _LATE_MODULES:
        importlib.import_module(name)
    for name in packages:
        path = importlib.import_module(f"redpacket.{name}").__path__
        for module in pkgutil.walk_packages(path, f"redpacket.{name}."):
            importlib.import_module(module.name)
    build()
    # Without a new seed, all copies of a snapshot would wait for the same random times.
    register_after_restore(random.seed)
