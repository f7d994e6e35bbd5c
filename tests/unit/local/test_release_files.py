"""Workflows parse, call commands that exist, pin their actions, and request only the permissions
that they need.
"""

import json
import re
import subprocess
from typing import Any

import pytest
import yaml

from local.places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def _workflow(path: Any) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def _steps(path: Any) -> list[dict[str, Any]]:
    jobs = _workflow(path)["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


def _targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


def test_there_are_workflows_to_check_deploy_and_release() -> None:
    assert [path.stem for path in WORKFLOWS] == ["check", "deploy", "release"]


@each_workflow
def test_a_workflow_calls_commands_of_make_that_exist(path: Any) -> None:
    commands = " ; ".join(step.get("run", "") for step in _steps(path))
    called = re.findall(r"make ((?:[a-z][a-z-]* ?)+)", commands)

    assert called
    assert {target for words in called for target in words.split()} <= _targets()


@each_workflow
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path: Any) -> None:
    lines = [line for line in path.read_text().splitlines() if "uses:" in line]

    for line in lines:
        is_own = "uses: ./.github/workflows/" in line
        assert is_own or re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


@each_workflow
def test_a_workflow_names_its_permissions_and_only_deploy_gets_an_aws_token(path: Any) -> None:
    workflow = _workflow(path)
    rights = [
        workflow["permissions"],
        *(job.get("permissions", {}) for job in workflow["jobs"].values()),
    ]

    assert workflow["permissions"]["contents"] == "read"
    assert any("id-token" in each for each in rights) == (path.stem == "deploy")
    assert any(each.get("contents") == "write" for each in rights) == (path.stem == "release")
    # Scripts must not interpolate inputs or branch names, because they could inject commands.
    assert not any("${{" in step.get("run", "") for step in _steps(path))


def test_the_hooks_and_the_container_run_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    commands = [*(hook["entry"] for hook in hooks), container["postCreateCommand"]]

    assert {command.removeprefix("make ") for command in commands} <= _targets()


def test_dependabot_covers_every_folder_with_pins() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    folders = {
        (update["package-ecosystem"], folder.strip("/"))
        for update in updates
        for folder in update.get("directories", [update.get("directory")])
    }

    for kind, folder in folders - {("github-actions", "")}:
        pattern = "*.in" if kind == "pip" else "package-lock.json"
        assert list((ROOT / folder).glob(pattern)), folder


def test_the_bills_of_materials_have_every_pin_of_the_layers_and_the_page() -> None:
    subprocess.run(["make", "bills"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    layers = sorted((ROOT / "shared").glob("*.in"))

    assert layers
    for layer in layers:
        pins = layer.with_suffix(".txt").read_text(encoding="utf-8")
        bill = _components(layer.stem)
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", pins, re.MULTILINE):
            (link,) = bill[f"pkg:pypi/{name.lower()}@{version}"]["externalReferences"]
            assert link["hashes"]
    assert any(purl.startswith("pkg:npm/lit@") for purl in _components("page"))


def _components(bill: str) -> dict[str, Any]:
    """Return the components of a bill of materials, keyed by package URL."""
    text = (ROOT / ".local" / "release" / f"{bill}.cdx.json").read_text(encoding="utf-8")
    return {component["purl"]: component for component in json.loads(text)["components"]}
