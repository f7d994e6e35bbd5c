"""What payments and withdrawals ask of gateways, and what brings their callbacks.

The contract between flows and gateways (docs/architecture.md has the steps):

* **Numbers are ours.** Each order, refund and transfer has a number that we choose: at most 32
  letters and digits. A gateway carries a number out once at most, for ever. A call that comes again
  with the same number and the same content changes nothing, and answers as things stand then.
* **Unknown is not refused.** `Unavailable` means that nothing is known: a time-out, a lost
  connection, HTTP 5xx, `SYSTEM_ERROR`, a throttle whose effect is not certain, an answer that can't
  be read or whose signature is wrong. The flow repeats the SAME number and queries.
* **A refusal is a hint.** Answers outside of 2xx are not signed, so that even a clear refusal is
  confirmed by a query before any money comes back.
* **NOT_FOUND needs time.** A query may miss what was just called. NOT_FOUND counts only once
  `settling_ms` have passed since the last moment at which a call can have begun; the flow adds its
  lease and its function's time-out.
* **Final is for ever.** SUCCEEDED, FAILED and CANCELLED of a number never change.
* **No retries inside.** An adapter makes one HTTP call for each method, with a time-out of
  `call_ms_max` at most, and keeps nothing: pacing, repeats and breakers are the flows'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.domain.gateway import (
        BillLine,
        Channel,
        Merchant,
        Notice,
        OrderFound,
        PaymentOrder,
        RefundFound,
        RefundOrder,
        Transaction,
        TransferFound,
        TransferOrder,
    )


class PaymentsIn(Protocol):
    """A gateway's side of money that comes in."""

    channel: Channel
    merchant: Merchant
    """In whose name orders are made: a transaction in another one's name is not ours."""
    settling_ms: int
    """For how long after a call a query may still answer NOT_FOUND for what the call made."""
    call_ms_max: int
    """After how long a call is given up."""

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        """Announce a payment, and return what the payer's client needs to pay.

        That is `{"code_url"}` for native, the client's signed parameters for jsapi; for the host
        what its wallet answered. None where the number takes no payment any more, because it is
        paid or closed: a query says which. Raises Unavailable.
        """

    def query(self, number: str) -> OrderFound:
        """Return an order with every payment that was taken for it, not only the first.

        Raises Unavailable.
        """

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        """Return a payment by the gateway's own id; None for NOT_FOUND.

        For payments that `query` does not list: a callback or a bill named them. Raises
        Unavailable.
        """

    def close(self, number: str) -> None:
        """Take no payment for a number from now on; a payment under way may still arrive.

        Returns as well where it is closed, paid, or not known: a query says which. Raises
        Unavailable.
        """

    def refund(self, order: RefundOrder) -> RefundFound:
        """Give a payment back, wholly or in part, once for its *refund_no*. Raises Unavailable.

        A refusal is the state FAILED only where the gateway's signed answer says so.
        """

    def query_refund(self, refund_no: str) -> RefundFound:
        """Return a refund, ours or one that was made outside; NOT_FOUND as a state.

        Raises Unavailable.
        """

    def read_bill(self, day: str) -> list[BillLine] | None:
        """Return all payments and refunds of a day, "2026-11-22" in the gateway's time zone.

        None where the gateway has no bill of the day yet. The adapter has compared the file's hash.
        Raises Unavailable.
        """


class PaymentsOut(Protocol):
    """A gateway's side of money that goes out."""

    channel: Channel
    settling_ms: int
    """For how long after a call a query may still answer NOT_FOUND for what the call made."""
    call_ms_max: int
    """After how long a call is given up."""

    def details(self) -> str:
        """Return what the settings add to each transfer, like its scene and remark, as text.

        A withdrawal keeps it, so that a repeat after a deployment sends what the first call sent.
        """

    def transfer(self, order: TransferOrder) -> TransferFound:
        """Pay out, once for its *bill_no*, and return where it stands, or REFUSED.

        REFUSED is only for answers that name their reason. THROTTLED and OUT_OF_FUNDS pass by
        themselves; NOT_AUTHORIZED is USER_NOT_AUTHORIZED; OTHER is for what no repeat changes. Of a
        number that is carried out already the state is returned, whatever the gateway calls it.
        Raises Unavailable.
        """

    def query(self, bill_no: str) -> TransferFound:
        """Return where a transfer stands; NOT_FOUND as a state. Raises Unavailable."""

    def cancel(self, bill_no: str) -> None:
        """Ask that a transfer which the payee has not confirmed is not made.

        It only asks: a query says what came of it, and SUCCEEDED may. Returns as well where the
        transfer can't be cancelled, or is not known. Raises Unavailable.
        """

    def read_bill(self, day: str) -> list[BillLine] | None:
        """Return all transfers that moved money on a day, as `PaymentsIn.read_bill`."""


class Callbacks(Protocol):
    """Checks what a gateway sends to us."""

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Notice:
        """Return what a callback is about; header names come in lower case.

        Over the raw bytes: the signature, by a key that is configured; the timestamp, at most five
        minutes from *now_ms*; then the content is decrypted and read. Raises SignatureInvalid for
        all of them. Nonces are the flow's (`PaymentBook.note_notice`).
        """


class NoticeQueue(Protocol):
    """Carries notices to the payment function, at least once."""

    def put(self, channel: Channel, *notices: Notice) -> None:
        """Queue notices. Raises Unavailable; some may be queued then."""


class GatewayPace(Protocol):
    """A gateway's limits as all functions share them, durably."""

    def find_slot(self, channel: Channel, name: str) -> int:
        """Return the microsecond of the next free slot; 0 where none was taken."""

    def take_slots(self, channel: Channel, name: str, seen_us: int, next_us: int) -> bool:
        """Move the next free slot from *seen_us* to *next_us*; False if it is elsewhere by now."""

    def find_breaker(self, channel: Channel) -> tuple[int, int]:
        """Return until when calls rest, and how often in a row they have."""

    def set_breaker(self, channel: Channel, until_ms: int, times: int) -> None:
        """Let calls rest until a time."""
