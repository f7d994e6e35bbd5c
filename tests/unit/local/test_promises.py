"""The promise check finds broken promises, and long commit subjects since the last release."""

import json
import shutil
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from local import places
from local.cut import cut
from local.errors import StackError
from local.promises import SOURCE, check, last_release

LONG = "Say in far too many words what a commit does, although its body has enough room"


def _git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)  # noqa: S607


def _contract(*routes: str) -> str:
    operation: dict[str, Any] = {"operationId": "x", "responses": {}}
    return json.dumps({"paths": {route: {"get": operation} for route in routes}})


def _commit(root: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        path = root / {"source": SOURCE, "openapi": "openapi.json"}[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--allow-empty", "--message", subject)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a repository with two routes at its release 1.0.0, and a later commit."""
    _git(tmp_path, "init", "--quiet")
    _commit(tmp_path, LONG, source='__version__ = "0.1.0"\n', openapi=_contract("/a"))
    _commit(tmp_path, "Release", source='__version__ = "1.0.0"\n', openapi=_contract("/a", "/b"))
    _commit(tmp_path, "Add a route", openapi=_contract("/a", "/b", "/c"))
    return tmp_path


def test_an_unchanged_contract_passes(root: Path) -> None:
    assert "promised" in check(root)


def test_a_released_route_that_was_removed_fails(root: Path) -> None:
    _commit(root, "Remove a route", openapi=_contract("/a", "/c"))

    with pytest.raises(StackError, match=r"^GET /b: removed$"):
        check(root)


def test_an_unreleased_route_can_be_removed(root: Path) -> None:
    _commit(root, "Remove a route", openapi=_contract("/a", "/b"))

    assert "promised" in check(root)


def test_a_version_with_a_suffix_promises_nothing(root: Path) -> None:
    _commit(root, LONG, source='__version__ = "2.0.0.dev0"\n', openapi=_contract("/a"))

    assert check(root) == "No version is promised yet."


def test_the_last_release_is_the_commit_of_a_promised_version(root: Path) -> None:
    assert last_release(root) == last_release(root, "HEAD^") != ""
    assert last_release(root, "HEAD~2") == ""


def test_a_long_subject_since_the_release_fails_and_an_older_one_passes(root: Path) -> None:
    assert "promised" in check(root)
    _commit(root, LONG)

    with pytest.raises(StackError, match="more than 72 characters"):
        check(root)


def _shallow(root: Path, folder: Path) -> Path:
    _git(folder, "clone", "--quiet", "--depth=1", root.as_uri(), "shallow")
    return folder / "shallow"


def test_a_shallow_clone_fetches_the_history_that_it_compares(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _commit(root, "Remove a route", openapi=_contract("/a", "/c"))

    with pytest.raises(StackError, match=r"^GET /b: removed$"):
        check(_shallow(root, tmp_path_factory.mktemp("clone")))


def test_a_shallow_clone_without_its_origin_fails(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shallow = _shallow(root, tmp_path_factory.mktemp("clone"))
    root.rename(root.with_name("gone"))

    with pytest.raises(StackError, match="--unshallow` failed"):
        check(shallow)


def test_a_checkout_of_another_user_is_compared(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    assert "promised" in check(root)


def test_a_folder_without_git_passes(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("archive")
    shutil.copytree(root / "shared", folder / "shared")

    assert check(folder).startswith("No history")


def test_every_workflow_that_compares_promises_fetches_the_whole_history() -> None:
    workflow = (places.ROOT / ".github/workflows/check.yml").read_text("utf-8")
    jobs = yaml.safe_load(workflow)["jobs"].values()

    checking = [job["steps"] for job in jobs if {"run": "make check"} in job["steps"]]

    assert checking
    for checkout, *_ in checking:
        assert checkout["with"]["fetch-depth"] == 0


def test_a_cut_sets_the_version_and_dates_the_changes(root: Path) -> None:
    changelog = root / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## [Unreleased]\n\n- New.\n\n## [0.1.0]\n", "utf-8")

    cut("1.1.0", date(2026, 11, 29), root)

    assert (root / SOURCE).read_text("utf-8") == '__version__ = "1.1.0"\n'
    assert changelog.read_text("utf-8") == (
        "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-11-29\n\n- New.\n\n## [0.1.0]\n"
    )
    assert "promised" in check(root)
    for version in ("1.1.0", "1.2.0", "1.2"):
        with pytest.raises(StackError):
            cut(version, date(2026, 11, 29), root)
