"""Wiring of PaymentsTable's repositories and of the queue of notices."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.gateways import Gateways

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redpacket.adapters.dynamo.gateway_pace import DynamoGatewayPace
    from redpacket.domain.claim import ShareFate
    from redpacket.domain.packet import Person
    from redpacket.ports.gateways import NoticeQueue
    from redpacket.ports.payments import PaymentBook, PaymentLists, ReturnBook
    from redpacket.ports.withdrawals import AuthorizationBook, BoundPayees, Payees, WithdrawalBook


class PaymentBooks(Gateways):
    """Wiring of repositories of payments and withdrawals."""

    @cached_property
    def payment_book(self) -> PaymentBook:
        from redpacket.adapters.dynamo.payments import DynamoPayments

        return DynamoPayments(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.packets_table,
        )

    @cached_property
    def return_book(self) -> ReturnBook:
        from redpacket.adapters.dynamo.returns import DynamoReturns

        return DynamoReturns(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.journal_table,
        )

    @cached_property
    def withdrawal_book(self) -> WithdrawalBook:
        from redpacket.adapters.dynamo.withdrawals import DynamoWithdrawals

        return DynamoWithdrawals(
            self.dynamo, self.settings.payments_table, self.settings.accounts_table
        )

    @cached_property
    def gateway_pace(self) -> DynamoGatewayPace:
        from redpacket.adapters.dynamo.gateway_pace import DynamoGatewayPace

        return DynamoGatewayPace(self.dynamo, self.settings.payments_table)

    @cached_property
    def bound_payees(self) -> BoundPayees:
        from redpacket.adapters.dynamo.payees import DynamoPayees

        return DynamoPayees(self.dynamo, self.settings.payments_table)

    def payees_of(self, user: Person) -> Payees:
        """Return the payout accounts of the request's user."""
        from redpacket.adapters.payments.token_payees import TokenPayees

        return TokenPayees(user, self.host_accounts, self.bound_payees)

    @cached_property
    def consents(self) -> AuthorizationBook:
        from redpacket.adapters.dynamo.authorizations import DynamoAuthorizations

        return DynamoAuthorizations(self.dynamo, self.settings.payments_table)

    @cached_property
    def payment_lists(self) -> PaymentLists:
        from redpacket.adapters.dynamo.payment_lists import DynamoPaymentLists

        return DynamoPaymentLists(self.dynamo, self.settings.payments_table)

    @cached_property
    def notice_queue(self) -> NoticeQueue:
        from redpacket.adapters.aws.sqs_notices import SqsNotices

        return SqsNotices(lambda: self.aws("sqs"), self.settings.notice_queue_url)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[ShareFate]], None] | None:
        """Trigger of automatic payouts after claims, or None if they are disabled."""
        if not self.settings.withdraw_above_fen:
            return None
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.announce_balances import announce_balances

        return partial(announce_balances, channel=Channel.WECHAT, queue=self.notice_queue)
