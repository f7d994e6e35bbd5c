"""Fixtures for tests on the deployed stack, and a check of all invariants after each module."""

import itertools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Protocol

import httpx
import pytest
import redis

from local.client import NO_TLS
from local.ports import HOST
from local.seed_keys import seed_keys_of
from local.stack import REGION, Stack
from redpacket.platform.aws.client import AwsClient
from redpacket.platform.aws.signature import Keys
from redpacket.platform.user import UserIds
from testing.platform.users import HttpUser as AnyUser
from testing.reconciliation.checks import Told
from testing.reconciliation.ledger_state import LedgerState, lasting, read_ledger_state
from tests.integration.declared import assert_declared

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def told() -> list[Told]:
    """All claims in the responses that users got, for the check of I5."""
    return []


@cache
def user_ids(stack: Stack) -> UserIds:
    """Return a generator of user ids that uses the key of the stack's functions."""
    functions = stack.aws("lambda")
    grab = functions.get_function_configuration(FunctionName=stack.outputs["GrabFunction"])
    return UserIds(grab["Environment"]["Variables"]["USER_ID_KEY"])


class HttpUser(AnyUser):
    """User of the deployed stack."""

    def __init__(self, stack: Stack, host_id: str, told: list[Told], **claims: Any) -> None:
        self.token = stack.token(host_id, **claims)
        http = httpx.Client(
            base_url=stack.api,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=30,
            trust_env=False,
            verify=NO_TLS,
            event_hooks={"response": [assert_declared]},
        )
        super().__init__(http, host_id, user_ids(stack).id_of(host_id), told)


def is_turned_away(answer: httpx.Response) -> bool:
    """Return whether the gateway itself refused the request, because the token lacks the scope."""
    return (answer.status_code, answer.json()) == (403, {"message": "Forbidden"})


MakeUser = Callable[..., HttpUser]


class Eventually(Protocol):
    """Function that polls *ask* until the result is true."""

    def __call__(self, ask: Callable[[], Any], within_s: float = 30) -> Any: ...


Invoke = Callable[[str, dict[str, Any]], dict[str, Any]]
Interruption = Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module", name="cache")
def stacks_cache(stack: Stack) -> Iterator[redis.Redis]:
    """Yield a client for the stack's cache."""
    client = redis.Redis(host=HOST, port=stack.redis_port)
    yield client
    client.close()


@pytest.fixture
def frozen_cache(cache: redis.Redis) -> Interruption:
    """Return a context manager that freezes the cache: connections stay open, but get no answer."""

    @contextmanager
    def freeze() -> Iterator[None]:
        pid = int(cache.info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    return freeze


@pytest.fixture
def paused_payouts(stack: Stack) -> Interruption:
    """Return a context manager that stops deliveries from the queue to the payout function."""
    functions = stack.aws("lambda")

    @contextmanager
    def pause() -> Iterator[None]:
        event_source_mappings = functions.list_event_source_mappings(
            FunctionName=stack.outputs["PayoutFunction"]
        )
        (mapping,) = event_source_mappings["EventSourceMappings"]
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
        try:
            yield
        finally:
            functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)

    return pause


@pytest.fixture
def approver(stack: Stack, told: list[Told]) -> Iterator[HttpUser]:
    """Yield a second operator, who approves large amounts."""
    user = HttpUser(stack, "approver", told, scope="hongbao/treasury")
    yield user
    user.http.close()


@pytest.fixture
def a_user(stack: Stack, told: list[Told], approver: HttpUser) -> Iterator[MakeUser]:
    """Return a factory of users for one test; `a_user(funds_fen=1000)` gives the user money."""
    made: list[HttpUser] = []
    # Operators cannot credit themselves, so a separate operator makes the deposits.
    treasurer = HttpUser(stack, "treasurer", told, scope="hongbao/admin")
    made.append(treasurer)

    def make(host_id: str | None = None, funds_fen: int = 0, **claims: Any) -> HttpUser:
        user = HttpUser(stack, host_id or f"guest-{next(_numbers)}", told, **claims)
        made.append(user)
        if funds_fen:
            body = {"user": user.host_id, "amount_fen": funds_fen}
            answer = treasurer.post("/admin/deposits", body)
            if answer.status_code == httpx.codes.ACCEPTED:
                answer = approver.approve(answer)
            assert answer.is_success, answer.text
        return user

    yield make
    for user in made:
        user.http.close()


@pytest.fixture
def operator(a_user: MakeUser) -> HttpUser:
    return a_user("operator", scope="hongbao/admin")


@pytest.fixture(scope="session")
def dynamodb(stack: Stack) -> Any:
    return stack.aws("dynamodb")


@pytest.fixture(scope="session")
def ledger_state(stack: Stack) -> Callable[[], LedgerState]:
    """Return a function that reads the whole ledger. Reading would take three times as long with
    boto3, so the function uses the product's own client.
    """
    dynamodb = AwsClient(
        "dynamodb",
        REGION,
        f"http://{HOST}:{stack.aws_port}",
        keys=lambda: Keys("test", "test", ""),
        ca_bundle="",
        connect_timeout_s=10,
        read_timeout_s=10,
    )
    names = ("Accounts", "Packets", "Shares", "Campaigns", "Draws", "Quotas", "Payments", "Journal")
    tables = [stack.outputs[f"{name}Table"] for name in names]
    seeds = seed_keys_of(stack)
    return lambda: read_ledger_state(dynamodb, *tables, seeds=seeds)


@pytest.fixture
def invariants(ledger_state: Callable[[], LedgerState], told: list[Told]) -> Iterator[None]:
    """Check all invariants directly after the test."""
    yield
    assert not lasting(lambda: ledger_state().differences(told))


@pytest.fixture(scope="module", autouse=True)
def _invariants(ledger_state: Callable[[], LedgerState], told: list[Told]) -> Iterator[None]:
    """Check all invariants once after each module, because each scan takes half a second."""
    yield
    assert not lasting(lambda: ledger_state().differences(told))


@pytest.fixture(scope="module")
def only_own_sweeps(stack: Stack) -> Iterator[None]:
    """Stop all schedules for tests that invoke the sweep themselves and read its report."""
    schedules = stack.aws("events")
    names = [rule["Name"] for rule in schedules.list_rules()["Rules"]]
    for name in names:
        schedules.disable_rule(Name=name)
    yield
    for name in names:
        schedules.enable_rule(Name=name)


@pytest.fixture
def invoke(stack: Stack) -> Invoke:
    """Return a function that invokes a deployed Lambda function by the name of its stack output."""

    def call(function: str, event: dict[str, Any]) -> dict[str, Any]:
        answer = stack.aws("lambda").invoke(
            FunctionName=stack.outputs[function], Payload=json.dumps(event).encode()
        )
        assert "FunctionError" not in answer, answer["Payload"].read()
        result: dict[str, Any] = json.loads(answer["Payload"].read())
        return result

    return call


@pytest.fixture
def eventually() -> Eventually:
    """Return a function that polls *ask* until the result is true, for up to *within_s* seconds."""

    def wait(ask: Callable[[], Any], within_s: float = 30) -> Any:
        give_up_at = time.monotonic() + within_s
        while not (result := ask()):
            assert time.monotonic() < give_up_at, "it never came true"
            time.sleep(0.2)
        return result

    return wait
