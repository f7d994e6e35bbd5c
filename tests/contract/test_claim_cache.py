"""One suite for the claim cache in memory and the claim cache on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.parted_claims import PartedClaims
from redpacket.domain.claim import EMPTIED_KEPT_MS, GrabStatus
from redpacket.domain.packet import Opening, Packet, PacketStatus, Rules
from redpacket.ports.packets import ClaimCache
from testing.builders import a_claim, a_packet, a_refund
from testing.fakes import FakeClaimCache, FakeClock
from testing.servers import OperatorCache


@pytest.fixture(params=["fake", "redis", "parted"])
def claim_cache(request: pytest.FixtureRequest) -> Iterator[ClaimCache]:
    if request.param == "fake":
        yield FakeClaimCache(FakeClock(_now_ms()))
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        claim_cache = RedisClaims(cache)
        yield (
            claim_cache
            if request.param == "redis"
            else PartedClaims(claim_cache, clock=FakeClock())
        )


def _now_ms() -> int:
    return int(time.time() * 1000)


def _pass_time(claim_cache: ClaimCache, ms: int) -> None:
    if isinstance(claim_cache, FakeClaimCache):
        claim_cache.clock.sleep_ms(ms)
    else:
        time.sleep(ms / 1000)


def _packet(count: int = 3, **changes: int) -> Packet:
    return a_packet(100 * count, count, created_at_ms=_now_ms() - 1000, **changes)


def _gated(claim_cache: ClaimCache, count: int = 3, **changes: int) -> Packet:
    packet = replace(_packet(count, **changes), rules=Rules(opening=Opening.TWO_STEP))
    claim_cache.load(packet, [])
    return packet


def _admit(
    claim_cache: ClaimCache, packet: Packet, user_id: str, admitted_max: int = 2
) -> tuple[str, int]:
    outcome = claim_cache.admit(
        packet.packet_id, user_id, life_ms=60_000, admitted_max=admitted_max
    )
    return outcome.status, outcome.number


def _loaded(claim_cache: ClaimCache, count: int = 3) -> Packet:
    packet = _packet(count)
    claim_cache.load(packet, [])
    return packet


def _grab(claim_cache: ClaimCache, packet: Packet, user_id: str) -> tuple[str, int | None]:
    outcome = claim_cache.grab(packet.packet_id, user_id)
    return outcome.status, outcome.share_no


def test_a_packet_that_was_never_loaded_says_so(claim_cache: ClaimCache) -> None:
    assert _grab(claim_cache, _packet(), "ann") == ("packet_not_loaded", None)


def test_numbers_are_handed_out_in_order_and_once_per_user(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)

    assert _grab(claim_cache, packet, "ann") == ("claimed", 1)
    assert _grab(claim_cache, packet, "bob") == ("claimed", 2)
    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "cat") == ("claimed", 3)
    assert _grab(claim_cache, packet, "dan") == ("packet_emptied", None)
    assert _grab(claim_cache, packet, "bob") == ("already_claimed", 2)


def test_one_of_many_is_told_to_load_a_part(claim_cache: ClaimCache) -> None:
    packet_id = _packet().packet_id

    answers = [claim_cache.begin_load(packet_id, 0, 300) for _ in range(3)]

    assert answers == [True, False, False]
    assert claim_cache.begin_load(packet_id, 1, 300)
    _pass_time(claim_cache, 310)
    assert claim_cache.begin_load(packet_id, 0, 300)


def test_a_turn_can_be_lengthened_and_ended(claim_cache: ClaimCache) -> None:
    packet_id = _packet().packet_id
    assert claim_cache.begin_load(packet_id, 0, 100)

    claim_cache.hold_load(packet_id, 0, 5_000)
    _pass_time(claim_cache, 110)
    assert not claim_cache.begin_load(packet_id, 0, 100)
    claim_cache.hold_load(packet_id, 0, 0)

    assert claim_cache.begin_load(packet_id, 0, 100)


def test_ending_a_turn_that_is_over_changes_nothing(claim_cache: ClaimCache) -> None:
    packet_id = _packet().packet_id

    claim_cache.hold_load(packet_id, 0, 5_000)

    assert claim_cache.begin_load(packet_id, 0, 100)


def test_a_board_tells_whether_a_packet_is_loaded(claim_cache: ClaimCache) -> None:
    packet = _packet()
    assert not claim_cache.is_loaded(packet.packet_id, 0)

    claim_cache.load(packet, [])

    assert claim_cache.is_loaded(packet.packet_id, 0)


def test_winners_are_told_the_terms(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)

    outcome = claim_cache.grab(packet.packet_id, "ann")

    assert outcome.terms == str(packet.terms)
    assert claim_cache.grab(packet.packet_id, "ann").terms == str(packet.terms)


def test_the_window_is_checked(claim_cache: ClaimCache) -> None:
    early = _packet(starts_at_ms=_now_ms() + 60_000)
    late = _packet(expires_at_ms=_now_ms() - 500)
    for packet in (early, late):
        claim_cache.load(packet, [])

    assert _grab(claim_cache, early, "ann") == ("packet_not_started", None)
    assert _grab(claim_cache, late, "ann") == ("packet_expired", None)


def test_closing_ends_a_packet_but_not_what_was_claimed(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")

    claim_cache.close(packet.packet_id)
    claim_cache.close(packet.packet_id)

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "bob") == ("packet_expired", None)


def test_an_emptied_packet_stays_emptied_when_it_is_closed(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=1)
    claim_cache.grab(packet.packet_id, "ann")

    claim_cache.close(packet.packet_id)

    assert _grab(claim_cache, packet, "bob") == ("packet_emptied", None)


def test_closing_what_was_never_loaded_does_nothing(claim_cache: ClaimCache) -> None:
    packet = _packet()

    claim_cache.close(packet.packet_id)

    assert _grab(claim_cache, packet, "ann") == ("packet_not_loaded", None)


def test_loading_again_takes_nothing_back(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")

    claim_cache.load(packet, [])

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "bob") == ("claimed", 2)


def test_loading_again_does_not_open_what_is_closed(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.close(packet.packet_id)

    claim_cache.load(packet, [])

    assert _grab(claim_cache, packet, "ann") == ("packet_expired", None)


def test_a_lost_packet_comes_back_with_its_claims_and_its_gaps(claim_cache: ClaimCache) -> None:
    packet = _packet(4)
    claim_cache.load(packet, [a_claim(packet, 3, "cat"), a_claim(packet, 1, "ann")])

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "cat") == ("already_claimed", 3)
    assert _grab(claim_cache, packet, "dan") == ("claimed", 4)
    assert _grab(claim_cache, packet, "bob") == ("claimed", 2)
    assert _grab(claim_cache, packet, "eve") == ("packet_emptied", None)


def test_a_lost_tail_is_brought_back_by_a_load(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=5)
    claim_cache.grab(packet.packet_id, "new")  # 1 again: the failover forgot ann

    claim_cache.load(packet, [a_claim(packet, 1, "ann"), a_claim(packet, 3, "cat")])

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "cat") == ("already_claimed", 3)
    assert [_grab(claim_cache, packet, user)[1] for user in ("d", "e", "f")] == [4, 5, 2]
    assert _grab(claim_cache, packet, "g") == ("packet_emptied", None)


def test_a_user_who_does_not_own_a_number_gets_the_next_one(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "bob")

    claim_cache.revoke(packet.packet_id, "bob", 1)
    claim_cache.revoke(packet.packet_id, "bob", 1)

    assert _grab(claim_cache, packet, "bob") == ("claimed", 2)
    assert _grab(claim_cache, packet, "cat") == ("claimed", 3)
    assert _grab(claim_cache, packet, "dan") == ("packet_emptied", None)


def test_disowning_names_the_number_so_that_a_repeat_is_harmless(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "bob")

    claim_cache.revoke(packet.packet_id, "bob", 2)

    assert _grab(claim_cache, packet, "bob") == ("already_claimed", 1)


def test_a_number_that_is_given_back_is_handed_out_again(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "new")
    claim_cache.grab(packet.packet_id, "ann")  # durably owns 1

    for _ in range(2):
        claim_cache.reassign(packet.packet_id, "ann", 2, owned_no=1)

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert [_grab(claim_cache, packet, user) for user in ("bob", "cat", "dan")] == [
        ("claimed", 3),
        ("claimed", 2),
        ("packet_emptied", None),
    ]


def test_giving_back_the_last_number_reopens_an_emptied_packet(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=2)
    claim_cache.grab(packet.packet_id, "new")
    claim_cache.grab(packet.packet_id, "ann")
    assert _grab(claim_cache, packet, "bob") == ("packet_emptied", None)

    claim_cache.reassign(packet.packet_id, "ann", 2, owned_no=1)

    assert _grab(claim_cache, packet, "bob") == ("packet_emptied", None)
    assert claim_cache.emptied_by(packet.packet_id) is None
    _pass_time(claim_cache, EMPTIED_KEPT_MS)
    assert _grab(claim_cache, packet, "bob") == ("claimed", 2)
    assert _grab(claim_cache, packet, "cat") == ("packet_emptied", None)


def test_a_packet_in_two_steps_reopens_after_a_second_too(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache, count=1)
    claim_cache.take(packet.packet_id, "ann", str(packet.terms))

    claim_cache.release(packet.packet_id, "ann", 1)

    assert _admit(claim_cache, packet, "bob") == ("packet_emptied", 0)
    _pass_time(claim_cache, EMPTIED_KEPT_MS)
    assert _admit(claim_cache, packet, "bob")[0] == "admitted"


def test_who_emptied_a_packet_is_known_once_it_is(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=2)
    claim_cache.grab(packet.packet_id, "ann")
    assert claim_cache.emptied_by(packet.packet_id) is None

    claim_cache.grab(packet.packet_id, "bob")

    assert claim_cache.emptied_by(packet.packet_id) == frozenset({"ann", "bob"})
    assert claim_cache.grab(packet.packet_id, "cat").terms == str(packet.terms)
    assert claim_cache.emptied_by(_packet().packet_id) is None


def test_giving_back_does_not_reopen_a_closed_packet(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")
    claim_cache.close(packet.packet_id)

    claim_cache.reassign(packet.packet_id, "ann", 1, owned_no=3)

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 3)
    assert _grab(claim_cache, packet, "bob") == ("packet_expired", None)


def test_a_closing_packet_is_loaded_as_closed(claim_cache: ClaimCache) -> None:
    packet = replace(_packet(), status=PacketStatus.CLOSING)

    claim_cache.load(packet, [a_claim(packet, 1, "ann"), a_refund(packet, 2)])

    assert _grab(claim_cache, packet, "ann") == ("already_claimed", 1)
    assert _grab(claim_cache, packet, "bob") == ("packet_expired", None)


def test_a_packet_whose_shares_are_all_claimed_is_loaded_as_emptied(
    claim_cache: ClaimCache,
) -> None:
    packet = replace(_packet(2), status=PacketStatus.CLOSED)

    claim_cache.load(packet, [a_claim(packet, 1, "ann"), a_claim(packet, 2, "bob")])

    assert _grab(claim_cache, packet, "cat") == ("packet_emptied", None)


def test_a_packet_with_rules_hands_out_nothing_until_somebody_says_they_are_met(
    claim_cache: ClaimCache,
) -> None:
    packet = _gated(claim_cache)

    asked = claim_cache.grab(packet.packet_id, "ann")
    taken = claim_cache.take(packet.packet_id, "ann", asked.terms)
    again = claim_cache.grab(packet.packet_id, "ann")

    assert (asked.status, asked.share_no, asked.terms) == ("packet_gated", None, str(packet.terms))
    assert (taken.status, taken.share_no, taken.terms) == ("claimed", 1, str(packet.terms))
    assert (again.status, again.share_no, again.terms) == ("already_claimed", 1, str(packet.terms))
    assert asked.is_gated
    assert taken.is_gated
    assert again.is_gated


def test_a_packet_with_rules_that_is_emptied_or_closed_asks_for_nothing(
    claim_cache: ClaimCache,
) -> None:
    emptied, closed = _gated(claim_cache, count=1), _gated(claim_cache)
    claim_cache.take(emptied.packet_id, "ann", str(emptied.terms))
    claim_cache.close(closed.packet_id)

    assert _grab(claim_cache, emptied, "bob") == ("packet_emptied", None)
    assert _grab(claim_cache, closed, "bob") == ("packet_expired", None)


def test_the_window_of_a_packet_with_rules_is_checked_when_a_share_is_taken(
    claim_cache: ClaimCache,
) -> None:
    early = _gated(claim_cache, starts_at_ms=_now_ms() + 60_000)
    late = _gated(claim_cache, expires_at_ms=_now_ms() - 500)

    assert claim_cache.take(early.packet_id, "ann", "").status == "packet_not_started"
    assert claim_cache.take(late.packet_id, "ann", "").status == "packet_expired"


def test_a_plain_packet_needs_no_rules_met(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)

    assert not claim_cache.grab(packet.packet_id, "ann").is_gated


def test_as_many_are_admitted_as_may_be_at_one_time(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache)

    ann, bob = _admit(claim_cache, packet, "ann"), _admit(claim_cache, packet, "bob")
    cat = _admit(claim_cache, packet, "cat")

    assert [ann[0], bob[0], cat[0]] == ["admitted", "admitted", "crowded"]
    assert cat[1] == ann[1]
    assert abs(ann[1] - _now_ms() - 60_000) < 2_000


def test_who_is_admitted_already_keeps_their_place_and_its_end(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache)
    first = _admit(claim_cache, packet, "ann", admitted_max=1)

    assert _admit(claim_cache, packet, "ann", admitted_max=1) == first


def test_an_admission_that_ends_makes_room(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache)
    claim_cache.admit(packet.packet_id, "ann", life_ms=0, admitted_max=1)

    assert _admit(claim_cache, packet, "bob", admitted_max=1)[0] == "admitted"


def test_no_user_is_admitted_where_there_is_nothing_to_open(claim_cache: ClaimCache) -> None:
    emptied, closed, unknown = _gated(claim_cache, count=1), _gated(claim_cache), _packet()
    early = _gated(claim_cache, starts_at_ms=_now_ms() + 60_000)
    late = _gated(claim_cache, expires_at_ms=_now_ms() - 500)
    claim_cache.take(emptied.packet_id, "ann", str(emptied.terms))
    claim_cache.close(closed.packet_id)

    assert _admit(claim_cache, emptied, "ann") == ("already_claimed", 1)
    assert _admit(claim_cache, emptied, "bob") == ("packet_emptied", 0)
    assert _admit(claim_cache, closed, "bob") == ("packet_expired", 0)
    assert _admit(claim_cache, late, "bob") == ("packet_expired", 0)
    assert _admit(claim_cache, early, "bob") == ("packet_not_started", 0)
    assert _admit(claim_cache, unknown, "bob") == ("packet_not_loaded", 0)


def test_a_number_that_is_freed_is_handed_out_again(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=2)
    claim_cache.grab(packet.packet_id, "ann")

    for _ in range(2):
        claim_cache.release(packet.packet_id, "ann", 1)

    assert [_grab(claim_cache, packet, user) for user in ("bob", "cat", "dan")] == [
        ("claimed", 2),
        ("claimed", 1),
        ("packet_emptied", None),
    ]


def test_freeing_the_last_number_reopens_an_emptied_packet(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=1)
    claim_cache.grab(packet.packet_id, "ann")

    claim_cache.release(packet.packet_id, "ann", 1)

    _pass_time(claim_cache, EMPTIED_KEPT_MS)
    assert _grab(claim_cache, packet, "ann") == ("claimed", 1)


def _is_last(claim_cache: ClaimCache, packet: Packet, user_id: str) -> bool:
    return claim_cache.grab(packet.packet_id, user_id).is_last


def test_who_has_a_share_of_an_emptied_packet_is_known_to(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)

    assert [_is_last(claim_cache, packet, user) for user in ("ann", "bob", "ann", "cat")] == [
        *(False, False, False),
        True,
    ]
    assert [_is_last(claim_cache, packet, user) for user in ("ann", "cat", "dan")] == [
        True,
        True,
        False,
    ]


def test_a_closed_packet_is_not_taken_for_an_emptied_one(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")
    claim_cache.close(packet.packet_id)

    assert not _is_last(claim_cache, packet, "ann")


def test_a_number_that_came_back_is_the_last_one_again(claim_cache: ClaimCache) -> None:
    packet = _loaded(claim_cache, count=1)
    assert _is_last(claim_cache, packet, "ann")

    claim_cache.release(packet.packet_id, "ann", 1)

    _pass_time(claim_cache, EMPTIED_KEPT_MS)
    assert _is_last(claim_cache, packet, "bob")


def test_the_last_share_of_a_packet_with_rules_says_so(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache, count=2)

    taken = [claim_cache.take(packet.packet_id, user, "") for user in ("ann", "bob", "bob", "ann")]

    assert [outcome.is_last for outcome in taken] == [False, True, True, True]
    assert [outcome.share_no for outcome in taken] == [1, 2, 2, 1]
    assert _is_last(claim_cache, packet, "ann")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_number_is_handed_out_exactly_once(claim_cache: ClaimCache, count: int) -> None:
    packet = _loaded(claim_cache, count)

    outcomes = [_grab(claim_cache, packet, f"user-{number}") for number in range(count + 2)]

    numbers = [share_no for status, share_no in outcomes if status == GrabStatus.CLAIMED]
    assert numbers == list(range(1, count + 1))
