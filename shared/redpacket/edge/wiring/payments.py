"""Wiring of payments into accounts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.edge.wiring.payment_books import PaymentBooks

if TYPE_CHECKING:
    from redpacket.domain.gateway import Channel, Merchant
    from redpacket.domain.packet import Person
    from redpacket.domain.payments import Payment, PaymentRefund, PaymentReturn, Resolution
    from redpacket.flows.payments.payment_ports import PaymentPorts
    from redpacket.ports.accounts import Request

_RETURNS_PER_PAGE = 100

_PAYMENTS_PER_DAY = 100

_DEBTS_PER_PAGE = 20
"""Debts on one page; each also reads a user's balance."""


class Payments(PaymentBooks):
    """Wiring of use cases of payments."""

    @cached_property
    def payment_ports(self) -> PaymentPorts:
        from redpacket.edge.payment_parameters import new_payment_id
        from redpacket.flows.payments.payment_ports import PaymentPorts
        from redpacket.ports.payments import PaymentLimits

        return PaymentPorts(
            gateways=self.gateways_in,
            book=self.payment_book,
            returns=self.return_book,
            compared=self.gateway_pace,
            ledger=self.ledger,
            packets=self.packets,
            work=self.work_lists(0, 1),
            clock=self.clock,
            journal=self.journal,
            new_number=new_payment_id,
            limits=PaymentLimits(_PAYMENTS_PER_DAY),
        )

    def start_payment(
        self, user: Person, amount_fen: int, channel: str, method: str, request: Request
    ) -> Payment:
        """Start a payment into a user's account, once for each request."""
        from redpacket.domain.gateway import Channel, PayMethod
        from redpacket.flows.payments.start_payment import PaymentAsk, start_payment

        # An event will report the payment under the host's user id.
        self.profiles.note(user, self.clock.now_ms())
        by, how = Channel(channel), PayMethod(method)
        is_known = how is PayMethod.JSAPI
        payee = self.payees_of(user).find(user.user_id, by) if is_known else None
        payer = payee.account if payee else None
        return start_payment(
            PaymentAsk(user.user_id, amount_fen, by, how, payer, request), ports=self.payment_ports
        )

    def find_payment(self, number: str, user: Person) -> Payment:
        """Return a user's own payment; order it if that was interrupted. Raises PaymentNotFound."""
        from redpacket.flows.payments.start_payment import find_payment

        return find_payment(
            number, user.user_id, ports=self.payment_ports, payees=self.payees_of(user)
        )

    def list_listed_returns(self, cursor: str | None) -> tuple[list[PaymentReturn], str | None]:
        return self.payment_lists.list_listed_returns(cursor, _RETURNS_PER_PAGE)

    def resolve_return(self, resolution: Resolution, operator_id: str) -> PaymentReturn:
        """Resolve a listed return. Raises PaymentNotFound, VersionConflict, InvalidRequest."""
        from redpacket.flows.payments.return_payment import resolve_return

        return resolve_return(resolution, operator_id, ports=self.payment_ports)

    def list_debts(self, cursor: str | None) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
        """Return a page of refunds with debts, and each user's current debt."""
        from redpacket.flows.payments.list_debts import list_debts

        return list_debts(cursor, _DEBTS_PER_PAGE, lists=self.payment_lists, ledger=self.ledger)

    def merchant_of(self, channel: Channel) -> Merchant:
        """Return a gateway's merchant, empty if the gateway is no longer configured."""
        from redpacket.domain.gateway import Merchant

        gateway = self.gateways_in.get(channel)
        return gateway.merchant if gateway else Merchant("", "")
