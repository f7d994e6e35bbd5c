"""What a claim writes: counted in the operations that the adapters really make."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redpacket.adapters import items
from redpacket.adapters.dynamo import Dynamo, Operation, Row
from redpacket.adapters.dynamo_ledger import DynamoLedger
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.domain.claim import Quota, ShareFate
from redpacket.domain.ledger import Transfer, TransferKind, escrow_account, user_account
from redpacket.flows.settle_claims import CLAIMS_PER_TRANSACTION
from tests.builders import NOW_MS, a_claim, a_packet

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
TRANSACTIONAL = 2
"""A write in a transaction is charged twice: DynamoDB prepares it, then makes it."""

USER_ID = "5f0c8f5e-{:04d}-4b1e-9a53-0c4a3d2f1b6a"
"""As long as the subjects of Cognito and most other issuers."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What DynamoDB is asked for one claim: to make it durable, and to settle it."""

    claim_write_units: float
    settle_write_units: float
    settle_read_units: float


class _Recorder(Dynamo):
    """Takes transactions down instead of sending them."""

    def __init__(self) -> None:
        super().__init__(connect=lambda: None)
        self.operations: list[Operation] = []

    def transact(self, operations: Sequence[Operation]) -> None:
        self.operations += operations


def count_claims(
    indexes: Mapping[str, Sequence[str]], claims_per_transaction: float, *, has_quota: bool = False
) -> Claims:
    """Count what DynamoDB is asked, by having the adapters ask a recorder.

    What one transaction does once (the escrow, the reads of packet and escrow) is shared by its
    claims.
    """
    quota = Quota("rain", 9) if has_quota else None
    claim = count_operations(1, quota)[0]
    # Of two claims only the escrow's row is shared.
    alone, pair = (units(count_operations(size, None)[1], indexes) for size in (1, 2))
    each = pair - alone
    shared = alone - each
    return Claims(
        claim_write_units=units(claim, indexes),
        settle_write_units=each + shared / claims_per_transaction,
        # The fate is read by itself; packet and escrow once for all.
        settle_read_units=1 + 2 / claims_per_transaction,
    )


def count_operations(size: int, quota: Quota | None) -> tuple[list[Operation], list[Operation]]:
    """Return the operations that claim *size* shares of one packet, and that settle them."""
    packet = a_packet(total_fen=100 * CLAIMS_PER_TRANSACTION, count=CLAIMS_PER_TRANSACTION)
    shares = [a_claim(packet, number, USER_ID.format(number)) for number in range(1, size + 1)]
    claiming, settling = _Recorder(), _Recorder()
    packets = DynamoPackets(claiming, "packets", "quotas")
    for share in shares:
        packets.record_claim(share, quota)
    settlements = [(share, _settlement(share)) for share in shares]
    DynamoLedger(settling, "accounts", "packets").settle(settlements, NOW_MS)
    return claiming.operations, settling.operations


def units(operations: Iterable[Operation], indexes: Mapping[str, Sequence[str]]) -> float:
    """Return the write units of a transaction, with those of the *indexes* that it touches."""
    return sum(_operation_units(operation, indexes) for operation in operations)


def on_table(table: str, operations: Iterable[Operation]) -> list[Operation]:
    """Return those of the *operations* that write to a table."""
    return [
        operation
        for operation in operations
        if any(arguments["TableName"] == table for arguments in operation.values())
    ]


def in_partition(start: str, operations: Iterable[Operation]) -> list[Operation]:
    """Return those of the *operations* whose partition key begins so."""
    return [operation for operation in operations if _partition(operation).startswith(start)]


def _partition(operation: Operation) -> str:
    ((_, arguments),) = operation.items()
    key = arguments.get("Item") or arguments["Key"]
    return str(key["pk"]["S"])


def _operation_units(operation: Operation, indexes: Mapping[str, Sequence[str]]) -> int:
    ((verb, arguments),) = operation.items()
    if verb == "Put":
        item = arguments["Item"]
        size = sum(len(name) + _value_bytes(value) for name, value in item.items())
        row = TRANSACTIONAL * -(-size // WRITE_UNIT_BYTES)
        return row + sum(all(name in item for name in names) for names in indexes.values())
    # No row that is changed comes near 1 KB. An index forgets a row by one write, and moves it by
    # two.
    kept, _, removed = arguments.get("UpdateExpression", "").partition("REMOVE")
    moves = sum(_names_any(kept, names) for names in indexes.values())
    leaves = sum(_names_any(removed, names) for names in indexes.values())
    return TRANSACTIONAL + 2 * moves + leaves


def _names_any(expression: str, names: Sequence[str]) -> bool:
    return any(re.search(rf"\b{name}\b", expression) for name in names)


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((letter, content),) = value.items()
    # A number takes about a byte for two digits, and never more than its text.
    return 1 if letter == "BOOL" else len(str(content).encode())


def record_read_units(share_count: int) -> float:
    """Return the read units of a record page of *share_count* claims."""
    packet = a_packet(count=max(10, share_count))
    fates = (
        a_claim(packet, number, USER_ID.format(number)) for number in range(1, share_count + 1)
    )
    size = sum(_row_bytes(items.share_row(fate)) for fate in fates)
    profile_units = 0.5  # read weakly, one row a taker
    return 1 + -(-size // READ_UNIT_BYTES) + profile_units * share_count


def _row_bytes(row: Row) -> int:
    return sum(len(name) + len(str(value).encode()) for name, value in row.items())


def _settlement(share: ShareFate) -> Transfer:
    assert share.taker is not None
    return Transfer(
        transfer_id=f"settle:{share.packet_id}:{share.share_no}",
        kind=TransferKind.SETTLE,
        debit=escrow_account(share.packet_id),
        credit=user_account(share.taker.user_id),
        amount_fen=share.amount_fen,
        at_ms=NOW_MS,
    )
