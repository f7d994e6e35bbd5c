"""Reconciliation checks: each finds the faults that a test plants."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.ledger.model import (
    DEPOSITS,
    Entry,
    Transfer,
    TransferKind,
    entries,
)
from redpacket.packets.model.claim import claimer_of
from redpacket.packets.model.closing import find_end
from redpacket.packets.model.packet import PacketStatus, Rules
from redpacket.platform.bounds import FEN_MAX
from redpacket.reconciliation.checks import packets
from redpacket.reconciliation.checks.packets import PacketFacts
from redpacket.reconciliation.checks.postings import check_bounds, check_posted
from testing.builders import NOW_MS, a_claim, a_packet, a_refund
from testing.reconciliation import checks
from testing.reconciliation.checks import (
    Told,
    check_conservation,
)

PACKET = a_packet(1000, 4)
SHARES = [a_claim(PACKET, 1, "ann", settled_at_ms=NOW_MS + 900), a_claim(PACKET, 2, "bob")]
FACTS = PacketFacts(PACKET, SHARES)


def _closed() -> PacketFacts:
    shares = [
        *(replace(share, settled_at_ms=NOW_MS + 900) for share in SHARES),
        a_refund(PACKET, 3),
        a_refund(PACKET, 4),
    ]
    end = find_end(shares, 4)
    return PacketFacts(replace(PACKET, status=PacketStatus.CLOSED, end=end), shares)


def test_a_correct_packet_has_no_differences() -> None:
    for facts in (FACTS, _closed()):
        assert checks.check_packet_total(facts) == []
        assert packets.check_shares(facts) == []
        assert packets.check_once_per_user(facts) == []


def test_conservation_finds_a_planted_fen() -> None:
    balances = {DEPOSITS: -1000, "user:ann": 400}
    assert check_conservation(balances, 600) == []

    (difference,) = check_conservation({**balances, "user:ann": 401}, 600)

    assert (difference.rule, difference.expected, difference.actual) == ("I1", 1000, 1001)


def test_a_closed_packet_has_every_outcome_and_every_claim_settled() -> None:
    closed = _closed()

    missing = checks.check_packet_total(replace(closed, shares=closed.shares[:3]))
    unsettled = replace(closed.shares[0], settled_at_ms=None)
    late = checks.check_packet_total(replace(closed, shares=[unsettled, *closed.shares[1:]]))

    assert "shares with an outcome once closed" in [difference.what for difference in missing]
    told = [(each.what, each.expected, each.actual) for each in late]
    assert ("unsettled claims once closed", 0, 1) in told


@pytest.mark.parametrize("field", ["refunded_fen", "claimed_fen"])
def test_sums_that_differ_from_the_packet_row_are_found(field: str) -> None:
    closed = _closed()
    assert closed.packet.end
    changes: Any = {field: 1}
    end = replace(closed.packet.end, **changes)

    (difference,) = checks.check_packet_total(
        replace(closed, packet=replace(closed.packet, end=end))
    )

    assert "on the packet row" in difference.what


def test_a_second_outcome_and_a_wrong_amount_are_found() -> None:
    twice = replace(FACTS, shares=[*SHARES, a_refund(PACKET, 2)])
    wrong = replace(FACTS, shares=[replace(SHARES[0], amount_fen=SHARES[0].amount_fen + 1)])
    beyond = replace(FACTS, shares=[replace(SHARES[0], share_no=5)])
    exclusive = replace(PACKET, rules=Rules(recipients=frozenset({"ann"})))
    uninvited = replace(FACTS, packet=exclusive)

    assert [difference.rule for difference in packets.check_shares(twice)] == ["I3"]
    assert [difference.rule for difference in packets.check_shares(wrong)] == ["I3"]
    assert [
        (difference.rule, difference.expected) for difference in packets.check_shares(beyond)
    ] == [("I3", 0)]
    assert [difference.what for difference in packets.check_shares(uninvited)] == [
        "taker of share 2"
    ]


def test_a_second_share_of_a_user_is_found() -> None:
    (difference,) = packets.check_once_per_user(
        replace(FACTS, shares=[*SHARES, a_claim(PACKET, 3, "ann")])
    )

    assert (difference.rule, difference.expected, difference.actual) == ("I4", 1, 2)


def test_an_unclaimed_share_with_a_claimer_is_found() -> None:
    assert claimer_of(a_refund(PACKET, 3)).user_id == ""


def test_rows_of_claimers_that_differ_from_the_claims_are_found() -> None:
    anns, bobs = claimers = [claimer_of(share) for share in SHARES]
    assert packets.check_takers([*SHARES, a_refund(PACKET, 3)], claimers) == []
    nobodys = replace(SHARES[0], claimer=None)

    difference_lists = [
        packets.check_takers(SHARES, [anns]),
        packets.check_takers(SHARES[:1], claimers),
        packets.check_takers(SHARES, [replace(anns, share_no=3), bobs]),
        packets.check_takers(SHARES, [anns, replace(bobs, amount_fen=1)]),
        packets.check_takers([nobodys], []),
    ]

    assert [[difference.rule for difference in each] for each in difference_lists] == [["I4"]] * 5
    (missing,), (stray,) = difference_lists[:2]
    assert (missing.subject, missing.actual) == (PACKET.packet_id, "None")
    assert (stray.subject, stray.expected) == (PACKET.packet_id, "None")


def test_a_user_who_was_shown_something_else_is_found() -> None:
    truth = Told(PACKET.packet_id, "ann", 1, SHARES[0].amount_fen)

    assert checks.check_told(FACTS, [truth]) == []
    for lie in (Told(PACKET.packet_id, "ann", 1, 0), Told(PACKET.packet_id, "dan", 3, 5)):
        assert [difference.rule for difference in checks.check_told(FACTS, [truth, lie])] == ["I5"]


def test_negative_accounts_and_odd_amounts_are_found() -> None:
    nothing = Entry("user:ann", "t", TransferKind.SEND, 0, "escrow:p", NOW_MS)

    below = check_bounds({"user:ann": -1, DEPOSITS: -5}, [])
    odd = check_bounds({}, [nothing])

    assert [(difference.subject, difference.expected) for difference in below] == [("user:ann", 0)]
    assert [difference.subject for difference in odd] == ["t"]
    least, most = (replace(nothing, amount_fen=fen) for fen in (-1, FEN_MAX))
    assert check_bounds({"user:ann": 0}, [least, most]) == []
    assert len(check_bounds({}, [replace(most, amount_fen=FEN_MAX + 1)])) == 1


def test_late_work_is_found() -> None:
    in_time = checks.check_settled_in_time(FACTS, NOW_MS + 1000, bound_ms=5000)
    late = checks.check_settled_in_time(FACTS, PACKET.expires_at_ms + 5001, bound_ms=5000)

    assert in_time == []
    assert [difference.what for difference in late] == ["share 2 settled by", "closed by"]


def test_work_that_ends_at_its_bound_is_not_late() -> None:
    by_ms = SHARES[1].decided_at_ms + 5000
    end_ms = PACKET.expires_at_ms + 5000

    assert packets.check_late_claims(SHARES, by_ms, 5000) == []
    (late,) = packets.check_late_claims(SHARES, by_ms + 1, 5000)
    assert (late.subject, late.expected, late.actual) == (PACKET.packet_id, by_ms, by_ms + 1)
    assert packets.check_late_close(PACKET, end_ms, 5000) == []
    assert len(packets.check_late_close(PACKET, end_ms + 1, 5000)) == 1


def test_a_claim_that_was_not_counted_is_found() -> None:
    facts = replace(FACTS, packet=replace(PACKET, rules=Rules(campaign_id="party")))
    counts = {("party", "ann"): 1, ("party", "bob"): 1}
    assert checks.check_claim_counts([facts], counts) == []
    assert checks.check_claim_counts([FACTS], {}) == []

    (uncounted,) = checks.check_claim_counts([facts], {("party", "ann"): 1})
    (invented,) = checks.check_claim_counts([facts], {**counts, ("party", "eve"): 1})

    assert (uncounted.rule, uncounted.subject, uncounted.actual) == ("I9", "party bob", 0)
    assert (invented.subject, invented.expected) == ("party eve", 0)


def test_an_entry_that_is_posted_twice_is_found() -> None:
    deposit = Transfer("deposit:1", TransferKind.DEPOSIT, DEPOSITS, "user:ann", 1000, NOW_MS)
    debit, credit = entries(deposit)

    (difference,) = check_posted("packet", [debit, credit], [debit, credit, credit])

    assert (difference.rule, difference.expected, difference.actual) == ("I1", 1, 2)


def test_excess_payments_and_refunds_of_a_packet_are_reported_with_their_sum() -> None:
    paid, refunded = SHARES[0], replace(a_refund(PACKET, 3), amount_fen=1000)

    (difference,) = checks.check_packet_total(PacketFacts(PACKET, [paid, refunded]))

    assert (difference.rule, difference.actual) == ("I2", paid.amount_fen + 1000)
