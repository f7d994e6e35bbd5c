"""API over the in-memory system, with the invariants checked after each test."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from local.user_ids import PUBLISHED_USER_IDS
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import Context, HandlerTransport, handlers, handlers_of
from testing.platform.users import HttpUser
from tests.integration.declared import assert_declared

_numbers = itertools.count(1)

MakeUser = Callable[..., HttpUser]
Eventually = Callable[[Callable[[], Any]], Any]
Invoke = Callable[[str, dict[str, Any]], dict[str, Any]]


@pytest.fixture
def system() -> Iterator[InMemorySystem]:
    system = InMemorySystem()
    with handlers_of(system):
        yield system
        assert system.differences() == []


@pytest.fixture
def a_user(system: InMemorySystem) -> MakeUser:
    """Return a factory of users; `a_user(funds_fen=1000)` creates a user with money."""

    def make(host_id: str | None = None, funds_fen: int = 0, **claims: Any) -> HttpUser:
        host_id = host_id or f"guest-{next(_numbers)}"
        http = httpx.Client(
            base_url="https://api.example",
            transport=HandlerTransport({"sub": host_id, **claims}),
            event_hooks={"response": [assert_declared]},
        )
        user = HttpUser(http, host_id, PUBLISHED_USER_IDS.id_of(host_id), system.told)
        if funds_fen:
            treasurer = make("treasurer", scope="hongbao/admin")
            answer = treasurer.post("/admin/deposits", {"user": host_id, "amount_fen": funds_fen})
            if answer.status_code == httpx.codes.ACCEPTED:
                answer = make("approver", scope="hongbao/treasury").approve(answer)
            assert answer.is_success, answer.text
        return user

    return make


@pytest.fixture
def operator(a_user: MakeUser) -> HttpUser:
    return a_user("operator", scope="hongbao/admin")


@pytest.fixture
def sender(a_user: MakeUser) -> HttpUser:
    """Return a user with money."""
    return a_user("sender", funds_fen=1_000_000)


@pytest.fixture
def invoke(system: InMemorySystem) -> Invoke:  # noqa: ARG001 - the handlers stand on it
    """Return a function that invokes a Lambda function by the name of its stack output."""

    def call(function: str, event: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = handlers()[function.removesuffix("Function").lower()](
            event, Context()
        )
        return answer

    return call


@pytest.fixture
def eventually(system: InMemorySystem) -> Eventually:
    """Return a function that settles claims and advances the clock until *ask* returns a true
    value.
    """

    def wait(ask: Callable[[], Any]) -> Any:
        for _ in range(30):
            system.settle()
            if result := ask():
                return result
            system.pass_time(1_000)
        pytest.fail("it never came true")

    return wait
