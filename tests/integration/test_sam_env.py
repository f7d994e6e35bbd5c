"""`make sam-env STAGE=local` gives `sam local invoke` all that the functions need."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from local import places, sam_env
from local.build import architecture
from local.errors import StackError
from local.stack import Stack
from local.template import read_long_form
from tests.integration.conftest import MakeUser

pytestmark = pytest.mark.usefixtures("only_own_sweeps")

_RESOLVE = """
import json, sys
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

stacks, _ = SamLocalStackProvider.get_stacks(sys.argv[1])
functions = SamFunctionProvider(stacks)
given = json.load(open(sys.argv[2]))
runner = LocalLambdaRunner(None, functions, ".", ".", env_vars_values=given)
resolved = {
    each.name: [each.codeuri, each.architectures, runner._make_env_vars(each).resolve()]
    for each in functions.get_all()
}
json.dump(resolved, sys.stdout)
"""
_START = """
import json, os, sys
from types import SimpleNamespace
import app

context = SimpleNamespace(
    function_name="f", memory_limit_in_mb=256, aws_request_id="r", invoked_function_arn="arn",
    function_version="1", get_remaining_time_in_millis=lambda: 30_000,
)
print(json.dumps(app.handler(json.loads(sys.argv[1]), context)))
"""

_OF_THE_SHELL = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION")


@pytest.fixture(scope="module")
def resolved(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return each function's folder, architectures and variables, as SAM resolves them."""
    folder = tmp_path_factory.mktemp("sam")
    (folder / "up").symlink_to(stack.state_dir)
    # Skip the build, which takes a minute and only changes the location of the code.
    template = read_long_form()
    for resource in template["Resources"].values():
        if "CodeUri" in resource.get("Properties", {}):
            code = places.ROOT / resource["Properties"]["CodeUri"]
            resource["Properties"]["CodeUri"] = str(code)
    built, copy, file = (folder / name for name in ("template.yaml", "invoke.yaml", "env.json"))
    built.write_text(yaml.safe_dump(template))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "STATES", folder)
        patch.setattr(sam_env, "BUILT", built)
        patch.setattr(sam_env, "TEMPLATE_FILE", copy)
        patch.setattr(sam_env, "ENV_FILE", file)
        patch.setattr(sys, "argv", ["sam_env", "local"])
        patch.setenv("AWS_PROFILE", "of-a-real-account")
        sam_env.main()
    assert file.stat().st_mode & 0o777 == 0o600
    told = subprocess.run(
        [places.SAM.with_name("python"), "-c", _RESOLVE, copy, file],
        cwd=places.ROOT,
        # The shell's keys must not reach the functions.
        env={
            "PATH": os.environ["PATH"],
            **{f"AWS_{name}": "real" for name in _OF_THE_SHELL},
        },
        capture_output=True,
        check=True,
        timeout=60,
    )
    answer: dict[str, Any] = json.loads(told.stdout)
    # GroupScopes, the trigger of the operators' pool, has inline code and no variables.
    assert answer.keys() - {"GroupScopes"} == json.loads(file.read_text()).keys()
    return {name: each for name, each in answer.items() if name != "GroupScopes"}


def _start(resolved: dict[str, Any], name: str, event: str) -> "subprocess.CompletedProcess[str]":
    """Run a function's code with its container's variables, and with paths to find the modules."""
    folder, architectures, variables = resolved[name]
    assert architectures == [architecture()]
    path = f"{places.ROOT / folder}:{places.ROOT / 'shared'}"
    return subprocess.run(
        [sys.executable, "-c", _START, event],
        env={**variables, "PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )


def _events() -> dict[str, str]:
    """Return the first event of each function in the table of events/README.md."""
    values: dict[str, str] = {}
    for line in (places.ROOT / "events" / "README.md").read_text().splitlines():
        if line.startswith("| `"):
            _, file, function, *_ = (cell.strip("` ") for cell in line.split("|"))
            values.setdefault(function, (places.ROOT / "events" / file).read_text())
    return values


def test_each_handler_starts_with_the_resolved_variables(resolved: dict[str, Any]) -> None:
    events = _events()
    assert resolved.keys() <= events.keys()

    for name in resolved:
        started = _start(resolved, name, events[name])

        # No payment has the number that OrderFunction's event names.
        is_started = started.returncode == 0 or "PaymentNotFound" in started.stderr
        assert is_started, (name, started.stderr[-2_000:])
        assert "SettingMissing" not in started.stdout, name


def test_the_four_core_functions_complete_the_life_of_a_packet(
    resolved: dict[str, Any], a_user: MakeUser
) -> None:
    def run(name: str, event: Any) -> Any:
        started = _start(resolved, name, json.dumps(event))
        assert started.returncode == 0, started.stderr[-2_000:]
        return json.loads(started.stdout.splitlines()[-1])

    def event(name: str) -> Any:
        return json.loads((places.ROOT / "events" / f"{name}.json").read_text())

    a_user("event-sender", funds_fen=1_000)
    send = event("send")
    send["headers"]["idempotency-key"] = "the-core-by-sam"

    sent = run("SendFunction", send)
    packet_id = json.loads(sent["body"])["packet_id"]
    grab = event("grab_win")
    grab["pathParameters"]["packet_id"] = packet_id
    grabbed = run("GrabFunction", grab)
    batch = event("settle_batch")
    batch["Records"] = batch["Records"][:1]
    claim = json.loads(batch["Records"][0]["body"])
    claim["body"] |= {"packet_id": packet_id, "share_no": 1}
    batch["Records"][0]["body"] = json.dumps(claim)
    settled = run("PayoutFunction", batch)
    swept = run("ExpireFunction", event("sweep"))

    assert sent["statusCode"] == 201
    assert json.loads(grabbed["body"])["outcome"] == "claimed"
    assert settled == {"batchItemFailures": []}
    assert swept["failed_count"] == 0


def test_without_a_build_or_a_stack_the_command_names_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "STATES", tmp_path)
    monkeypatch.setattr(sam_env, "BUILT", tmp_path / "template.yaml")
    monkeypatch.setattr(sys, "argv", ["sam_env", "local"])

    with pytest.raises(StackError, match="make build STAGE=local"):
        sam_env.main()
    (tmp_path / "template.yaml").touch()
    with pytest.raises(StackError, match="make up"):
        sam_env.main()
