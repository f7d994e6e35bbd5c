"""Makefile commands find the modules that they import."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_every_python_command_of_the_makefile_finds_the_package() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = [line for line in recipe.splitlines() if re.search(r"python -m local\s", line)]

    assert len(commands) == 6
    assert [line for line in commands if "PYTHONPATH=shared" not in line] == []


def test_the_lock_file_of_the_page_names_no_registry() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text(encoding="utf-8")

    assert '"resolved"' not in lock
    assert "registry" not in lock
    assert '"integrity"' in lock
