"""The end of packets."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    ANYTHING,
    Mutant,
)

MUTANTS = [
    # The end of packets
    Mutant(
        "a closed packet is closed again",
        "IS_CLOSABLE",
        "#status = :open OR #status = :closing",
        "attribute_exists(pk)",
    ),
    Mutant(
        "a packet ends while a claim is not settled",
        "find_end",
        "if not is_whole or any(share.settled_at_ms is None for share in claimed):",
        "if not is_whole:",
    ),
    Mutant(
        "a packet ends while a share has no fate",
        "find_end",
        "if not is_whole or any(share.settled_at_ms is None for share in claimed):",
        "if any(share.settled_at_ms is None for share in claimed):",
    ),
    Mutant(
        "a packet closes with sums that are not its total",
        "close_if_ended",
        "if total.claimed_fen + total.refunded_fen != packet.terms.total_fen:",
        "if False:",
    ),
    Mutant(
        "in parts: a packet closes before all of them have ended",
        "close_if_ended",
        "if len(ends) < part_count(packet.packet_id):",
        "if False:",
    ),
    Mutant(
        "in parts: the end of one may change",
        "DynamoPackets.put_part_end",
        "self._dynamo.write(put(self._packets, row))",
        f"self._dynamo.write(put(self._packets, row, {ANYTHING}))",
    ),
    Mutant(
        "a payout closes a packet before the sweep has told the cache",
        "close_emptied",
        "if packet.status is PacketStatus.CLOSING:",
        "if False:",
    ),
    Mutant(
        "a final page may change",
        "DynamoPages.put_final",
        '{**key, "claims": _packed(page)})',
        f'{{**key, "claims": _packed(page)}}, {ANYTHING})',
    ),
    Mutant(
        "a claim that is written after the close is paid",
        "_checked",
        "if share.settled_at_ms is None and packet.status is PacketStatus.CLOSED:",
        "if False:",
    ),
    Mutant(
        "the last claim leaves the work list once it is settled",
        "DynamoLedger._settle_share",
        'removed = "" if share.is_last else',
        "removed =",
    ),
    Mutant(
        "settled claims stay in the work list",
        "DynamoLedger._settle_share",
        'removed = "" if share.is_last else " REMOVE work_pk, work_at_ms"',
        'removed = ""',
    ),
    Mutant(
        "the last claim leaves the work list before its packet has ended",
        "_end_packet",
        "        elif clock.now_ms() - share.decided_at_ms < ASKED_AGAIN_MS:\n",
        "        else:\n            packets.mark_done(share)\n"
        "        if clock.now_ms() - share.decided_at_ms < ASKED_AGAIN_MS:\n",
    ),
    Mutant(
        "the last claim never leaves the work list",
        "_end_packet",
        "            packets.mark_done(share)\n",
        "            pass\n",
    ),
    Mutant(
        "the last claim is not asked again while others settle",
        "_end_packet",
        "            payouts.put([share.ref], delay_s=ASK_AGAIN_S)\n",
        "            pass\n",
    ),
    Mutant(
        "the sweep does not ask again for the end of a packet",
        "_requeue",
        "if share.settled_at_ms is None or share.is_last:",
        "if share.settled_at_ms is None:",
    ),
    Mutant(
        "a claim that is not settled leaves the work list",
        "DynamoShares.mark_done",
        "condition=IS_SETTLED",
        'condition="attribute_exists(pk)"',
    ),
]
