"""`make sam-env` gives `sam local invoke` all that the functions need to start."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from local import places, sam_env
from local.deploy import STACK_NAME
from local.ports import HOST
from local.stack import CREDENTIALS, Stack

_RESOLVE = """
import json, sys
from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

stacks, _ = SamLocalStackProvider.get_stacks("template.yaml")
functions = SamFunctionProvider(stacks)
given = json.load(open(sys.argv[1]))
runner = LocalLambdaRunner(None, functions, ".", ".", env_vars_values=given)
resolved = {
    each.name: [each.codeuri, runner._make_env_vars(each).resolve()] for each in functions.get_all()
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


@pytest.fixture(scope="module")
def resolved(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return each function's folder and variables, as SAM resolves them from our file."""
    variables = sam_env.read_variables(stack.aws("cloudformation"), stack.aws("lambda"), STACK_NAME)
    file = tmp_path_factory.mktemp("sam") / "env.json"
    sam_env.write(variables, file)
    assert file.stat().st_mode & 0o777 == 0o600
    python = places.SAM.with_name("python")
    told = subprocess.run(
        [python, "-c", _RESOLVE, file],
        cwd=places.ROOT,
        env=os.environ | {name.upper(): value for name, value in CREDENTIALS.items()},
        capture_output=True,
        check=True,
        timeout=60,
    )
    answer: dict[str, Any] = json.loads(told.stdout)
    # The trigger of the operators' pool has its code in the template, and no variables.
    assert answer.keys() - {"GroupScopes"} == variables.keys()
    return {name: answer[name] for name in variables}


def _events() -> dict[str, str]:
    """Return the first event of each function in the table of events/README.md."""
    values: dict[str, str] = {}
    for line in (places.ROOT / "events" / "README.md").read_text().splitlines():
        if line.startswith("| `"):
            _, file, function, *_ = (cell.strip("` ") for cell in line.split("|"))
            values.setdefault(function, (places.ROOT / "events" / file).read_text())
    return values


def test_each_handler_starts_with_the_resolved_variables(
    stack: Stack, resolved: dict[str, Any]
) -> None:
    events = _events()
    assert resolved.keys() <= events.keys()
    for name, (folder, variables) in resolved.items():
        environment = {
            **variables,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{places.ROOT / folder}:{places.ROOT / 'shared'}",
            # A local stack alone has these; SAM passes no variable that the template lacks.
            "AWS_ENDPOINT_URL": f"http://{HOST}:{stack.aws_port}",
            "SIMULATOR_URL": f"http://{HOST}:{stack.aws_port}",
        }
        started = subprocess.run(
            [sys.executable, "-c", _START, events[name]],
            env=environment,
            capture_output=True,
            check=False,
            timeout=60,
            text=True,
        )
        # No payment has the number in the event of OrderFunction.
        is_started = started.returncode == 0 or "PaymentNotFound" in started.stderr
        assert is_started, (name, started.stderr[-2_000:])
        assert "SettingMissing" not in started.stdout, name
