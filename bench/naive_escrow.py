"""Control for settle.py: the settlement of version 0.1.0, with one escrow row per packet.

A transaction settles 20 claims. For each claim, it updates the outcome, credits the claimer, and
writes an entry on both sides. It also debits the packet's escrow balance, which must be sufficient,
so two payouts of one packet always conflict there. After six attempts, its claims fail and are
redelivered later. The control has its own rows and code, so that it does not change with the
product.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from redpacket.packets.model.claim import ShareRef
from redpacket.platform.dynamodb.client import Operation, Row, from_wire, put, to_wire, update

CLAIMS_PER_TRANSACTION = 20
TRIES = 6
FIRST_WAIT_S = 0.02
PARTS = 5
"""Number of partitions for the outcomes of a packet with 100,000 shares, as in 0.1.0."""

ACCOUNTS, PACKETS = "NaiveAccounts", "NaivePackets"
AMOUNT_FEN = 100


def outcome_key(ref: ShareRef) -> dict[str, str]:
    """Return the key of a share's outcome."""
    part = (ref.share_no - 1) % PARTS
    return {"pk": f"packet#{ref.packet_id}#{part}", "sk": f"share#{ref.share_no:07d}"}


def claim(client: Any, packet_id: str, count: int) -> list[ShareRef]:
    """Write a packet's escrow, and a claim of each share by a different user."""
    escrow: Row = {"pk": f"escrow:{packet_id}", "sk": "balance", "balance_fen": AMOUNT_FEN * count}
    client.put_item(TableName=ACCOUNTS, Item=to_wire(escrow))
    refs = [ShareRef(packet_id, number) for number in range(1, count + 1)]
    for ref in refs:
        row: Row = {
            **outcome_key(ref),
            "fate": "claimed",
            "amount_fen": AMOUNT_FEN,
            "user_id": f"user-{ref.share_no:031d}",
        }
        client.put_item(TableName=PACKETS, Item=to_wire(row))
    return refs


def settle(
    refs: Iterable[ShareRef],
    *,
    client: Any,
    now_ms: Callable[[], int],
    pause_s: Callable[[float], None],
) -> set[ShareRef]:
    """Settle claims of one packet. Return those that failed six times because of conflicts."""
    pending = list(dict.fromkeys(refs))
    failed: set[ShareRef] = set()
    for start in range(0, len(pending), CLAIMS_PER_TRANSACTION):
        chunk = pending[start : start + CLAIMS_PER_TRANSACTION]
        outcomes = _read(client, chunk)
        payable = [ref for ref in chunk if "settled_at_ms" not in outcomes[ref]]
        if payable and not _transact(client, _operations(payable, outcomes, now_ms()), pause_s):
            failed.update(payable)
    return failed


def count_settled(client: Any, refs: Iterable[ShareRef]) -> int:
    """Return the number of claims that are settled."""
    keys = (outcome_key(ref) for ref in refs)
    rows = (client.tables[PACKETS][key["pk"], key["sk"]] for key in keys)
    return sum("settled_at_ms" in row for row in rows)


def _read(client: Any, refs: Sequence[ShareRef]) -> dict[ShareRef, dict[str, Any]]:
    wanted = [to_wire(outcome_key(ref)) for ref in refs]
    answer = client.batch_get_item(RequestItems={PACKETS: {"Keys": wanted, "ConsistentRead": True}})
    rows = {row["sk"]: row for row in map(from_wire, answer["Responses"][PACKETS])}
    return {ref: dict(rows[outcome_key(ref)["sk"]]) for ref in refs}


def _operations(
    refs: Sequence[ShareRef], outcomes: dict[ShareRef, dict[str, Any]], now_ms: int
) -> list[Operation]:
    escrow = f"escrow:{refs[0].packet_id}"
    total_fen = sum(outcomes[ref]["amount_fen"] for ref in refs)
    operations = [
        update(
            ACCOUNTS,
            {"pk": escrow, "sk": "balance"},
            "ADD balance_fen :fen",
            condition="balance_fen >= :needed",
            fen=-total_fen,
            needed=total_fen,
        )
    ]
    for ref in refs:
        claimer, fen = f"user:{outcomes[ref]['user_id']}", outcomes[ref]["amount_fen"]
        transfer_id = f"settle:{ref.packet_id}:{ref.share_no}"
        at = f"entry#{now_ms:013d}#{transfer_id}"
        book = {"transfer_id": transfer_id, "kind": "settle", "at_ms": now_ms}
        debit = {**book, "pk": escrow, "sk": at, "amount_fen": -fen, "counterparty": claimer}
        credit = {**book, "pk": claimer, "sk": at, "amount_fen": fen, "counterparty": escrow}
        operations += [
            update(
                PACKETS,
                outcome_key(ref),
                "SET settled_at_ms = :now_ms",
                condition="attribute_not_exists(settled_at_ms)",
                now_ms=now_ms,
            ),
            update(ACCOUNTS, {"pk": claimer, "sk": "balance"}, "ADD balance_fen :fen", fen=fen),
            put(ACCOUNTS, debit),
            put(ACCOUNTS, credit),
        ]
    return operations


def _transact(
    client: Any, operations: Sequence[Operation], pause_s: Callable[[float], None]
) -> bool:
    for attempt in range(TRIES):
        try:
            client.transact_write_items(TransactItems=list(operations))
        except client.exceptions.TransactionCanceledException:
            pause_s(random.uniform(0, FIRST_WAIT_S * 2**attempt))  # noqa: S311 - jitter
        else:
            return True
    return False
