"""Host's wallet as a provider; docs/reference/host-wallet.md specifies its protocol."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import (
    NO_MERCHANT,
    OrderFound,
    OrderState,
    PaymentOrder,
    ProviderEvent,
    ProviderEventKind,
    RefundFound,
    RefundOrder,
    RefundState,
    Refusal,
    StatementKind,
    StatementLine,
    Transaction,
    TransferFound,
    TransferOrder,
    TransferState,
    is_fresh,
)
from redpacket.payments.ports import CALL_MS_MAX, QUERY_HORIZON_MS, SETTLING_MS
from redpacket.payments.providers.host_wallet.client import HostClient, HostResults
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.errors import Unavailable

_Word = TypeVar("_Word", bound=StrEnum)
_ANSWER_OF_A_CALL = frozenset({TransferState.REFUSED})
_FAILURES = frozenset({TransferState.REFUSED, TransferState.FAILED})


class _HostWallet:
    channel = ProviderName.HOST
    merchant = NO_MERCHANT
    settling_ms = SETTLING_MS
    call_ms_max = CALL_MS_MAX

    def __init__(self, client: HostClient, accounts: Accounts, currency: str = "CNY") -> None:
        self._client = client
        self._accounts = accounts
        self.currency = currency


class HostIn(_HostWallet):
    """Host wallet implementation of PaymentProvider."""

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        told = self._client.call(
            "payment.order",
            {
                "number": order.number,
                "amount_fen": order.amount_fen,
                "currency": self.currency,
                "method": order.method.value,
                "user": None if order.payer is None else self._accounts.open(order.payer),
                "expires_at_ms": order.expires_at_ms,
            },
        )
        if self._order_found(told, order.number).state is not OrderState.UNPAID:
            return None
        client = told.get("client")
        if not isinstance(client, dict) or not all(isinstance(v, str) for v in client.values()):
            raise _unreadable("client")
        return client

    def query(self, number: str) -> OrderFound:
        return self._order_found(self._client.call("payment.query", {"number": number}), number)

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        told = self._client.call("payment.find", {"transaction_id": transaction_id})
        if "transaction" not in told or told["transaction"] is None:
            return None
        transaction = self._transaction(told["transaction"])
        if transaction.transaction_id != transaction_id:
            raise _unreadable("transaction_id")
        return transaction

    def close(self, number: str) -> None:
        self._client.call("payment.close", {"number": number})

    def refund(self, order: RefundOrder) -> RefundFound:
        told = self._client.call(
            "refund.order",
            {
                "refund_no": order.refund_no,
                "number": order.number,
                "transaction_id": order.transaction_id,
                "amount_fen": order.amount_fen,
                "total_fen": order.total_fen,
            },
        )
        return _refund_found(told, order.refund_no)

    def query_refund(self, refund_no: str) -> RefundFound:
        return _refund_found(self._client.call("refund.query", {"refund_no": refund_no}), refund_no)

    def read_statement(self, day: str) -> list[StatementLine] | None:
        return _statement(self._client, day, "in")

    def _order_found(self, told: Mapping[str, Any], number: str) -> OrderFound:
        if told.get("number") != number:
            raise _unreadable("number")
        paid = told.get("transactions")
        if not isinstance(paid, list):
            raise _unreadable("transactions")
        transactions = tuple(self._transaction(item) for item in paid)
        if any(transaction.number != number for transaction in transactions):
            raise _unreadable("transactions")
        return OrderFound(_word(OrderState, told, "state"), transactions)

    def _transaction(self, told: object) -> Transaction:
        if not isinstance(told, dict):
            raise _unreadable("transaction")
        user = told.get("user")
        return Transaction(
            transaction_id=_text(told, "transaction_id"),
            number=_text(told, "number"),
            amount_fen=_whole(told, "amount_fen"),
            currency=_text(told, "currency"),
            merchant=self.merchant,
            payer_hash=self._accounts.hash_of(user) if isinstance(user, str) else None,
            paid_at_ms=_whole(told, "paid_at_ms"),
            # Older wallets omit this field.
            is_refunded="refunded_fen" in told and _whole(told, "refunded_fen") > 0,
        )


class HostOut(_HostWallet):
    """Host wallet implementation of PayoutProvider."""

    needs_consent = False
    locks_money = False
    query_horizon_ms = QUERY_HORIZON_MS

    def details(self) -> str:
        # The host's wallet writes its own transfer details.
        return ""

    def transfer(self, order: TransferOrder) -> TransferFound:
        told = self._client.call(
            "transfer.order",
            {
                "bill_no": order.transfer_no,
                "amount_fen": order.amount_fen,
                "currency": self.currency,
                "user": self._accounts.open(order.payee),
                "authorization_no": order.authorization_no,
            },
        )
        return self._parsed(told, order.transfer_no)

    def query(self, transfer_no: str) -> TransferFound:
        transfer = self._parsed(
            self._client.call("transfer.query", {"bill_no": transfer_no}), transfer_no
        )
        if transfer.state in _ANSWER_OF_A_CALL:
            raise _unreadable("state")
        return transfer

    def cancel(self, transfer_no: str) -> None:
        self._client.call("transfer.cancel", {"bill_no": transfer_no})

    def read_statement(self, day: str) -> list[StatementLine] | None:
        return _statement(self._client, day, "out")

    def _parsed(self, told: Mapping[str, Any], transfer_no: str) -> TransferFound:
        if told.get("bill_no") != transfer_no:
            raise _unreadable("bill_no")
        state = _word(TransferState, told, "state")
        if state is TransferState.NOT_FOUND:
            return TransferFound(state)
        reason = str(told.get("reason", "")) if state in _FAILURES else ""
        if state is TransferState.REFUSED:
            refusal = _word(Refusal, told, "refusal")
            return TransferFound(state, refusal=refusal, reason=reason)
        user = told.get("user")
        return TransferFound(
            state,
            outside_no=_text(told, "outside_no"),
            amount_fen=_whole(told, "amount_fen"),
            payee_hash=self._accounts.hash_of(user) if isinstance(user, str) else None,
            decided_at_ms=_whole(told, "decided_at_ms"),
            confirmation=str(told.get("confirmation", "")),
            reason=reason,
        )


_NOTICE_KINDS = {ProviderEventKind.PAYMENT, ProviderEventKind.REFUND, ProviderEventKind.TRANSFER}


class HostCallbacks:
    """Host wallet implementation of CallbackVerifier."""

    def __init__(self, results: HostResults) -> None:
        self._results = results

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        if not is_fresh(headers.get("webhook-timestamp", ""), now_ms):
            raise SignatureInvalid("the callback's time is off by more than five minutes")
        told = self._results.verified(headers, body)
        if told is None:
            raise SignatureInvalid("the callback's signature is not the host's")
        kind, data = str(told.get("type", "")).partition("."), told.get("data")
        # Answers are signed with the same secret, so reject types such as `payment.query.answer`.
        is_result = kind[0] in _NOTICE_KINDS and kind[2] and "." not in kind[2]
        if not is_result or not isinstance(data, dict) or not isinstance(data.get("number"), str):
            raise SignatureInvalid("the callback has an unknown type")
        return ProviderEvent(
            ProviderEventKind(kind[0]),
            headers["webhook-id"],
            data["number"],
            str(data.get("outside_no", "")),
        )


def _refund_found(told: Mapping[str, Any], refund_no: str) -> RefundFound:
    if told.get("refund_no") != refund_no:
        raise _unreadable("refund_no")
    state = _word(RefundState, told, "state")
    if state is RefundState.NOT_FOUND:
        return RefundFound(refund_no, state)
    return RefundFound(
        refund_no,
        state,
        number=_text(told, "number"),
        transaction_id=_text(told, "transaction_id"),
        amount_fen=_whole(told, "amount_fen"),
        refunded_at_ms=_whole(told, "refunded_at_ms"),
    )


def _statement(client: HostClient, day: str, kind: str) -> list[StatementLine] | None:
    lines = client.call("bill.read", {"day": day, "kind": kind}).get("lines", "")
    if lines is None:
        return None
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        raise _unreadable("lines")
    return [
        StatementLine(
            _word(StatementKind, line, "kind"),
            _text(line, "number"),
            _text(line, "outside_no"),
            _whole(line, "amount_fen"),
            _whole(line, "moved_at_ms"),
            str(line.get("of_number", "")),
        )
        for line in lines
    ]


def _word(words: type[_Word], told: Mapping[str, Any], name: str) -> _Word:
    try:
        return words(str(told.get(name)))
    except ValueError:
        raise _unreadable(name) from None


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not value:
        raise _unreadable(name)
    return value


def _whole(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _unreadable(name)
    return value


def _unreadable(name: str) -> Unavailable:
    return Unavailable(f"the host's wallet returned an unreadable {name}")
