"""Payments in PaymentsTable, and the transactions that tie them to accounts and packets.

The table has few writers: the payment functions alone (docs/adr/0030).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.dynamo.client import (
    KEYS_PER_READ,
    Dynamo,
    Guarded,
    Operation,
    Row,
    Value,
    check,
    put,
    update,
    values,
)
from redpacket.adapters.dynamo.payment_items import (
    SHARDS,
    line_of,
    line_row,
    listed_as,
    payment_of,
    payment_row,
    refund_of,
    refund_row,
    return_of,
    return_row,
)
from redpacket.adapters.dynamo.posting import exists, post_operations
from redpacket.adapters.dynamo.requests import transact_once
from redpacket.domain.errors import InvariantViolated, RateLimited, RedPacketError
from redpacket.domain.gateway import (
    BillKind,
    BillLine,
    Channel,
    RefundFound,
    Transaction,
    bill_day,
    bill_day_start_ms,
)
from redpacket.domain.ledger import (
    Transfer,
    TransferKind,
    receivable_account,
    user_account,
)
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.domain.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
    credit_transfer,
    refund_transfers,
)
from redpacket.ports.accounts import Request
from redpacket.ports.payments import PaymentLimits

# What the conditions of this module mean.
HAS_NO_TRANSACTION = "attribute_exists(pk) AND attribute_not_exists(transaction_id)"
IS_PENDING = "payment_status = :pending"
WAITS_FOR_THIS_PAYMENT = "#status = :unpaid AND payment_id = :number"
IS_NOT_GIVEN_BACK = "attribute_not_exists(pk)"
IS_NOT_CREDITED_BY_IT = (
    # Nor is it where nothing is credited yet.
    "attribute_exists(pk) AND attribute_not_exists(transaction_id)"
    " OR attribute_exists(pk) AND transaction_id <> :transaction_id"
)
IS_DUE_BACK = "return_status = :due"
IS_REVERSED_AS_SEEN = "attribute_exists(transaction_id) AND reversed_fen = :seen_fen"
OWES_AS_MUCH = "balance_fen <= :minus_fen"
HAS_BEGUN_FEWER = "attribute_not_exists(begun_count) OR begun_count < :count_max"

DAY_MS = 24 * 3_600_000
COUNTED_MS = 7 * DAY_MS
"""How long the count of a day is kept, for questions about it."""


class DynamoPayments:
    """Implements PaymentBook."""

    def __init__(
        self, dynamo: Dynamo, payments_table: str, accounts_table: str, packets_table: str
    ) -> None:
        self._dynamo = dynamo
        self._payments = payments_table
        self._accounts = accounts_table
        self._packets = packets_table

    def put(self, payment: Payment, request: Request, limits: PaymentLimits) -> str:
        marker = keys.request(request.user_id, "payment", request.key_hash)
        made = transact_once(
            self._dynamo,
            self._payments,
            marker,
            request,
            payment.number,
            [
                Guarded(self._count(payment, limits), _too_many_today(payment)),
                Guarded(put(self._payments, payment_row(payment)), exists),
            ],
        )
        if isinstance(made, RedPacketError):
            raise made
        return made

    def put_of_packet(self, payment: Payment, limits: PaymentLimits) -> Payment:
        # The intent comes first: one that is there counts no more.
        there: Guarded[Payment | RedPacketError] = Guarded(
            put(self._payments, payment_row(payment)), lambda found: _of_packet(found, payment)
        )
        counted: Guarded[Payment | RedPacketError] = Guarded(
            self._count(payment, limits), _too_many_today(payment)
        )
        refused = self._dynamo.attempt([there, counted])
        if isinstance(refused, RedPacketError):
            raise refused
        return refused or payment

    def _count(self, payment: Payment, limits: PaymentLimits) -> Operation:
        """Count a payment that its user begins today."""
        day = bill_day(payment.created_at_ms)
        return update(
            self._payments,
            keys.payments_begun(payment.user_id, day),
            "SET expires_at_s = :goes_at_s ADD begun_count :one",
            condition=HAS_BEGUN_FEWER,
            one=1,
            count_max=limits.count_max,
            goes_at_s=(bill_day_start_ms(day) + COUNTED_MS) // 1000,
        )

    def find(self, number: str) -> Payment | None:
        row = self._dynamo.get(self._payments, keys.payment(number))
        return payment_of(row) if row else None

    def list_payments(self, numbers: Sequence[str]) -> list[Payment]:
        row_keys = [keys.payment(number) for number in dict.fromkeys(numbers)]
        return [payment_of(row) for row in get_all(self._dynamo, self._payments, row_keys)]

    def keep_prompt(self, number: str, prompt: str) -> None:
        self._dynamo.write(
            update(
                self._payments,
                keys.payment(number),
                "SET prompt = :prompt",
                condition=IS_PENDING,
                prompt=prompt,
                pending=PaymentStatus.PENDING,
            )
        )

    def list_waiting(self, channel: Channel, until_ms: int, limit: int) -> list[str]:
        rows = oldest(self._dynamo, self._payments, f"payment-{channel}", until_ms, limit)
        return [row["pk"].removeprefix(keys.PAYMENT_PREFIX) for row in rows]

    def look_again(self, number: str, at_ms: int | None) -> None:
        self._dynamo.write(
            update(
                self._payments,
                keys.payment(number),
                "REMOVE work_pk, work_at_ms" if at_ms is None else "SET work_at_ms = :at_ms",
                # What was credited meanwhile has left the list for good.
                condition="attribute_exists(work_pk)",
                **({} if at_ms is None else {"at_ms": at_ms}),
            )
        )

    def close(self, payment: Payment, now_ms: int, again_at_ms: int | None) -> bool:
        work = (
            "REMOVE work_pk, work_at_ms" if again_at_ms is None else ", work_at_ms = :again_at_ms"
        )
        return self._dynamo.write(
            update(
                self._payments,
                keys.payment(payment.number),
                f"SET payment_status = :closed, closed_at_ms = :now_ms {work}",
                condition=IS_PENDING,
                closed=PaymentStatus.CLOSED,
                pending=PaymentStatus.PENDING,
                now_ms=now_ms,
                **({} if again_at_ms is None else {"again_at_ms": again_at_ms}),
            )
        )

    def credit(
        self,
        payment: Payment,
        transaction: Transaction,
        now_ms: int,
        *,
        may_be_closed: bool,
        funding: tuple[Packet, Transfer] | None = None,
    ) -> bool:
        condition = HAS_NO_TRANSACTION
        if not may_be_closed:
            condition = f"{HAS_NO_TRANSACTION} AND {IS_PENDING}"
        paid = update(
            self._payments,
            keys.payment(payment.number),
            "SET payment_status = :paid, transaction_id = :transaction_id,"
            " credited_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=condition,
            paid=PaymentStatus.PAID,
            transaction_id=transaction.transaction_id,
            now_ms=now_ms,
            **({} if may_be_closed else {"pending": PaymentStatus.PENDING}),
        )
        key = keys.payment_return(payment.number, transaction.transaction_id)
        operations = [paid, check(self._payments, key, IS_NOT_GIVEN_BACK)]
        operations.append(self._line(payment.channel, _line_in(transaction)))
        transfers, counts = [credit_transfer(payment, now_ms)], {}
        if funding:
            packet, transfer = funding
            operations.append(self._open(packet, payment.number))
            transfers.append(transfer)
            # Its place among the open packets it has already.
            counts[transfer.debit] = {"unpaid_count": -1}
        return self._dynamo.try_transact(
            [*operations, *post_operations(self._accounts, transfers, counts)]
        )

    def put_return(self, returned: PaymentReturn, transaction: Transaction) -> PaymentReturn:
        operations = [
            put(self._payments, return_row(returned)),
            check(
                self._payments,
                keys.payment(returned.number),
                IS_NOT_CREDITED_BY_IT,
                transaction_id=returned.transaction_id,
            ),
        ]
        if returned.reason is not ReturnReason.MISMATCHED:
            operations.append(self._line(returned.channel, _line_in(transaction)))
        if self._dynamo.try_transact(operations):
            return returned
        before = self.find_return(returned.number, returned.transaction_id)
        if before is None:
            msg = f"transaction {returned.transaction_id} was credited: it can't be given back"
            raise InvariantViolated(msg)
        return before

    def list_returns(self, number: str) -> list[PaymentReturn]:
        return [return_of(row) for row in self._beside(number, keys.RETURN_PREFIX)]

    def list_returns_due(
        self, channel: Channel, until_ms: int, limit: int
    ) -> list[tuple[str, str]]:
        rows = oldest(self._dynamo, self._payments, f"return-{channel}", until_ms, limit)
        return [
            (
                row["pk"].removeprefix(keys.PAYMENT_PREFIX),
                row["sk"].removeprefix(keys.RETURN_PREFIX),
            )
            for row in rows
        ]

    def find_return(self, number: str, transaction_id: str) -> PaymentReturn | None:
        row = self._dynamo.get(self._payments, keys.payment_return(number, transaction_id))
        return return_of(row) if row else None

    def delay_return(self, returned: PaymentReturn, at_ms: int) -> None:
        self._dynamo.write(
            update(
                self._payments,
                keys.payment_return(returned.number, returned.transaction_id),
                "SET work_at_ms = :at_ms",
                condition=IS_DUE_BACK,
                at_ms=at_ms,
                due=ReturnStatus.DUE,
            )
        )

    def end_return(self, returned: PaymentReturn, found: RefundFound, now_ms: int) -> bool:
        done = update(
            self._payments,
            keys.payment_return(returned.number, returned.transaction_id),
            "SET return_status = :done, done_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=IS_DUE_BACK,
            done=ReturnStatus.DONE,
            due=ReturnStatus.DUE,
            now_ms=now_ms,
        )
        added = update(
            self._payments,
            keys.payment(returned.number),
            "ADD returned_fen :fen",
            fen=returned.amount_fen,
        )
        line = self._line(returned.channel, _line_back(found))
        return self._dynamo.try_transact([done, added, line])

    def list_return(self, returned: PaymentReturn) -> None:
        self._dynamo.write(
            update(
                self._payments,
                keys.payment_return(returned.number, returned.transaction_id),
                "SET return_status = :listed, list_pk = :list_pk, list_sk = :list_sk"
                " REMOVE work_pk, work_at_ms",
                condition=IS_DUE_BACK,
                **listed_as(returned),
                listed=ReturnStatus.LISTED,
                due=ReturnStatus.DUE,
            )
        )

    def list_refunds(self, number: str) -> list[PaymentRefund]:
        return [refund_of(row) for row in self._beside(number, keys.REFUND_PREFIX)]

    def reverse(self, payment: Payment, refund: PaymentRefund, found: RefundFound) -> bool:
        taken = update(
            self._payments,
            keys.payment(payment.number),
            "SET reversed_fen = :fen",
            condition=IS_REVERSED_AS_SEEN,
            seen_fen=payment.reversed_fen,
            fen=payment.reversed_fen + refund.amount_fen,
        )
        noted = put(self._payments, refund_row(refund))
        line = self._line(payment.channel, _line_back(found))
        return self._dynamo.try_transact(
            [noted, taken, line, *post_operations(self._accounts, refund_transfers(refund))]
        )

    def collect(self, user_id: str, fen: int, at_ms: int, name: str) -> bool:
        owed, own = receivable_account(user_id), user_account(user_id)
        kind = TransferKind.PAYMENT_REFUNDED
        transfer = Transfer(f"collected:{user_id}:{name}", kind, own, owed, fen, at_ms)
        operations = post_operations(self._accounts, [transfer])
        for operation in operations:
            change = operation.get("Update", {})
            if change.get("Key", {}).get("pk") == {"S": owed}:
                change["ConditionExpression"] = OWES_AS_MUCH
                change["ExpressionAttributeValues"] |= values(minus_fen=-fen)
        return self._dynamo.try_transact(operations)

    def has_notice(self, channel: Channel, notice_id: str) -> bool:
        return self._dynamo.get(self._payments, keys.notice(channel, notice_id)) is not None

    def note_notice(self, channel: Channel, notice_id: str, expires_at_ms: int) -> None:
        row: dict[str, Value] = {
            **keys.notice(channel, notice_id),
            "expires_at_s": expires_at_ms // 1000,
        }
        self._dynamo.write(put(self._payments, row))

    def list_lines(self, channel: Channel, day: str) -> list[BillLine]:
        return [
            line_of(row)
            for kind in BillKind
            for shard in range(keys.WORK_SHARDS)
            for row in self._dynamo.query(
                self._payments,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues=values(pk=keys.outside_lines(channel, kind, day, shard)),
                ConsistentRead=True,
            )
        ]

    def _beside(self, number: str, prefix: str) -> Iterator[dict[str, Any]]:
        return self._dynamo.query(
            self._payments,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=values(pk=keys.payment(number)["pk"], prefix=prefix),
            ConsistentRead=True,
        )

    def _line(self, channel: Channel, line: BillLine) -> Operation:
        return put(self._payments, line_row(channel, line))

    def _open(self, packet: Packet, number: str) -> Operation:
        """Let a packet's life begin: the payment has funded it."""
        paid_at_ms = packet.starts_at_ms
        operation = update(
            self._packets,
            keys.packet(packet.packet_id),
            "SET #status = :open, paid_at_ms = :paid_at_ms, starts_at_ms = :paid_at_ms,"
            " expires_at_ms = :expires_at_ms, is_loaded = :no, work_pk = :load,"
            " work_at_ms = :paid_at_ms, list_pk = :list_pk, list_sk = :list_sk",
            condition=WAITS_FOR_THIS_PAYMENT,
            open=PacketStatus.OPEN,
            unpaid=PacketStatus.UNPAID,
            number=number,
            paid_at_ms=paid_at_ms,
            expires_at_ms=packet.expires_at_ms,
            no=False,
            load=keys.work("load", keys.work_shard(packet.packet_id)),
            list_pk=keys.sent_list(packet.sender.user_id),
            list_sk=keys.list_position(paid_at_ms, packet.packet_id),
        )
        operation["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        return operation


def _of_packet(found: Row, payment: Payment) -> Payment | RedPacketError:
    """Return the intent that is there, which must be of the same packet."""
    before = payment_of(dict(found))
    if before.packet_id != payment.packet_id:
        msg = f"payment {payment.number} is not that of packet {payment.packet_id}"
        return InvariantViolated(msg)
    return before


def _too_many_today(payment: Payment) -> Callable[[Row], RedPacketError]:
    """Refuse the payments of one user above the limit, until the next day begins."""
    day_ends_ms = bill_day_start_ms(bill_day(payment.created_at_ms)) + DAY_MS
    wait_s = -(-(day_ends_ms - payment.created_at_ms) // 1000)
    return lambda _found: RateLimited("you have begun too many payments today", wait_s)


def oldest(
    dynamo: Dynamo, table: str, kind: str, until_ms: int, limit: int
) -> list[dict[str, Any]]:
    """Return the rows of a work list that wait longest."""
    rows = [
        row
        for shard in SHARDS
        for row in dynamo.query_some(
            table,
            limit,
            IndexName="by_work",
            KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
            ExpressionAttributeValues=values(work=keys.work(kind, shard), until_ms=until_ms),
        )
    ]
    return sorted(rows, key=lambda row: int(row["work_at_ms"]))[:limit]


def get_all(dynamo: Dynamo, table: str, row_keys: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Read rows by their keys, strongly, those that exist."""
    for start in range(0, len(row_keys), KEYS_PER_READ):
        yield from dynamo.get_many(table, row_keys[start : start + KEYS_PER_READ], is_strong=True)


def _line_in(transaction: Transaction) -> BillLine:
    return BillLine(
        BillKind.PAYMENT,
        transaction.number,
        transaction.transaction_id,
        transaction.amount_fen,
        transaction.paid_at_ms,
    )


def _line_back(found: RefundFound) -> BillLine:
    return BillLine(
        BillKind.REFUND,
        found.refund_no,
        found.transaction_id,
        found.amount_fen,
        found.refunded_at_ms,
        found.number,
    )
