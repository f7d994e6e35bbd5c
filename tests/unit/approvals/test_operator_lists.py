"""Operators' lists return every campaign and packet once, page by page, without a scan."""

import re
from typing import Any

import pytest

from redpacket.approvals.model import OPEN_CURSOR
from redpacket.approvals.use_cases import list_packets
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.packet import Packet, PacketStatus, Rules
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.packets.ports import SENT_CURSOR
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.errors import InvalidRequest
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import LIFE_MS, InMemorySystem, a_person, an_operator


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _walk(list_page: Any, *call: Any, limit: int = 2) -> list[Any]:
    listed: list[Any] = []
    cursor: str | None = None
    while True:
        page, cursor = list_page(*call, cursor, limit)
        assert len(page) <= limit
        listed += page
        if cursor is None:
            return listed


def test_all_campaigns_are_listed_the_latest_start_first(system: InMemorySystem) -> None:
    ann = an_operator("ann")
    plans = [a_campaign(campaign_id=f"c-{n}", starts_at_ms=1_000 + n) for n in range(5)]
    for plan in plans:
        system.process().apply_campaign(plan, 100, None, ann)
    lists = system.process().operator_lists

    assert [each.campaign_id for each in _walk(lists.list_campaigns)] == [
        f"c-{n}" for n in (4, 3, 2, 1, 0)
    ]
    # An edit of the start moves the campaign in the list, and the list shows the spent amount.
    moved = a_campaign(campaign_id="c-0", starts_at_ms=9_000)
    system.process().apply_campaign(moved, 300, None, ann)
    first = _walk(lists.list_campaigns)[0]
    assert (first.campaign_id, first.budget_left_fen) == ("c-0", 300)
    for cursor in ("", "x", "0000000001000#../", "1#c-1"):
        with pytest.raises(InvalidRequest):
            lists.list_campaigns(cursor, 2)


def test_a_row_that_another_role_adds_to_the_list_of_campaigns_hides_none(
    system: InMemorySystem,
) -> None:
    """The send role may write rows of a campaign's packets, so it can put them in any list."""
    system.process().apply_campaign(a_campaign(campaign_id="c"), 100, None, an_operator("ann"))
    junk = campaign_keys.campaign_packet("c", "p") | {"list_pk": campaign_keys.CAMPAIGNS}
    row = to_wire({**junk, "list_sk": "9000000000000#p", "total_fen": 1, "created_at_ms": 1})
    system.dynamo.put_item(TableName="campaigns", Item=row)

    listed = _walk(system.process().operator_lists.list_campaigns)

    assert [each.campaign_id for each in listed] == ["c"]


def _ids(packets: list[Packet]) -> list[str]:
    return [packet.packet_id for packet in packets]


def test_packets_are_listed_by_campaign_by_sender_and_while_they_wait(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    rain = [system.send_of(campaign, "ann") for _ in range(5)]
    own = [system.send("ann") for _ in range(3)]
    others = [system.send(f"sender-{n}") for n in range(40)]
    listed = system.process().list_packets

    assert sorted(_ids(_walk(listed, campaign.campaign_id, None, None))) == sorted(_ids(rain))
    assert sorted(_ids(_walk(listed, None, "ann", None))) == sorted(_ids(rain + own))
    pending = _ids(_walk(listed, None, None, None, limit=7))
    assert sorted(pending) == sorted(_ids(rain + own + others))
    assert _walk(listed, campaign.campaign_id, "bob", None) == []
    assert _walk(listed, "nowhere", None, None) == []

    for name in ("a", "b", "c", "d"):
        system.grab(own[0], name)
    system.settle()
    emptied = _walk(listed, None, "ann", PacketStatus.EMPTIED)
    assert _ids(emptied) == [own[0].packet_id]
    assert own[0].packet_id not in _ids(_walk(listed, None, None, None, limit=7))


def test_packets_of_cash_prizes_are_in_the_list_of_their_campaign(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    rains = [system.send_of(campaign, "ann") for _ in range(3)]
    system.deposit("operator", 200)
    for prize_id in ("cash", "more"):
        prize = a_prize(
            campaign.campaign_id, prize_id, kind=PrizeKind.PACKET, amount_fen=20, total=5
        )
        system.put_prize(prize)
    system.put_prize(a_prize(campaign.campaign_id, "cup"))
    cash = [
        packet_id
        for prize in system.process().prizes.list_prizes(campaign.campaign_id)
        for packet_id, _ in prize.packets
    ]

    for limit in (1, 2, 5, 9):
        listed = _walk(system.process().list_packets, campaign.campaign_id, None, None, limit=limit)

        assert _ids(listed) == sorted(_ids(rains) + cash)
    assert len(cash) == 2
    # A page that ends with the last item has no cursor.
    assert system.process().list_packets(campaign.campaign_id, None, None, None, 5)[1] is None


def test_a_cursor_of_another_list_is_refused(system: InMemorySystem) -> None:
    listed = system.process().list_packets
    packet_id = system.send("ann").packet_id
    position = f"0000000000001#{packet_id}"
    open_place = f"3.1.{packet_id}"

    for campaign_id, sender, cursors in (
        ("gala", None, (position, open_place, "", "x")),
        (None, "ann", (packet_id, open_place, "", "x")),
        (None, None, (packet_id, position, "", f"128.1.{packet_id}", f"3.x.{packet_id}")),
    ):
        for cursor in cursors:
            with pytest.raises(InvalidRequest, match="is not a cursor of this list: "):
                listed(campaign_id, sender, None, cursor, 2)


def test_the_contract_accepts_every_cursor_of_packets(system: InMemorySystem) -> None:
    campaign = system.rain()
    for _ in range(2):
        system.send_of(campaign, "ann")
    listed = system.process().list_packets
    form = f"({OPEN_CURSOR}|{SENT_CURSOR}|{PACKET_ID.pattern})$"

    for filters in ((campaign.campaign_id, None), (None, "ann"), (None, None)):
        cursor = listed(*filters, None, None, 1)[1]
        assert re.match(form, str(cursor))
    for bad in ("", "x", "32.1.x"):
        assert not re.match(form, bad)


def test_claims_are_listed_with_their_amounts_even_for_an_exclusive_packet(
    system: InMemorySystem,
) -> None:
    packet = system.send(rules=Rules(recipients=frozenset({"ann", "bob"})), count=3)
    claims = [system.grab(packet, name) for name in ("ann", "bob")]
    system.settle()
    system.clock.sleep_ms(LIFE_MS * 2)
    system.expire()
    listed = system.process().list_claims

    page, place = listed(packet.packet_id, 0, 1)
    rest, end = listed(packet.packet_id, place, 10)

    claimed = {
        (share.claimer.user_id, share.amount_fen) for share in [*page, *rest] if share.claimer
    }
    assert claimed == {
        (share.claimer.user_id, share.amount_fen)
        for claim in claims
        if (share := claim.share).claimer
    }
    assert end is None
    with pytest.raises(PacketNotFound):
        listed("A" * 31, 0, 10)


def test_operators_see_the_host_s_ids_of_users(system: InMemorySystem) -> None:
    system.send("ann")

    users = system.process().profiles.list_users(["ann", "nobody"])

    assert [(user.user_id, user.host_id) for user in users.values()] == [("ann", "ann@host")]


def test_sharers_are_counted_over_many_reads_up_to_a_bound(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_packets, "_CLAIMS_PER_READ", 2)
    monkeypatch.setattr(list_packets, "_READS", 2)
    packet = system.send(count=7, total_fen=70)
    for number, via in enumerate(["ann", "bob", "ann", None, "bob", "ann"]):
        system.process().grab_packet(packet.packet_id, a_person(f"user-{number}"), None, via)
    count = system.process().count_sharers

    first, place = count(packet.packet_id, 0)
    rest, end = count(packet.packet_id, place)

    assert (first, rest) == ({"ann": 2, "bob": 1}, {"bob": 1, "ann": 1})
    assert (place, end) == (4, None)
    with pytest.raises(PacketNotFound):
        count("A" * 31, 0)
