"""Packets in parts, through the whole flow: what a user hears, whatever the cache has lost."""

from __future__ import annotations

import pytest

from redpacket.domain.claim import EMPTIED_KEPT_MS, Quota, QuotaStatus, ShareFate
from redpacket.domain.errors import PacketEmptied
from redpacket.domain.packet import Packet, part_id, part_of_user
from tests.builders import a_campaign
from tests.fakes import FakeQuotas
from tests.town import Town

PARTS = 3


def _sent(town: Town, count: int = 2 * PARTS) -> Packet:
    town.part_share_count = count // PARTS
    campaign = a_campaign(quota_per_user=1)
    town.campaigns.create(campaign)
    return town.send(campaign=campaign, count=count)


def _users_of(packet: Packet, part: int, number: int) -> list[str]:
    everybody = (f"user-{number}" for number in range(1000))
    theirs = [user for user in everybody if part_of_user(packet.packet_id, user) == part]
    return theirs[:number]


def _emptied(town: Town) -> tuple[Packet, dict[str, int]]:
    """Return a packet whose every share went to users of its first part, by user."""
    packet = _sent(town)
    users = _users_of(packet, 0, packet.terms.count)
    return packet, {user: town.grab(packet, user).share.share_no for user in users}


def _lose(town: Town, packet: Packet, part: int) -> None:
    town.memory.boards.pop(part_id(packet.packet_id, part))


def test_a_campaigns_shares_go_round_over_all_parts(town: Town) -> None:
    packet, owned = _emptied(town)

    assert sorted(owned.values()) == list(range(1, packet.terms.count + 1))
    with pytest.raises(PacketEmptied):
        town.grab(packet, "late")
    town.settle()
    assert town.differences() == []


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1), (1, 0), (2, 0), (0, 1, 2)])
def test_owners_hear_the_same_whatever_parts_were_lost(town: Town, lost: tuple[int, ...]) -> None:
    packet, owned = _emptied(town)

    for part in lost:
        _lose(town, packet, part)
        with pytest.raises(PacketEmptied):
            town.grab(packet, "late")

    for user, share_no in owned.items():
        claim = town.grab(packet, user)
        assert (claim.share.share_no, claim.is_new) == (share_no, False)


def test_losers_ask_the_ledger_only_where_a_part_lost_its_notes(town: Town) -> None:
    packet, _ = _emptied(town)
    asked: list[str] = []
    find_share_of = town.packets.find_share_of

    def counted(packet_id: str, user_id: str) -> ShareFate | None:
        asked.append(user_id)
        return find_share_of(packet_id, user_id)

    town.packets.find_share_of = counted  # type: ignore[method-assign]
    *_, first = _users_of(packet, 0, 7)
    *_, second = _users_of(packet, 1, 1)

    for user in (first, second):
        with pytest.raises(PacketEmptied):
            town.grab(packet, user)
    assert asked == []
    _lose(town, packet, 0)
    for user in (first, second):
        with pytest.raises(PacketEmptied):
            town.grab(packet, user)

    assert asked == [first]


def test_an_owner_who_meets_the_last_shares_going_hears_of_their_own(town: Town) -> None:
    packet = _sent(town)
    first, second, owner, third, fourth = _users_of(packet, 0, 5)
    for user in (first, second):
        # Their Lambdas die, and the cache forgets their numbers.
        town.board.take(packet.packet_id, user, str(packet.terms))
    claim = town.grab(packet, owner)
    for number in (1, 2):
        for user in _users_of(packet, number, 2):
            town.board.take(packet.packet_id, user, str(packet.terms))
    _lose(town, packet, 0)
    town.board.load(packet, [], 0)

    class Rivals(FakeQuotas):
        def reserve(
            self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
        ) -> QuotaStatus:
            for rival in (third, fourth):
                town.board.take(packet.packet_id, rival, str(packet.terms))
            return super().reserve(quota, user_id, packet_id, claimed_count=claimed_count)

    town.quotas = Rivals()

    again = town.grab(packet, owner)

    assert (again.share, again.is_new) == (claim.share, False)


def test_a_share_that_is_somebody_elses_brings_back_the_part_that_it_is_of(town: Town) -> None:
    packet = _sent(town)
    owner, other = _users_of(packet, 1, 2)
    before = town.memory.snapshot()
    claim = town.grab(packet, owner)
    town.memory.fail_over(before)

    collided = town.grab(packet, other)

    assert "share_collision" in town.journal.events
    assert collided.share.share_no != claim.share.share_no
    assert town.memory.holders(part_id(packet.packet_id, 1))[owner] == 1


def test_a_number_over_the_quota_is_for_somebody_else(town: Town) -> None:
    packet = _sent(town)
    campaign_id = packet.rules.campaign_id or ""
    campaign = town.campaigns.find_campaign(campaign_id)
    other = town.send(campaign=campaign, count=2)
    users = _users_of(packet, 0, 7)
    for user in users[:5]:
        town.grab(packet, user)
    town.grab(other, users[5])
    town.reserved.forget()

    with pytest.raises(Exception, match="as many shares"):
        town.grab(packet, users[5])

    town.pass_time(EMPTIED_KEPT_MS)
    assert town.grab(packet, users[6]).is_new
    with pytest.raises(PacketEmptied):
        town.grab(packet, "late")


def test_a_closed_packet_tells_its_owners_whatever_was_lost_before(town: Town) -> None:
    packet = _sent(town)
    owned = {user: town.grab(packet, user).share.share_no for user in _users_of(packet, 0, 5)}
    town.settle()
    town.memory.boards.clear()
    town.pass_time(60_000)

    town.expire()

    for user, share_no in owned.items():
        assert town.grab(packet, user).share.share_no == share_no
    assert town.differences() == []
