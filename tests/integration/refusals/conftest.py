"""A sender with money, whose book stays as it is around every refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.stack import Stack
from redpacket.domain.checks.facts import Told
from redpacket.domain.ledger import DEPOSITS, user_account
from tests.integration.conftest import User

FUNDS_FEN = 1_000_000

Book = list[dict[str, Any]]
BookOf = Callable[[str], Book]


@pytest.fixture(scope="session")
def book_of(stack: Stack, dynamodb: Any) -> BookOf:
    """Read everything that the ledger holds of one account: its balance and its entries."""

    def read(account: str) -> Book:
        rows: Book = dynamodb.query(
            TableName=stack.outputs["AccountsTable"],
            KeyConditionExpression="pk = :account",
            ExpressionAttributeValues={":account": {"S": account}},
            ConsistentRead=True,
        )["Items"]
        return rows

    return read


@pytest.fixture(scope="session")
def boss(stack: Stack, told: list[Told]) -> Iterator[User]:
    """An operator, for as long as these tests run."""
    user = User(stack, "operator-of-refusals", told, scope="hongbao/admin")
    yield user
    user.http.close()


@pytest.fixture(scope="session")
def sender(stack: Stack, told: list[Told], boss: User) -> Iterator[User]:
    """Somebody with money to lose."""
    user = User(stack, "sender-of-refusals", told)
    boss.post("/admin/deposits", {"user": user.user_id, "amount_fen": FUNDS_FEN})
    yield user
    user.http.close()


@pytest.fixture(autouse=True)
def _nothing_moves(sender: User, book_of: BookOf, request: pytest.FixtureRequest) -> Iterator[None]:
    """Around every test here: the sender's book stays as it is, and so does that of all deposits.

    Tests that make users of their own put money into the system first, and look after it.
    """
    accounts = [user_account(sender.user_id)]
    if "a_user" not in request.fixturenames:
        accounts.append(DEPOSITS)
    before = [book_of(account) for account in accounts]
    yield
    assert [book_of(account) for account in accounts] == before
