"""What audits and the nightly reconciliation look at."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    # Lines between tables
    Mutant(
        "takers' rows are compared with claims by their number alone",
        "_taker_line",
        'text = f"taker {taker.user_id} {taker.share_no}',
        'text = f"taker {taker.share_no}',
    ),
    Mutant(
        "takers' rows are not compared with claims",
        "_taker_line",
        "return taker.claimed_at_ms, taker.packet_id, text, sign",
        "return taker.claimed_at_ms, taker.packet_id, text, 0 * sign",
    ),
    Mutant(
        "entries are compared with fates of any user",
        "_entry_line",
        'text = f"entry {entry.account} {entry.transfer_id}',
        'text = f"entry {entry.transfer_id}',
    ),
    Mutant(
        "receipts are not compared with fates",
        "_receipt_line",
        "return receipt.at_ms, receipt.packet_id, text, sign",
        "return receipt.at_ms, receipt.packet_id, text, 0 * sign",
    ),
    Mutant(
        "the sums on closed packets are not compared with fates",
        "_packet_lines",
        "if packet.end and packet.closed_at_ms is not None:",
        "if packet.end and packet.closed_at_ms == -1:",
    ),
    Mutant(
        "fates are not compared with the sums on closed packets",
        "_fate_lines",
        "if packet.end and packet.closed_at_ms is not None:",
        "if packet.end and packet.closed_at_ms == -1:",
    ),
    Mutant(
        "what is on its way is compared",
        "Comparison.add",
        "if at_ms >= run.until_ms:",
        "if at_ms < 0:",
    ),
    # Within a partition
    Mutant(
        "a count of open packets is compared with closed ones too",
        "_of_entry",
        "packet.counts_as_open and packet.status is not PacketStatus.CLOSED",
        "packet.counts_as_open",
    ),
    Mutant(
        "a count of open packets is compared with those of campaigns too",
        "_of_entry",
        "packet.counts_as_open and packet.status is not PacketStatus.CLOSED",
        "packet.status is not PacketStatus.CLOSED",
    ),
    Mutant(
        "balances, budgets and counts are not compared with their rows",
        "Comparison._compare_closed",
        "if any(expected != actual for",
        "if any(expected != actual and not actual for",
    ),
    Mutant(
        "a partition that moves is told after one look",
        "Comparison.look_at",
        "if found == before:",
        "if found:",
    ),
    Mutant(
        "quotas are not compared with claims",
        "Comparison._compare_closed",
        "numbers[1] = counts.get((name, local.owner[0]), 0)",
        "numbers[1] = numbers[0]",
    ),
    # Rows by themselves
    Mutant(
        "a claim may have any amount until it is paid",
        "Comparison._check_fate",
        "if is_late or share.amount_fen != _worth_fen(packet, share.share_no):",
        "if is_late:",
    ),
    Mutant(
        "shares of no packet are not told",
        "Comparison._check_fate",
        "return check_packet_exists([share], ())",
        "return []",
    ),
    Mutant(
        "prizes' money may end at another time than their campaign",
        "Comparison._check_packet",
        "elif self.end_differs(packet):",
        "elif self.end_differs(packet) == -1:",
    ),
    Mutant(
        "an end that is being moved is told",
        "_look_at_ends",
        "ports.clock.sleep_ms(_SETTLED_MS)",
        "ports.clock.sleep_ms",
    ),
    Mutant(
        "stock may be without its money",
        "unfunded",
        "if funded_count < prize.total:",
        "if funded_count < 0:",
    ),
    Mutant(
        "cash that goes back by a clock that is ahead is missed",
        "unfunded",
        "table.campaign.ends_at_ms <= now_ms + CLOCKS_DIFFER_MS",
        "table.campaign.ends_at_ms <= now_ms",
    ),
    Mutant(
        "a unit may be won twice",
        "DrawComparison._check_units",
        "if row not in found:",
        "if row.unit.number < 0:",
    ),
    Mutant(
        "units may be taken by no draw",
        "DrawComparison._without_draws",
        "if draw is None or row.unit not in units_of(draw):",
        "if draw is not None and not draw.prize:",
    ),
    Mutant(
        "cash may be somebody else's than who won it",
        "DrawComparison._check_cash",
        "if claimed.get(ref) != (draw.user_id, fen):",
        "if not claimed:",
    ),
    # The second pass
    Mutant(
        "entries that no fate asks for are not told",
        "Confirmation._look_at_entry",
        "elif not _is_asked_for(entry, packet, share):",
        "elif entry.amount_fen == 0:",
    ),
    Mutant(
        "counts of users who claimed nothing are not looked at",
        "Confirmation._look_at_row",
        "self.look_at(Table.SHARES, (row.user_id,), row.campaign_id)",
        "pass",
    ),
    Mutant(
        "shares of prizes may be claimed without a draw",
        "Confirmation._look_at_win",
        "if not any(isinstance(draw, Draw) and _wins(draw, share.ref) for draw in draws):",
        "if draws is None:",
    ),
    Mutant(
        "what differs twice and no row explains is not told",
        "_end_pass",
        "comparison.tell_unexplained()",
        "pass",
    ),
    # The run
    Mutant(
        "wallets and packets are not compared with deposits",
        "_end_pass",
        "if run.booked_fen + run.held_fen:",
        "if run.booked_fen is None:",
    ),
    Mutant(
        "a history that was rewritten is not found",
        "_end_pass",
        "run.changed = sorted(state.history.unequal(state.seal))",
        "run.changed = []",
    ),
    Mutant(
        "both sides of a line cancel out in the history",
        "Comparison.add_history",
        "self.state.history.add(subject, value * _TIMES[table])",
        "self.state.history.add(subject, value * len(_TIMES))",
    ),
    Mutant(
        "two invocations hold one run",
        "IS_FREE",
        'OR held_until_ms < :now_ms OR holder = :holder"',
        'OR held_until_ms >= :now_ms OR holder = :holder"',
    ),
    Mutant(
        "a run is saved by whom it was taken from",
        "IS_MINE",
        'IS_MINE = "holder = :holder"',
        'IS_MINE = "attribute_exists(pk)"',
    ),
    Mutant(
        "each invocation starts over",
        "reconcile:reconcile",
        "if state is None or state.progress.is_over:",
        "if state is not state.progress:",
    ),
    Mutant(
        "the schedule that goes on begins runs",
        "reconcile:reconcile",
        "None if is_over and not may_begin else",
        "None if is_over is None else",
    ),
    # Audits
    Mutant(
        "audits do not look at takers' rows",
        "_of_shares",
        "    yield from check_takers(shares, takers)\n",
        "",
    ),
    Mutant(
        "audits do not look at entries",
        "_of_shares",
        "    yield from check_posted(packet_id, expected, posted)\n",
        "",
    ),
    Mutant(
        "audits do not look at the sender's entries",
        "_of_sender",
        "    yield from check_posted(packet.packet_id, expected, posted)\n",
        "",
    ),
    Mutant(
        "audits do not look at receipts",
        "_of_shares",
        "        yield from check_receipts(facts, receipts)\n",
        "        pass\n",
    ),
    Mutant(
        "what an audit saw of two moments is taken for a difference",
        "audit_packet:audit_packet",
        "return [found for found in differences() if found in first] if first else []",
        "return first",
    ),
]
