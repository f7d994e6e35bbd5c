"""Reads of tables that decide about money: they see every earlier write."""

from typing import Any

import pytest

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.approvals.dynamodb.approvals import DynamoApprovals
from redpacket.ledger.provider_name import ProviderName
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import a_prize
from testing.in_memory_system import InMemorySystem
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES

PACKET, USERS = "packet", ["ann"]


class _Noting:
    """DynamoDB client that records how tables are read."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.is_strong: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, **request: Any) -> Any:
        self.is_strong.append(request.get("ConsistentRead", False))
        return self._client.query(**request)

    def batch_get_item(self, **request: Any) -> Any:
        for of_table in request["RequestItems"].values():
            self.is_strong.append(of_table["ConsistentRead"])
        return self._client.batch_get_item(**request)


@pytest.fixture
def noting(system: InMemorySystem) -> _Noting:
    return _Noting(system.dynamo)


def test_reads_of_shares_are_strong(system: InMemorySystem, noting: _Noting) -> None:
    packet = system.send()
    share = system.grab(packet, "ann").share
    system.stand_on(noting)

    assert system.packets.list_refs([share.ref]) == [share]
    assert list(system.packets.scan_shard_shares(packet.packet_id, 0)) == [share]
    for read in (system.packets.list_claimers, system.packets.list_winners):
        assert [claimer.share_no for claimer in read(packet.packet_id, USERS)] == [1]

    assert noting.is_strong == [True] * 4


def test_reads_of_draws_are_strong(system: InMemorySystem, noting: _Noting) -> None:
    prize = a_prize("gala")
    system.lottery(prize)
    for user in ("ann", "bob"):
        system.draw("gala", user, "key")
    system.stand_on(noting)

    assert len(system.draws.list_draws("gala", "ann")) == 1
    system.draws.find_attempt("gala", "ann", "key", "20270101", asks_audience=False)
    (stock,) = system.prizes.list_stock([prize], "20270101")

    assert stock.durable_no == 2
    assert len(noting.is_strong) > 3
    assert all(noting.is_strong)


def test_reads_of_payments_and_approvals_are_strong(
    system: InMemorySystem, noting: _Noting
) -> None:
    dynamo = Dynamo(lambda: noting, TABLE_NAMES)
    town = PaymentSystem(system, dynamo=dynamo)

    town.repository.list_lines(ProviderName.WECHAT, "2027-01-01")
    town.returns.list_returns("number")
    town.returns.list_refunds("number")
    DynamoApprovals(dynamo, lambda: PUBLISHED_USER_IDS).find_moved_fen("owner", [1])

    assert set(noting.is_strong) == {True}
