"""One suite for the board in memory and the board on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
import redis

from redpacket.adapters.redis_claims import RedisClaims
from redpacket.domain.claim import GrabStatus
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.ports import ClaimBoard
from tests.builders import a_claim, a_packet, a_refund
from tests.fakes import FakeBoard, FakeClock


@pytest.fixture(params=["fake", "redis"])
def board(request: pytest.FixtureRequest) -> Iterator[ClaimBoard]:
    if request.param == "fake":
        yield FakeBoard(FakeClock(_now_ms()))
    else:
        cache: redis.Redis = request.getfixturevalue("cache")
        yield RedisClaims(cache)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _packet(count: int = 3, **changes: int) -> Packet:
    return a_packet(100 * count, count, created_at_ms=_now_ms() - 1000, **changes)


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

    assert _grab(board, packet, "bob") == ("claimed", 2)
    assert _grab(board, packet, "cat") == ("packet_emptied", None)


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


@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_number_is_handed_out_exactly_once(board: ClaimBoard, count: int) -> None:
    packet = _loaded(board, count)

    outcomes = [_grab(board, packet, f"user-{number}") for number in range(count + 2)]

    numbers = [share_no for status, share_no in outcomes if status == GrabStatus.CLAIMED]
    assert numbers == list(range(1, count + 1))
