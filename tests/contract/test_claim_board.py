"""One suite for the board in memory and the board on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.parted_claims import PartedBoard
from redpacket.domain.claim import EMPTIED_KEPT_MS, GrabStatus
from redpacket.domain.packet import Opening, Packet, PacketStatus, Rules
from redpacket.ports.packets import ClaimBoard
from tests.builders import a_claim, a_packet, a_refund
from tests.fakes import FakeBoard, FakeClock
from tests.faults.servers import OperatorCache


@pytest.fixture(params=["fake", "redis", "parted"])
def board(request: pytest.FixtureRequest) -> Iterator[ClaimBoard]:
    if request.param == "fake":
        yield FakeBoard(FakeClock(_now_ms()))
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        board = RedisClaims(cache)
        yield board if request.param == "redis" else PartedBoard(board, clock=FakeClock())


def _now_ms() -> int:
    return int(time.time() * 1000)


def _pass_time(board: ClaimBoard, ms: int) -> None:
    if isinstance(board, FakeBoard):
        board.clock.sleep_ms(ms)
    else:
        time.sleep(ms / 1000)


def _packet(count: int = 3, **changes: int) -> Packet:
    return a_packet(100 * count, count, created_at_ms=_now_ms() - 1000, **changes)


def _gated(board: ClaimBoard, count: int = 3, **changes: int) -> Packet:
    packet = replace(_packet(count, **changes), rules=Rules(opening=Opening.TWO_STEP))
    board.load(packet, [])
    return packet


def _admit(
    board: ClaimBoard, packet: Packet, user_id: str, admitted_max: int = 2
) -> tuple[str, int]:
    outcome = board.admit(packet.packet_id, user_id, life_ms=60_000, admitted_max=admitted_max)
    return outcome.status, outcome.number


def _loaded(board: ClaimBoard, count: int = 3) -> Packet:
    packet = _packet(count)
    board.load(packet, [])
    return packet


def _grab(board: ClaimBoard, packet: Packet, user_id: str) -> tuple[str, int | None]:
    outcome = board.grab(packet.packet_id, user_id)
    return outcome.status, outcome.share_no


def test_a_packet_that_was_never_loaded_says_so(board: ClaimBoard) -> None:
    assert _grab(board, _packet(), "ann") == ("packet_not_loaded", None)


def test_numbers_are_handed_out_in_order_and_once_per_user(board: ClaimBoard) -> None:
    packet = _loaded(board)

    assert _grab(board, packet, "ann") == ("claimed", 1)
    assert _grab(board, packet, "bob") == ("claimed", 2)
    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "cat") == ("claimed", 3)
    assert _grab(board, packet, "dan") == ("packet_emptied", None)
    assert _grab(board, packet, "bob") == ("already_claimed", 2)


def test_one_of_many_is_told_to_load_a_part(board: ClaimBoard) -> None:
    packet_id = _packet().packet_id

    answers = [board.begin_load(packet_id, 0, 300) for _ in range(3)]

    assert answers == [True, False, False]
    assert board.begin_load(packet_id, 1, 300)
    _pass_time(board, 310)
    assert board.begin_load(packet_id, 0, 300)


def test_a_turn_can_be_lengthened_and_ended(board: ClaimBoard) -> None:
    packet_id = _packet().packet_id
    assert board.begin_load(packet_id, 0, 100)

    board.hold_load(packet_id, 0, 5_000)
    _pass_time(board, 110)
    assert not board.begin_load(packet_id, 0, 100)
    board.hold_load(packet_id, 0, 0)

    assert board.begin_load(packet_id, 0, 100)


def test_ending_a_turn_that_is_over_changes_nothing(board: ClaimBoard) -> None:
    packet_id = _packet().packet_id

    board.hold_load(packet_id, 0, 5_000)

    assert board.begin_load(packet_id, 0, 100)


def test_a_board_tells_whether_a_packet_is_loaded(board: ClaimBoard) -> None:
    packet = _packet()
    assert not board.is_loaded(packet.packet_id, 0)

    board.load(packet, [])

    assert board.is_loaded(packet.packet_id, 0)


def test_winners_are_told_the_terms(board: ClaimBoard) -> None:
    packet = _loaded(board)

    outcome = board.grab(packet.packet_id, "ann")

    assert outcome.terms == str(packet.terms)
    assert board.grab(packet.packet_id, "ann").terms == str(packet.terms)


def test_the_window_is_checked(board: ClaimBoard) -> None:
    early = _packet(starts_at_ms=_now_ms() + 60_000)
    late = _packet(expires_at_ms=_now_ms() - 500)
    for packet in (early, late):
        board.load(packet, [])

    assert _grab(board, early, "ann") == ("packet_not_started", None)
    assert _grab(board, late, "ann") == ("packet_expired", None)


def test_closing_ends_a_packet_but_not_what_was_claimed(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "ann")

    board.close(packet.packet_id)
    board.close(packet.packet_id)

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "bob") == ("packet_expired", None)


def test_an_emptied_packet_stays_emptied_when_it_is_closed(board: ClaimBoard) -> None:
    packet = _loaded(board, count=1)
    board.grab(packet.packet_id, "ann")

    board.close(packet.packet_id)

    assert _grab(board, packet, "bob") == ("packet_emptied", None)


def test_closing_what_was_never_loaded_does_nothing(board: ClaimBoard) -> None:
    packet = _packet()

    board.close(packet.packet_id)

    assert _grab(board, packet, "ann") == ("packet_not_loaded", None)


def test_loading_again_takes_nothing_back(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "ann")

    board.load(packet, [])

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "bob") == ("claimed", 2)


def test_loading_again_does_not_open_what_is_closed(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.close(packet.packet_id)

    board.load(packet, [])

    assert _grab(board, packet, "ann") == ("packet_expired", None)


def test_a_lost_packet_comes_back_with_its_claims_and_its_gaps(board: ClaimBoard) -> None:
    packet = _packet(4)
    board.load(packet, [a_claim(packet, 3, "cat"), a_claim(packet, 1, "ann")])

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "cat") == ("already_claimed", 3)
    assert _grab(board, packet, "dan") == ("claimed", 4)
    assert _grab(board, packet, "bob") == ("claimed", 2)
    assert _grab(board, packet, "eve") == ("packet_emptied", None)


def test_a_lost_tail_is_brought_back_by_a_load(board: ClaimBoard) -> None:
    packet = _loaded(board, count=5)
    board.grab(packet.packet_id, "new")  # 1 again: the failover forgot ann

    board.load(packet, [a_claim(packet, 1, "ann"), a_claim(packet, 3, "cat")])

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "cat") == ("already_claimed", 3)
    assert [_grab(board, packet, user)[1] for user in ("d", "e", "f")] == [4, 5, 2]
    assert _grab(board, packet, "g") == ("packet_emptied", None)


def test_whoever_turns_out_not_to_own_a_number_gets_the_next_one(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "bob")

    board.disown(packet.packet_id, "bob", 1)
    board.disown(packet.packet_id, "bob", 1)

    assert _grab(board, packet, "bob") == ("claimed", 2)
    assert _grab(board, packet, "cat") == ("claimed", 3)
    assert _grab(board, packet, "dan") == ("packet_emptied", None)


def test_disowning_names_the_number_so_that_a_repeat_is_harmless(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "bob")

    board.disown(packet.packet_id, "bob", 2)

    assert _grab(board, packet, "bob") == ("already_claimed", 1)


def test_a_number_that_is_given_back_is_handed_out_again(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "new")
    board.grab(packet.packet_id, "ann")  # durably owns 1

    for _ in range(2):
        board.give_back(packet.packet_id, "ann", 2, owned_no=1)

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert [_grab(board, packet, user) for user in ("bob", "cat", "dan")] == [
        ("claimed", 3),
        ("claimed", 2),
        ("packet_emptied", None),
    ]


def test_giving_back_the_last_number_reopens_an_emptied_packet(board: ClaimBoard) -> None:
    packet = _loaded(board, count=2)
    board.grab(packet.packet_id, "new")
    board.grab(packet.packet_id, "ann")
    assert _grab(board, packet, "bob") == ("packet_emptied", None)

    board.give_back(packet.packet_id, "ann", 2, owned_no=1)

    assert _grab(board, packet, "bob") == ("packet_emptied", None)
    assert board.emptied_by(packet.packet_id) is None
    _pass_time(board, EMPTIED_KEPT_MS)
    assert _grab(board, packet, "bob") == ("claimed", 2)
    assert _grab(board, packet, "cat") == ("packet_emptied", None)


def test_a_packet_in_two_steps_reopens_after_a_second_too(board: ClaimBoard) -> None:
    packet = _gated(board, count=1)
    board.take(packet.packet_id, "ann", str(packet.terms))

    board.free(packet.packet_id, "ann", 1)

    assert _admit(board, packet, "bob") == ("packet_emptied", 0)
    _pass_time(board, EMPTIED_KEPT_MS)
    assert _admit(board, packet, "bob")[0] == "admitted"


def test_who_emptied_a_packet_is_known_once_it_is(board: ClaimBoard) -> None:
    packet = _loaded(board, count=2)
    board.grab(packet.packet_id, "ann")
    assert board.emptied_by(packet.packet_id) is None

    board.grab(packet.packet_id, "bob")

    assert board.emptied_by(packet.packet_id) == frozenset({"ann", "bob"})
    assert board.grab(packet.packet_id, "cat").terms == str(packet.terms)
    assert board.emptied_by(_packet().packet_id) is None


def test_giving_back_does_not_reopen_a_closed_packet(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "ann")
    board.close(packet.packet_id)

    board.give_back(packet.packet_id, "ann", 1, owned_no=3)

    assert _grab(board, packet, "ann") == ("already_claimed", 3)
    assert _grab(board, packet, "bob") == ("packet_expired", None)


def test_a_closing_packet_is_loaded_as_closed(board: ClaimBoard) -> None:
    packet = replace(_packet(), status=PacketStatus.CLOSING)

    board.load(packet, [a_claim(packet, 1, "ann"), a_refund(packet, 2)])

    assert _grab(board, packet, "ann") == ("already_claimed", 1)
    assert _grab(board, packet, "bob") == ("packet_expired", None)


def test_a_packet_whose_shares_are_all_claimed_is_loaded_as_emptied(board: ClaimBoard) -> None:
    packet = replace(_packet(2), status=PacketStatus.CLOSED)

    board.load(packet, [a_claim(packet, 1, "ann"), a_claim(packet, 2, "bob")])

    assert _grab(board, packet, "cat") == ("packet_emptied", None)


def test_a_packet_with_rules_hands_out_nothing_until_somebody_says_they_are_met(
    board: ClaimBoard,
) -> None:
    packet = _gated(board)

    asked = board.grab(packet.packet_id, "ann")
    taken = board.take(packet.packet_id, "ann", asked.terms)
    again = board.grab(packet.packet_id, "ann")

    assert (asked.status, asked.share_no, asked.terms) == ("packet_gated", None, str(packet.terms))
    assert (taken.status, taken.share_no, taken.terms) == ("claimed", 1, str(packet.terms))
    assert (again.status, again.share_no, again.terms) == ("already_claimed", 1, str(packet.terms))
    assert asked.is_gated
    assert taken.is_gated
    assert again.is_gated


def test_a_packet_with_rules_that_is_emptied_or_closed_asks_for_nothing(board: ClaimBoard) -> None:
    emptied, closed = _gated(board, count=1), _gated(board)
    board.take(emptied.packet_id, "ann", str(emptied.terms))
    board.close(closed.packet_id)

    assert _grab(board, emptied, "bob") == ("packet_emptied", None)
    assert _grab(board, closed, "bob") == ("packet_expired", None)


def test_the_window_of_a_packet_with_rules_is_checked_when_a_share_is_taken(
    board: ClaimBoard,
) -> None:
    early = _gated(board, starts_at_ms=_now_ms() + 60_000)
    late = _gated(board, expires_at_ms=_now_ms() - 500)

    assert board.take(early.packet_id, "ann", "").status == "packet_not_started"
    assert board.take(late.packet_id, "ann", "").status == "packet_expired"


def test_a_plain_packet_needs_no_rules_met(board: ClaimBoard) -> None:
    packet = _loaded(board)

    assert not board.grab(packet.packet_id, "ann").is_gated


def test_as_many_are_admitted_as_may_be_at_one_time(board: ClaimBoard) -> None:
    packet = _gated(board)

    ann, bob = _admit(board, packet, "ann"), _admit(board, packet, "bob")
    cat = _admit(board, packet, "cat")

    assert [ann[0], bob[0], cat[0]] == ["admitted", "admitted", "crowded"]
    assert cat[1] == ann[1]
    assert abs(ann[1] - _now_ms() - 60_000) < 2_000


def test_who_is_admitted_already_keeps_their_place_and_its_end(board: ClaimBoard) -> None:
    packet = _gated(board)
    first = _admit(board, packet, "ann", admitted_max=1)

    assert _admit(board, packet, "ann", admitted_max=1) == first


def test_an_admission_that_ends_makes_room(board: ClaimBoard) -> None:
    packet = _gated(board)
    board.admit(packet.packet_id, "ann", life_ms=0, admitted_max=1)

    assert _admit(board, packet, "bob", admitted_max=1)[0] == "admitted"


def test_nobody_is_admitted_where_there_is_nothing_to_open(board: ClaimBoard) -> None:
    emptied, closed, unknown = _gated(board, count=1), _gated(board), _packet()
    early = _gated(board, starts_at_ms=_now_ms() + 60_000)
    late = _gated(board, expires_at_ms=_now_ms() - 500)
    board.take(emptied.packet_id, "ann", str(emptied.terms))
    board.close(closed.packet_id)

    assert _admit(board, emptied, "ann") == ("already_claimed", 1)
    assert _admit(board, emptied, "bob") == ("packet_emptied", 0)
    assert _admit(board, closed, "bob") == ("packet_expired", 0)
    assert _admit(board, late, "bob") == ("packet_expired", 0)
    assert _admit(board, early, "bob") == ("packet_not_started", 0)
    assert _admit(board, unknown, "bob") == ("packet_not_loaded", 0)


def test_a_number_that_is_freed_is_handed_out_again(board: ClaimBoard) -> None:
    packet = _loaded(board, count=2)
    board.grab(packet.packet_id, "ann")

    for _ in range(2):
        board.free(packet.packet_id, "ann", 1)

    assert [_grab(board, packet, user) for user in ("bob", "cat", "dan")] == [
        ("claimed", 2),
        ("claimed", 1),
        ("packet_emptied", None),
    ]


def test_freeing_the_last_number_reopens_an_emptied_packet(board: ClaimBoard) -> None:
    packet = _loaded(board, count=1)
    board.grab(packet.packet_id, "ann")

    board.free(packet.packet_id, "ann", 1)

    _pass_time(board, EMPTIED_KEPT_MS)
    assert _grab(board, packet, "ann") == ("claimed", 1)


def _is_last(board: ClaimBoard, packet: Packet, user_id: str) -> bool:
    return board.grab(packet.packet_id, user_id).is_last


def test_who_has_a_share_of_an_emptied_packet_is_known_to(board: ClaimBoard) -> None:
    packet = _loaded(board)

    assert [_is_last(board, packet, user) for user in ("ann", "bob", "ann", "cat")] == [
        *(False, False, False),
        True,
    ]
    assert [_is_last(board, packet, user) for user in ("ann", "cat", "dan")] == [True, True, False]


def test_a_closed_packet_is_not_taken_for_an_emptied_one(board: ClaimBoard) -> None:
    packet = _loaded(board)
    board.grab(packet.packet_id, "ann")
    board.close(packet.packet_id)

    assert not _is_last(board, packet, "ann")


def test_a_number_that_came_back_is_the_last_one_again(board: ClaimBoard) -> None:
    packet = _loaded(board, count=1)
    assert _is_last(board, packet, "ann")

    board.free(packet.packet_id, "ann", 1)

    _pass_time(board, EMPTIED_KEPT_MS)
    assert _is_last(board, packet, "bob")


def test_the_last_share_of_a_packet_with_rules_says_so(board: ClaimBoard) -> None:
    packet = _gated(board, count=2)

    taken = [board.take(packet.packet_id, user, "") for user in ("ann", "bob", "bob", "ann")]

    assert [outcome.is_last for outcome in taken] == [False, True, True, True]
    assert [outcome.share_no for outcome in taken] == [1, 2, 2, 1]
    assert _is_last(board, packet, "ann")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_number_is_handed_out_exactly_once(board: ClaimBoard, count: int) -> None:
    packet = _loaded(board, count)

    outcomes = [_grab(board, packet, f"user-{number}") for number in range(count + 2)]

    numbers = [share_no for status, share_no in outcomes if status == GrabStatus.CLAIMED]
    assert numbers == list(range(1, count + 1))
