"""A table is of one moment, whatever is edited while it is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redpacket.adapters.dynamo import Dynamo
from redpacket.adapters.dynamo_campaigns import DynamoCampaigns
from redpacket.adapters.dynamo_draws import DynamoDraws
from redpacket.domain.errors import Unavailable
from redpacket.domain.lottery import Prize
from tests.builders import a_campaign, a_prize
from tests.fakes import FakeDynamo


class MeddledDynamo(FakeDynamo):
    """Lets somebody in after the first so many reads of several rows at one moment."""

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Any = None
        self.read_count = 0

    def transact_get_items(self, **request: Any) -> dict[str, Any]:
        self.read_count += 1
        answer = super().transact_get_items(**request)
        if self.meddle:
            self.meddle(self.read_count)
        return answer


@pytest.fixture
def client() -> MeddledDynamo:
    return MeddledDynamo()


@pytest.fixture
def draws(client: MeddledDynamo) -> DynamoDraws:
    dynamo = Dynamo(lambda: client, pause_s=lambda _: None)
    campaigns = DynamoCampaigns(dynamo, "campaigns")
    assert campaigns.create(a_campaign(campaign_id="fair"))
    return DynamoDraws(dynamo, "campaigns", "shares", "draws")


def _put(draws: DynamoDraws, number: int) -> Prize:
    prize = a_prize("fair", f"prize-{number:03d}")
    assert draws.put_prize(prize, None)
    return prize


def test_an_edit_between_two_reads_of_a_table_is_seen_whole(
    client: MeddledDynamo, draws: DynamoDraws
) -> None:
    prizes = [_put(draws, number) for number in range(100)]
    edited = [replace(prize, weight=7, version=2) for prize in (prizes[0], prizes[-1])]

    def meddle(read_count: int) -> None:
        if read_count == 1:
            for after, before in zip(edited, (prizes[0], prizes[-1]), strict=True):
                assert draws.put_prize(after, before)

    client.meddle = meddle
    table = draws.find_table("fair")

    assert table
    assert (table.prizes[0], table.prizes[-1]) == tuple(edited)
    assert table.version == 103


def test_a_prize_that_is_put_while_a_table_is_read_is_in_it(
    client: MeddledDynamo, draws: DynamoDraws
) -> None:
    _put(draws, 1)
    queried = client.query

    def query(**request: Any) -> dict[str, Any]:
        answer = queried(**request)
        client.query = queried  # type: ignore[method-assign]
        _put(draws, 2)
        return answer

    client.query = query  # type: ignore[method-assign]
    table = draws.find_table("fair")

    assert table
    assert len(table.prizes) == 2
    assert table.version == 3


def test_a_table_that_is_edited_all_the_time_is_not_read(
    client: MeddledDynamo, draws: DynamoDraws
) -> None:
    for number in range(100):
        _put(draws, number)
    client.meddle = lambda read_count: _put(draws, 100 + read_count)

    with pytest.raises(Unavailable):
        draws.find_table("fair")
