"""Repository of payments in PaymentsTable (docs/adr/0030)."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.posting import (
    exists,
    find_posted_at_ms,
    post_operations,
    use_account,
)
from redpacket.ledger.dynamodb.requests import transact_request
from redpacket.ledger.model import Transfer, user_account
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import line_in, line_of, line_row, payment_of, payment_row
from redpacket.payments.dynamodb.lists import oldest
from redpacket.payments.model.payments import Payment, PaymentStatus, credit_transfer
from redpacket.payments.model.provider import (
    StatementKind,
    StatementLine,
    Transaction,
    statement_day,
    statement_day_start_ms,
)
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Row,
    Value,
    check,
    merge,
    put,
    update,
    values,
)
from redpacket.platform.errors import InvariantViolated, RateLimited, RedPacketError
from redpacket.platform.idempotency import Request

HAS_NO_TRANSACTION = "attribute_exists(pk) AND attribute_not_exists(transaction_id)"
IS_PENDING = "payment_status = :pending"
HAS_NOT_EXPIRED = "expires_at_ms >= :now_ms"
IS_ORDERED_AS_SEEN = "ordered_at_ms = :seen_ms"
IS_NOT_ENDED = "attribute_not_exists(is_ended)"
WAITS_FOR_THIS_PAYMENT = "#status = :unpaid AND payment_id = :number"
IS_NOT_GIVEN_BACK = "attribute_not_exists(pk)"
HAS_BEGUN_FEWER = "attribute_not_exists(begun_count) OR begun_count < :count_max"

DAY_MS = 24 * 3_600_000
COUNTED_MS = 7 * DAY_MS
"""Milliseconds after which a daily count of payments expires."""


class DynamoPayments:
    """Repository of payments, and the only code that credits them. `list_waiting` may lag."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments
        self._accounts = dynamo.tables.accounts
        self._packets = dynamo.tables.packets

    def put(self, payment: Payment, request: Request, per_day_max: int) -> str | None:
        """Store a payment intent, or return the number of the request's earlier intent.

        Raises RateLimited, and Forbidden for a campaign account.
        """
        return transact_request(
            self._dynamo,
            self._payments,
            "payment",
            request,
            payment.number,
            [
                use_account(self._accounts, user_account(payment.user_id)),
                Guarded(self._count(payment, per_day_max), _too_many_today(payment)),
                Guarded(put(self._payments, payment_row(payment)), exists),
            ],
        )

    def put_of_packet(self, payment: Payment, per_day_max: int) -> Payment:
        """Store an unpaid packet's intent, or return the existing intent. Raises RateLimited."""
        # The intent comes first, so that an existing one is returned even at the daily limit.
        there: Guarded[Payment | RedPacketError] = Guarded(
            put(self._payments, payment_row(payment)), lambda row: _of_packet(row, payment)
        )
        counted: Guarded[Payment | RedPacketError] = Guarded(
            self._count(payment, per_day_max), _too_many_today(payment)
        )
        refused = self._dynamo.attempt([there, counted])
        if isinstance(refused, RedPacketError):
            raise refused
        return refused or payment

    def _count(self, payment: Payment, per_day_max: int) -> Operation:
        day = statement_day(payment.created_at_ms)
        return update(
            self._payments,
            payment_keys.payments_begun(payment.user_id, day),
            "SET expires_at_s = :goes_at_s ADD begun_count :one",
            condition=HAS_BEGUN_FEWER,
            one=1,
            count_max=per_day_max,
            goes_at_s=(statement_day_start_ms(day) + COUNTED_MS) // 1000,
        )

    def find(self, number: str) -> Payment | None:
        """Return a payment."""
        row = self._dynamo.get(self._payments, payment_keys.payment(number))
        return payment_of(row) if row else None

    def begin_order(self, payment: Payment, now_ms: int) -> bool:
        """Record an order before the call; return False after another call or the payment's end."""
        return self._dynamo.update(
            self._payments,
            payment_keys.payment(payment.number),
            "SET ordered_at_ms = :now_ms",
            condition=f"{IS_PENDING} AND {IS_ORDERED_AS_SEEN} AND {IS_NOT_ENDED}",
            now_ms=now_ms,
            seen_ms=payment.ordered_at_ms,
            pending=PaymentStatus.PENDING,
        )

    def keep_prompt(self, number: str, prompt: str) -> None:
        """Store the parameters for the payer's client, unless the payment has ended."""
        self._dynamo.update(
            self._payments,
            payment_keys.payment(number),
            "SET prompt = :prompt",
            condition=IS_PENDING,
            prompt=prompt,
            pending=PaymentStatus.PENDING,
        )

    def list_waiting(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return the numbers of payments to query at the provider, oldest first."""
        rows = oldest(self._dynamo, self._payments, f"payment-{channel}", until_ms, limit)
        return [row["pk"].removeprefix(payment_keys.PAYMENT_PREFIX) for row in rows]

    def look_again(self, number: str, at_ms: int | None) -> None:
        """Reschedule a payment in `list_waiting`, or remove it if *at_ms* is None."""
        self._dynamo.update(
            self._payments,
            payment_keys.payment(number),
            "REMOVE work_pk, work_at_ms" if at_ms is None else "SET work_at_ms = :at_ms",
            # A payment that was credited in the meantime has left the work list permanently.
            condition="attribute_exists(work_pk)",
            **({} if at_ms is None else {"at_ms": at_ms}),
        )

    def expire(self, number: str, now_ms: int) -> None:
        """End a PENDING payment, so that no request orders it again and the sweep closes it."""
        self._dynamo.update(
            self._payments,
            payment_keys.payment(number),
            "SET is_ended = :yes, expires_at_ms = :now_ms, work_at_ms = :now_ms",
            condition=f"{IS_PENDING} AND {HAS_NOT_EXPIRED}",
            pending=PaymentStatus.PENDING,
            now_ms=now_ms,
            yes=True,
        )

    def close(self, payment: Payment, now_ms: int, again_at_ms: int | None) -> bool:
        """Set a PENDING payment to CLOSED.

        Return False if the payment is no longer PENDING, or was ordered since it was read.
        """
        work = (
            "REMOVE work_pk, work_at_ms" if again_at_ms is None else ", work_at_ms = :again_at_ms"
        )
        return self._dynamo.update(
            self._payments,
            payment_keys.payment(payment.number),
            f"SET payment_status = :closed, closed_at_ms = :now_ms {work}",
            condition=f"{IS_PENDING} AND {IS_ORDERED_AS_SEEN}",
            closed=PaymentStatus.CLOSED,
            pending=PaymentStatus.PENDING,
            now_ms=now_ms,
            **({} if again_at_ms is None else {"again_at_ms": again_at_ms}),
            seen_ms=payment.ordered_at_ms,
        )

    def credit(
        self,
        payment: Payment,
        transaction: Transaction,
        now_ms: int,
        *,
        funding: tuple[Packet, Transfer] | None = None,
    ) -> bool:
        """Credit a payment to its user's account, once per number.

        With *funding* (the paid packet and its transfer), the same write moves the money to the
        packet, which changes from UNPAID to OPEN. Return False if the payment already has a
        transaction, if *transaction* is recorded as returned, or if the packet is not UNPAID; the
        caller must then read again.
        """
        operations = self._set_paid(payment, transaction, now_ms)
        line = line_in(transaction)
        operations.append(put(self._payments, line_row(payment.channel, line, now_ms)))
        credited = credit_transfer(payment, now_ms)
        transfers, counts = [credited], {}
        if funding:
            packet, transfer = funding
            operations.append(self._open(packet, payment.number))
            transfers.append(transfer)
            # `open_count` already includes unpaid packets.
            counts[transfer.debit] = {"unpaid_count": -1}
        operations += post_operations(self._accounts, transfers, counts)
        if self._dynamo.try_transact(operations):
            return True
        # A restore may have lost the PAID status, but kept the credit and its statement line.
        at_ms = find_posted_at_ms(self._dynamo, self._accounts, credited.transfer_id)
        if at_ms is None:
            return False
        noted = merge(self._payments, line_row(payment.channel, line, at_ms))
        return self._dynamo.try_transact([*self._set_paid(payment, transaction, at_ms), noted])

    def _set_paid(self, payment: Payment, transaction: Transaction, now_ms: int) -> list[Operation]:
        paid = update(
            self._payments,
            payment_keys.payment(payment.number),
            "SET payment_status = :paid, transaction_id = :transaction_id,"
            " credited_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=HAS_NO_TRANSACTION,
            paid=PaymentStatus.PAID,
            transaction_id=transaction.transaction_id,
            now_ms=now_ms,
        )
        key = payment_keys.payment_return(payment.number, transaction.transaction_id)
        return [paid, check(self._payments, key, IS_NOT_GIVEN_BACK)]

    def has_notice(self, channel: ProviderName, notice_id: str) -> bool:
        """Return whether a callback was queued."""
        return self._dynamo.get(self._payments, payment_keys.notice(channel, notice_id)) is not None

    def note_notice(self, channel: ProviderName, notice_id: str, expires_at_ms: int) -> None:
        """Record that a callback was queued."""
        row: dict[str, Value] = {
            **payment_keys.notice(channel, notice_id),
            "expires_at_s": expires_at_ms // 1000,
        }
        self._dynamo.write(put(self._payments, row))

    def list_lines(self, channel: ProviderName, day: str) -> list[StatementLine]:
        """Return the payments, refunds, and transfers that a day's statement must contain."""
        return [
            line_of(row)
            for kind in StatementKind
            for shard in range(keys.WORK_SHARDS)
            for row in self._dynamo.query(
                self._payments,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues=values(
                    pk=payment_keys.outside_lines(channel, kind, day, shard)
                ),
                ConsistentRead=True,
            )
        ]

    def _open(self, packet: Packet, number: str) -> Operation:
        assert packet.paid_at_ms is not None
        return update(
            self._packets,
            packet_keys.packet(packet.packet_id),
            "SET #status = :open, paid_at_ms = :paid_at_ms, starts_at_ms = :starts_at_ms,"
            " expires_at_ms = :expires_at_ms, is_loaded = :no, work_pk = :load,"
            " work_at_ms = :paid_at_ms, list_pk = :list_pk, list_sk = :list_sk",
            condition=WAITS_FOR_THIS_PAYMENT,
            open=PacketStatus.OPEN,
            unpaid=PacketStatus.UNPAID,
            number=number,
            paid_at_ms=packet.paid_at_ms,
            starts_at_ms=packet.starts_at_ms,
            expires_at_ms=packet.expires_at_ms,
            no=False,
            load=keys.work("load", keys.work_shard(packet.packet_id)),
            list_pk=packet_keys.sent_list(packet.sender.user_id),
            list_sk=keys.list_position(packet.paid_at_ms, packet.packet_id),
        )


def _of_packet(row: Row, payment: Payment) -> Payment | RedPacketError:
    before = payment_of(dict(row))
    if before.packet_id != payment.packet_id:
        msg = f"payment {payment.number} does not belong to packet {payment.packet_id}"
        return InvariantViolated(msg)
    return before


def _too_many_today(payment: Payment) -> Callable[[Row], RedPacketError]:
    day_ends_ms = statement_day_start_ms(statement_day(payment.created_at_ms)) + DAY_MS
    wait_s = -(-(day_ends_ms - payment.created_at_ms) // 1000)
    return lambda _row: RateLimited("Daily payment limit reached. Try again tomorrow.", wait_s)
