"""Sharded packets through the whole flow: users get their answers, whatever the cache has lost."""

import pytest

from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import EMPTIED_KEPT_MS, Quota, QuotaStatus, Share
from redpacket.packets.model.packet import Packet, shard_id, shard_of_user
from testing.builders import a_campaign
from testing.fakes import FakeQuotas
from testing.in_memory_system import InMemorySystem

PARTS = 3


def _sent(system: InMemorySystem, count: int = 2 * PARTS) -> Packet:
    system.shard_share_count = count // PARTS
    campaign = a_campaign(quota_per_user=1)
    system.campaigns.create(campaign)
    return system.send(campaign=campaign, count=count)


def _users_of(packet: Packet, part: int, number: int) -> list[str]:
    everybody = (f"user-{number}" for number in range(1000))
    theirs = [user for user in everybody if shard_of_user(packet.packet_id, user) == part]
    return theirs[:number]


def _emptied(system: InMemorySystem) -> tuple[Packet, dict[str, int]]:
    """Return a packet that users of its first shard emptied, with their share numbers."""
    packet = _sent(system)
    users = _users_of(packet, 0, packet.terms.count)
    return packet, {user: system.grab(packet, user).share.share_no for user in users}


def _lose(system: InMemorySystem, packet: Packet, part: int) -> None:
    system.memory.caches.pop(shard_id(packet.packet_id, part))


def test_shares_of_a_campaign_packet_rotate_through_all_shards(system: InMemorySystem) -> None:
    packet, owned = _emptied(system)

    assert sorted(owned.values()) == list(range(1, packet.terms.count + 1))
    with pytest.raises(PacketEmptied):
        system.grab(packet, "late")
    system.settle()
    assert system.differences() == []


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1), (1, 0), (2, 0), (0, 1, 2)])
def test_owners_get_the_same_answer_whatever_shards_were_lost(
    system: InMemorySystem, lost: tuple[int, ...]
) -> None:
    packet, owned = _emptied(system)

    for part in lost:
        _lose(system, packet, part)
        with pytest.raises(PacketEmptied):
            system.grab(packet, "late")

    for user, share_no in owned.items():
        claim = system.grab(packet, user)
        assert (claim.share.share_no, claim.is_new) == (share_no, False)


def test_losers_read_the_ledger_only_if_a_shard_lost_its_marks(system: InMemorySystem) -> None:
    packet, _ = _emptied(system)
    calls: list[str] = []
    find_share_of = system.packets.find_share_of

    def counted(packet_id: str, user_id: str, *, is_strong: bool = True) -> Share | None:
        calls.append(user_id)
        return find_share_of(packet_id, user_id, is_strong=is_strong)

    system.packets.find_share_of = counted  # type: ignore[method-assign]
    *_, first = _users_of(packet, 0, 7)
    *_, second = _users_of(packet, 1, 1)

    for user in (first, second):
        with pytest.raises(PacketEmptied):
            system.grab(packet, user)
    assert calls == []
    _lose(system, packet, 0)
    for user in (first, second):
        with pytest.raises(PacketEmptied):
            system.grab(packet, user)

    assert calls == [first]


def test_an_owner_who_arrives_with_the_last_shares_gets_their_own(system: InMemorySystem) -> None:
    packet = _sent(system)
    first, second, owner, third, fourth = _users_of(packet, 0, 5)
    for user in (first, second):
        # Their Lambdas crash, and the cache loses their numbers.
        system.claim_cache.take(packet.packet_id, user, str(packet.terms))
    claim = system.grab(packet, owner)
    for number in (1, 2):
        for user in _users_of(packet, number, 2):
            system.claim_cache.take(packet.packet_id, user, str(packet.terms))
    _lose(system, packet, 0)
    system.claim_cache.load(packet, [], 0)

    class Rivals(FakeQuotas):
        def reserve(
            self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
        ) -> QuotaStatus:
            for rival in (third, fourth):
                system.claim_cache.take(packet.packet_id, rival, str(packet.terms))
            return super().reserve(quota, user_id, packet_id, claimed_count=claimed_count)

    system.quotas = Rivals()

    again = system.grab(packet, owner)

    assert (again.share, again.is_new) == (claim.share, False)


def test_a_share_that_belongs_to_another_user_reloads_its_shard(
    system: InMemorySystem,
) -> None:
    packet = _sent(system)
    owner, other = _users_of(packet, 1, 2)
    before = system.memory.snapshot()
    claim = system.grab(packet, owner)
    system.memory.fail_over(before)

    collided = system.grab(packet, other)

    assert "share_collision" in system.logger.events
    assert collided.share.share_no != claim.share.share_no
    assert system.memory.holders(shard_id(packet.packet_id, 1))[owner] == 1


def test_a_number_over_the_quota_is_left_to_another_user(system: InMemorySystem) -> None:
    packet = _sent(system)
    campaign_id = packet.rules.campaign_id or ""
    campaign = system.campaigns.find_campaign(campaign_id)
    other = system.send(campaign=campaign, count=2)
    users = _users_of(packet, 0, 7)
    for user in users[:5]:
        system.grab(packet, user)
    system.grab(other, users[5])
    system.reserved.forget()

    with pytest.raises(Exception, match="limit on shares"):
        system.grab(packet, users[5])

    system.pass_time(EMPTIED_KEPT_MS)
    assert system.grab(packet, users[6]).is_new
    with pytest.raises(PacketEmptied):
        system.grab(packet, "late")


def test_a_closed_packet_answers_its_owners_whatever_was_lost_before(
    system: InMemorySystem,
) -> None:
    packet = _sent(system)
    owned = {user: system.grab(packet, user).share.share_no for user in _users_of(packet, 0, 5)}
    system.settle()
    system.memory.caches.clear()
    system.pass_time(60_000)

    system.expire()

    for user, share_no in owned.items():
        assert system.grab(packet, user).share.share_no == share_no
    assert system.differences() == []
