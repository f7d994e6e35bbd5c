"""The log searches of the runbook find the fault that their page is about."""

import re
import shlex
import time
from collections.abc import Callable

import httpx
import pytest
from typer.testing import CliRunner

from local import places
from local.client import NO_TLS
from local.stack import Stack
from redpacket_cli.main import app
from tests.integration.conftest import Eventually, Interruption, Invoke, MakeUser

pytestmark = pytest.mark.usefixtures("only_own_sweeps", "invariants")

_LOOP = re.compile(r"for (\w+) in (.+?); do (.+?); done")

Search = Callable[[str, str], str]


@pytest.fixture
def search(stack: Stack) -> Search:
    """Return what the searches of a page print about a function's log."""

    def print_lines(page: str, function: str) -> str:
        text = (places.ROOT / "docs" / "runbook" / page).read_text(encoding="utf-8")
        commands = re.findall(rf"redpacket (logs {function} .*)", _LOOP.sub(_turns, text))
        assert commands
        state = ["--state", str(stack.state_dir)]
        return "".join(
            CliRunner().invoke(app, [*state, *shlex.split(command)]).stdout for command in commands
        )

    return print_lines


def _turns(loop: re.Match[str]) -> str:
    """Return the commands of a loop, one for each turn."""
    name, values, command = loop.groups()
    return "\n".join(command.replace(f"${name}", value) for value in values.split())


def _let_fail(wallet: str, mode: str) -> None:
    httpx.post(f"{wallet}/_fake/mode", json={"mode": mode}, trust_env=False, verify=NO_TLS)


@pytest.mark.parametrize("page", ["cache-lost.md", "api-errors.md"])
def test_requests_while_the_cache_hangs_are_found(
    page: str, search: Search, a_user: MakeUser, frozen_cache: Interruption, eventually: Eventually
) -> None:
    packet_id = a_user(funds_fen=1000).send(count=2).json()["packet_id"]

    with frozen_cache():
        refused = a_user().grab(packet_id).json()["instance"]

    eventually(lambda: refused in search(page, "grab"))


def test_a_packet_that_the_cache_keeps_from_closing_is_found(
    search: Search,
    a_user: MakeUser,
    frozen_cache: Interruption,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    sent = a_user(funds_fen=1000).send(expires_in_s=1).json()
    eventually(lambda: time.time() * 1000 > sent["expires_at_ms"])

    with frozen_cache():
        invoke("ExpireFunction", {"source": "aws.events"})

    eventually(lambda: sent["packet_id"] in search("packet-stuck.md", "expire"))


def test_a_message_that_nobody_of_ours_wrote_is_found(
    search: Search, stack: Stack, eventually: Eventually
) -> None:
    queue = {"QueueUrl": stack.outputs["PayoutQueueUrl"]}

    sent = stack.aws("sqs").send_message(**queue, MessageBody="poison")

    eventually(lambda: sent["MessageId"] in search("dead-letters.md", "payout"))
    stack.aws("sqs").purge_queue(**queue)


def test_a_provider_that_fails_is_found_by_its_payment_and_by_its_withdrawal(
    search: Search, stack: Stack, a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    user = a_user(funds_fen=1000)
    _let_fail(stack.wallet, "fails")

    paid = user.post("/me/payments", {"amount_fen": 100, "channel": "host", "method": "native"})
    held = user.post("/me/withdrawals", {"amount_fen": 100, "channel": "host"})
    invoke("TransferFunction", {"task": "dispatch"})
    _let_fail(stack.wallet, "ok")

    eventually(lambda: paid.json()["payment_id"] in search("api-errors.md", "payment"))
    eventually(lambda: held.json()["withdrawal_id"] in search("withdrawals-wait.md", "transfer"))
    assert "provider_silent" in search("withdrawals-wait.md", "transfer")
