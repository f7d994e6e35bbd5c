"""User erasure: delete personal data, and keep rows about money under the user's pseudonym.

Counters, which transactions maintain, show whether a list is complete, so that a stale index can't
hide money.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from redpacket.erasure.errors import AccountNotEmpty
from redpacket.erasure.model import OutsideRows, Standing
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.ports import Pictures
from redpacket.packets.use_cases.own_pictures import blank_pictures
from redpacket.payments.model.payments import PaymentStatus
from redpacket.payments.model.provider import statement_day
from redpacket.payments.model.withdrawals import RETURNED
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock
from redpacket.users.ports import ProfileRepository

if TYPE_CHECKING:
    from redpacket.erasure.dynamodb.erasure import DynamoErasure
    from redpacket.erasure.dynamodb.holdings import DynamoHoldings

_OVER = frozenset({PacketStatus.CLOSED, PacketStatus.CANCELLED})


def erase_user(
    user_id: str,
    note: Callable[[], None],
    *,
    holdings: DynamoHoldings,
    erasure: DynamoErasure,
    profiles: ProfileRepository,
    pictures: Pictures,
    clock: Clock,
) -> None:
    """Erase a user whose account is empty; *note* is called before the first change.

    Raises AccountNotEmpty, Unavailable. A retry completes an interrupted erasure.
    """
    sent, claims, outside = _check_empty(user_id, holdings)
    note()
    blank_pictures(user_id, sent, pictures)
    erasure.erase_thanks(claims)
    # Delete the profile last: until then, an operator can find the remaining rows by host id.
    erasure.erase_payees(user_id, clock.now_ms())
    erasure.erase_outside(outside)
    erasure.erase_audiences(user_id)
    erasure.erase_notices(user_id, clock.now_ms())
    profiles.erase(user_id, clock.now_ms())


def _check_empty(
    user_id: str, holdings: DynamoHoldings
) -> tuple[list[Packet], list[ShareRef], OutsideRows]:
    """Return an empty account's packets, claims and payment rows.

    Counters are read before the lists that they count. Raises AccountNotEmpty, Unavailable.
    """
    _, sent, claims = check_settled(user_id, holdings)
    outside = holdings.list_outside(user_id)
    if outside.returning_count or any(
        payment.status is PaymentStatus.PENDING for payment in outside.payments
    ):
        raise AccountNotEmpty("The user has a pending payment. Try again later.")
    if any(withdrawal.ended_at_ms is None for withdrawal in outside.withdrawals):
        raise AccountNotEmpty("The user has a pending withdrawal. Try again later.")
    started_by_day = Counter(statement_day(payment.created_at_ms) for payment in outside.payments)
    for day, count in outside.begun_counts.items():
        _check_complete(started_by_day[day], count, "payments")
    paid = [withdrawal for withdrawal in outside.withdrawals if withdrawal.status not in RETURNED]
    _check_complete(len(paid), outside.withdrawn_count, "withdrawals")
    return sent, claims, outside


def check_settled(
    user_id: str, holdings: DynamoHoldings
) -> tuple[Standing, list[Packet], list[ShareRef]]:
    """Return the standing, packets and claims of a user without money, debt or open packets.

    Raises AccountNotEmpty, Unavailable.
    """
    standing = holdings.standing(user_id)
    if standing.balance_fen:
        raise AccountNotEmpty("The balance is not 0. Withdraw it first, or move campaign money.")
    if standing.owed_fen:
        raise AccountNotEmpty("The user owes money. Settle the debt first.")
    if standing.open_count:
        raise AccountNotEmpty("The user has a packet that has not ended. Try again later.")
    claims = holdings.list_claims(user_id)
    if len(claims) > standing.received_count:
        raise AccountNotEmpty("The user has an unsettled claim. Try again later.")
    sent = holdings.list_sent(user_id)
    if any(packet.status not in _OVER for packet in sent):
        raise AccountNotEmpty("The user has a packet that has not ended. Try again later.")
    _check_complete(len(sent), standing.sent_count, "packets")
    return standing, sent, claims


def _check_complete(found_count: int, count: int, name: str) -> None:
    if found_count < count:
        raise Unavailable(f"the list of the user's {name} is not up to date yet")
