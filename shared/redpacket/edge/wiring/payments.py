"""Payments and withdrawals: gateways, their keys, and the flows that speak to them."""

from __future__ import annotations

import secrets
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.operations import Operations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from redpacket.adapters.payments.accounts import AccountKeys, Accounts
    from redpacket.adapters.payments.host_client import HostClient
    from redpacket.adapters.payments.outgoing import Outgoing
    from redpacket.adapters.payments.wechat_client import WeChatClient
    from redpacket.domain.authorization import Authorization
    from redpacket.domain.claim import ShareFate
    from redpacket.domain.gateway import Channel, Merchant
    from redpacket.domain.packet import Person
    from redpacket.domain.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.domain.withdrawals import Withdrawal
    from redpacket.flows.payments.authorization_ports import AuthorizationPorts
    from redpacket.flows.payments.compare_bills import BillReport
    from redpacket.flows.payments.dispatch import DispatchReport
    from redpacket.flows.payments.pace import NightWindow
    from redpacket.flows.payments.payment_ports import PaymentPorts
    from redpacket.flows.payments.sweep_payments import PaymentSweepReport
    from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts
    from redpacket.ports.accounts import Request
    from redpacket.ports.logins import Authorizations, Logins, TokenIssuer
    from redpacket.ports.payments import (
        AuthorizationBook,
        BoundPayees,
        Callbacks,
        GatewayPace,
        NoticeQueue,
        Payees,
        PaymentBook,
        PaymentLists,
        PaymentsIn,
        PaymentsOut,
        WithdrawalBook,
    )
    from redpacket.ports.runtime import InParallel

CALL_MS_MAX = 5_000
"""After how long a call to a gateway is given up; most take less than one second."""

SETTLING_MS = 60_000
"""For how long a gateway may say NOT_FOUND of what a call has made (docs/adr/0030)."""

_DISPATCHED_EVERY_MS = 60_000
"""The schedule of template.yaml: TransferEveryMinute."""

_DAY_MS = 24 * 60 * 60 * 1_000
_WITHDRAWALS_PER_PAGE = 20
_RETURNS_PER_PAGE = 100
_DEBTS_PER_PAGE = 20
"""Each reads a user's balance besides."""

_TOKEN_LIFE_MS = 2 * 60 * 60 * 1_000
_RESERVE_MS = 8_000
"""What is begun must end before the function does: one call, and the note of its answer."""

_ID_BYTES = 15
"""In hexadecimal digits twice as long: domain/withdrawals.py::ID_LENGTH."""


class Payments(Operations):
    """Builds flows/payments."""

    @cached_property
    def payment_book(self) -> PaymentBook:
        """The payments of PaymentsTable."""
        from redpacket.adapters.dynamo.payments import DynamoPayments

        return DynamoPayments(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.packets_table,
        )

    @cached_property
    def withdrawal_book(self) -> WithdrawalBook:
        """The withdrawals of PaymentsTable."""
        from redpacket.adapters.dynamo.withdrawals import DynamoWithdrawals

        return DynamoWithdrawals(
            self.dynamo, self.settings.payments_table, self.settings.accounts_table
        )

    @cached_property
    def gateway_pace(self) -> GatewayPace:
        """The slots and breakers of PaymentsTable."""
        from redpacket.adapters.dynamo.gateway_pace import DynamoGatewayPace

        return DynamoGatewayPace(self.dynamo, self.settings.payments_table)

    @cached_property
    def bound_payees(self) -> BoundPayees:
        """The accounts at gateways that users have bound, in PaymentsTable."""
        from redpacket.adapters.dynamo.payees import DynamoPayees

        return DynamoPayees(self.dynamo, self.settings.payments_table)

    def payees_of(self, user: Person) -> Payees:
        """Return the accounts of a user whose token is at hand."""
        from redpacket.adapters.payments.token_payees import TokenPayees

        return TokenPayees(user, self.host_accounts, self.bound_payees)

    @cached_property
    def consents(self) -> AuthorizationBook:
        """Users' consent to transfers without a tap, in PaymentsTable."""
        from redpacket.adapters.dynamo.authorizations import DynamoAuthorizations

        return DynamoAuthorizations(self.dynamo, self.settings.payments_table)

    @cached_property
    def payment_lists(self) -> PaymentLists:
        """What of PaymentsTable operators look through."""
        from redpacket.adapters.dynamo.payment_lists import DynamoPaymentLists

        return DynamoPaymentLists(self.dynamo, self.settings.payments_table)

    @cached_property
    def announce_claims(self) -> Callable[[Sequence[ShareFate]], None] | None:
        """Tells whose balances claims have raised, where they are paid out by themselves."""
        if not self.settings.withdraw_above_fen:
            return None
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.announce_balances import announce_balances

        return partial(announce_balances, channel=Channel.WECHAT, queue=self.notice_queue)

    @cached_property
    def notice_queue(self) -> NoticeQueue:
        """The queue of what gateways told."""
        from redpacket.adapters.aws.sqs_notices import SqsNotices

        return SqsNotices(lambda: self.aws("sqs"), self.settings.notice_queue_url)

    # ---------------------------------------------------------------- gateways

    def secret(self, arn: str) -> str:
        """Read a secret. Raises Unavailable."""
        from redpacket.adapters.aws.errors import translated

        with translated("the store of secrets"):
            found = self.aws("secretsmanager").get_secret_value(SecretId=arn)
        return str(found["SecretString"])

    @cached_property
    def payee_keys(self) -> AccountKeys:
        """What seals users' accounts at gateways."""
        from redpacket.adapters.payments.accounts import AccountKeys

        return AccountKeys.of(self.secret(self.settings.payee_keys_secret_arn))

    @cached_property
    def host_accounts(self) -> Accounts:
        """What seals the ids by which the host's wallet calls users."""
        from redpacket.adapters.payments.accounts import Accounts

        return Accounts(self.payee_keys, "host")

    @cached_property
    def wechat_accounts(self) -> Accounts:
        """What seals openids: the same user has another one in each app."""
        from redpacket.adapters.payments.accounts import Accounts

        return Accounts(self.payee_keys, f"wechat/{self.wechat_client.merchant.app_id}")

    def outgoing(self, url: str) -> Outgoing:
        """Return what sends requests to an address that an operator has set."""
        from redpacket.adapters.payments.outgoing import Outgoing

        return Outgoing(
            url,
            call_ms_max=CALL_MS_MAX,
            allows_private=self.settings.allows_private_gateways,
        )

    @cached_property
    def host_client(self) -> HostClient:
        """What calls the host's wallet."""
        from redpacket.adapters.payments.host_client import HostClient, HostKeys

        keys = HostKeys.of(self.secret(self.settings.host_wallet_secret_arn))
        return HostClient(keys, self.outgoing(self.settings.host_wallet_url))

    @cached_property
    def wechat_client(self) -> WeChatClient:
        """What calls WeChat Pay."""
        from redpacket.adapters.payments.wechat_client import WeChatClient, WeChatMerchant

        merchant = WeChatMerchant.of(self.secret(self.settings.wechat_secret_arn))
        return WeChatClient(
            merchant, gateway_url=self.settings.wechat_pay_url, call_ms_max=CALL_MS_MAX
        )

    @cached_property
    def _wechat_callback_url(self) -> str:
        return f"{self.settings.callback_base_url}/gateway/wechat/callback"

    @cached_property
    def gateways_in(self) -> Mapping[Channel, PaymentsIn]:
        """The gateways that are set up, for money that comes in."""
        from redpacket.domain.gateway import Channel

        found: dict[Channel, PaymentsIn] = {}
        if self.settings.host_wallet_url:
            from redpacket.adapters.payments.host import HostIn

            found[Channel.HOST] = HostIn(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.settings.wechat_secret_arn:
            from redpacket.adapters.payments.wechat import OrderSettings, WeChatIn

            found[Channel.WECHAT] = WeChatIn(
                self.wechat_client,
                self.wechat_accounts,
                OrderSettings(self._wechat_callback_url, self.settings.wechat_remark),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.clock.now_ms,
            )
        return found

    @cached_property
    def gateways_out(self) -> Mapping[Channel, PaymentsOut]:
        """The gateways that are set up, for money that goes out."""
        from redpacket.domain.gateway import Channel

        found: dict[Channel, PaymentsOut] = {}
        if self.settings.host_wallet_url:
            from redpacket.adapters.payments.host import HostOut

            found[Channel.HOST] = HostOut(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.settings.wechat_secret_arn:
            from redpacket.adapters.payments.wechat import TransferSettings, WeChatOut

            found[Channel.WECHAT] = WeChatOut(
                self.wechat_client,
                self.wechat_accounts,
                TransferSettings(
                    self._wechat_callback_url,
                    self.settings.wechat_scene_id,
                    self.settings.wechat_remark,
                    self.settings.wechat_report_infos,
                ),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.clock.now_ms,
            )
        return found

    @cached_property
    def callbacks(self) -> Mapping[Channel, Callbacks]:
        """What checks the callbacks of the gateways that are set up."""
        from redpacket.domain.gateway import Channel

        found: dict[Channel, Callbacks] = {}
        if self.settings.host_wallet_url:
            from redpacket.adapters.payments.host import HostCallbacks

            found[Channel.HOST] = HostCallbacks(self.host_client)
        if self.settings.wechat_secret_arn:
            from redpacket.adapters.payments.wechat_callbacks import WeChatCallbacks

            found[Channel.WECHAT] = WeChatCallbacks(self.wechat_client)
        return found

    @cached_property
    def wechat_logins(self) -> Logins:
        """What tells whose a code of WeChat is. Raises ChannelUnavailable."""
        from redpacket.adapters.payments.wechat_login import CodeKind, WeChatLogin

        self._require_wechat()
        kind = CodeKind[self.settings.wechat_code_kind.upper()]
        return WeChatLogin(
            self.wechat_client.merchant,
            self.wechat_accounts,
            self.outgoing(f"{self.settings.wechat_api_url}{kind.value}"),
            kind,
        )

    @cached_property
    def consent_gateways(self) -> Mapping[Channel, Authorizations]:
        """The gateways that know users' consent, of those that are set up."""
        from redpacket.domain.gateway import Channel

        if not self.settings.wechat_secret_arn:
            return {}
        from redpacket.adapters.payments.wechat_authorizations import WeChatAuthorizations

        wechat = WeChatAuthorizations(
            self.wechat_client,
            self.wechat_accounts,
            notify_url=self._wechat_callback_url,
            scene_id=self.settings.wechat_scene_id,
        )
        return {Channel.WECHAT: wechat}

    def _require_wechat(self) -> None:
        from redpacket.domain.errors import ChannelUnavailable

        if not self.settings.wechat_secret_arn:
            raise ChannelUnavailable("WeChat Pay is not set up here")

    @cached_property
    def token_issuer(self) -> TokenIssuer:
        """What signs tokens for users who sign in by WeChat. Raises ChannelUnavailable."""
        from redpacket.adapters.payments.issuer import IssuerKeys, Rs256Tokens
        from redpacket.domain.errors import ChannelUnavailable

        if not self.settings.wechat_issuer_url:
            raise ChannelUnavailable("users sign in at another issuer here")
        keys = IssuerKeys.of(self.secret(self.settings.wechat_issuer_secret_arn))
        return Rs256Tokens(
            keys,
            url=self.settings.wechat_issuer_url,
            audience=self.settings.jwt_audience,
            life_ms=_TOKEN_LIFE_MS,
        )

    # ---------------------------------------------------------------- flows

    @cached_property
    def many_in_parallel(self) -> InParallel:
        """Waits for gateways side by side, one thread for each slot of a batch."""
        from redpacket.adapters.threads import in_threads
        from redpacket.flows.payments.dispatch import BATCH

        return partial(in_threads, threads=BATCH)

    @cached_property
    def payment_ports(self) -> PaymentPorts:
        """What flows of payments ask."""
        from redpacket.domain.payments import WhenLate
        from redpacket.edge.payment_parameters import new_payment_id
        from redpacket.flows.payments.payment_ports import PaymentPorts
        from redpacket.ports.payments import PaymentLimits

        is_refunded = self.settings.refunds_late_payments
        return PaymentPorts(
            gateways=self.gateways_in,
            book=self.payment_book,
            ledger=self.ledger,
            packets=self.packets,
            work=self.work_lists(0, 1),
            clock=self.clock,
            journal=self.journal,
            new_number=new_payment_id,
            limits=PaymentLimits(self.settings.payments_per_day),
            when_late=WhenLate.REFUND if is_refunded else WhenLate.CREDIT,
        )

    @cached_property
    def withdrawal_ports(self) -> WithdrawalPorts:
        """What flows of withdrawals ask."""
        from redpacket.flows.payments.pace import Pace
        from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts, WithdrawalSettings
        from redpacket.ports.payments import WithdrawalLimits

        per_minute, night = self.settings.bills_per_minute, self._night_window()
        return WithdrawalPorts(
            gateways=self.gateways_out,
            paces={
                channel: Pace(channel, per_minute, self.gateway_pace, self.clock, night)
                for channel in self.gateways_out
            },
            book=self.withdrawal_book,
            consents=self.consents,
            clock=self.clock,
            journal=self.journal,
            new_id=lambda: secrets.token_hex(_ID_BYTES),
            settings=WithdrawalSettings(
                self.settings.withdrawal_fen_min,
                self.settings.withdrawal_fen_max,
                WithdrawalLimits(
                    self.settings.withdrawals_per_day, self.settings.withdrawal_fen_per_day
                ),
                above_fen=self.settings.withdraw_above_fen,
                begins_within_ms=_DISPATCHED_EVERY_MS,
            ),
        )

    @cached_property
    def authorization_ports(self) -> AuthorizationPorts:
        """What flows of consent ask."""
        from redpacket.edge.payment_parameters import new_payment_id
        from redpacket.flows.payments.authorization_ports import AuthorizationPorts

        return AuthorizationPorts(
            gateways=self.consent_gateways,
            book=self.consents,
            payees=self.bound_payees,
            clock=self.clock,
            journal=self.journal,
            new_number=new_payment_id,
        )

    def bind_wechat(self, user_id: str, code: str) -> None:
        """Bind the WeChat account that a code belongs to. Raises CodeInvalid, OpenidInUse."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.bind_account import bind_account

        bind_account(
            user_id,
            Channel.WECHAT,
            code,
            logins=self.wechat_logins,
            payees=self.bound_payees,
            clock=self.clock,
        )

    def sign_in(self, code: str, user_id_of: Callable[[str], str]) -> tuple[str, int]:
        """Return a token for whom a code belongs to, and when it expires. Raises CodeInvalid."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.sign_in import sign_in

        return sign_in(
            code,
            Channel.WECHAT,
            logins=self.wechat_logins,
            issuer=self.token_issuer,
            payees=self.bound_payees,
            user_id_of=user_id_of,
            clock=self.clock,
            journal=self.journal,
        )

    def authorize(self, user_id: str, display_name: str) -> Authorization:
        """Ask a user for their consent at WeChat. Raises PayeeNotBound."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.authorize import authorize

        return authorize(user_id, Channel.WECHAT, display_name, ports=self.authorization_ports)

    def end_authorization(self, user_id: str) -> Authorization | None:
        """End a user's consent at WeChat; None without one."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.authorize import end_authorization

        return end_authorization(user_id, Channel.WECHAT, ports=self.authorization_ports)

    def _night_window(self) -> NightWindow | None:
        from datetime import time

        from redpacket.flows.payments.pace import NightWindow

        begins_at, _, ends_at = self.settings.night_window.partition("-")
        if not ends_at:
            return None
        return NightWindow(time.fromisoformat(begins_at), time.fromisoformat(ends_at))

    def start_payment(
        self,
        user: Person,
        amount_fen: int,
        channel: str,
        method: str,
        request: Request,
    ) -> Payment:
        """Begin a payment into a user's account, once per request."""
        from redpacket.domain.gateway import Channel, PayMethod
        from redpacket.flows.payments.start_payment import PaymentAsk, start_payment

        # An event will tell the host of it, by their id.
        self.profiles.note(user)
        by, how = Channel(channel), PayMethod(method)
        is_known = how is PayMethod.JSAPI
        payee = self.payees_of(user).find(user.user_id, by) if is_known else None
        payer = payee.account if payee else None
        return start_payment(
            PaymentAsk(user.user_id, amount_fen, by, how, payer, request),
            ports=self.payment_ports,
        )

    def find_payment(self, number: str, user: Person) -> Payment:
        """Return a user's own payment, ordered if it was cut off. Raises PaymentNotFound."""
        from redpacket.flows.payments.start_payment import find_payment

        return find_payment(
            number, user.user_id, ports=self.payment_ports, payees=self.payees_of(user)
        )

    @cached_property
    def find_withdrawal(self) -> partial[Withdrawal]:
        """Finds a user's own withdrawal."""
        from redpacket.flows.payments.withdraw import find_withdrawal

        return partial(find_withdrawal, ports=self.withdrawal_ports)

    @cached_property
    def cancel_withdrawal(self) -> partial[Withdrawal]:
        """Asks that a withdrawal is not made."""
        from redpacket.flows.payments.transfer import cancel_withdrawal

        return partial(cancel_withdrawal, ports=self.withdrawal_ports)

    def list_withdrawals(
        self, user_id: str, cursor: str | None
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of a user's withdrawals, newest first, and the next page's cursor."""
        return self.withdrawal_book.list_of_user(user_id, cursor, _WITHDRAWALS_PER_PAGE)

    def list_listed_returns(self, cursor: str | None) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of transactions that wait for a person, and the next page's cursor."""
        return self.payment_lists.list_listed_returns(cursor, _RETURNS_PER_PAGE)

    def list_debts(self, cursor: str | None) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
        """Return a page of refunds whose users owe money, and what they owe by now."""
        from redpacket.flows.payments.list_debts import list_debts

        return list_debts(cursor, _DEBTS_PER_PAGE, lists=self.payment_lists, ledger=self.ledger)

    def merchant_of(self, channel: Channel) -> Merchant:
        """Return in whose name a gateway acts; one that was removed since has no name."""
        from redpacket.domain.gateway import Merchant

        gateway = self.gateways_in.get(channel)
        return gateway.merchant if gateway else Merchant("", "")

    def withdraw(self, user: Person, amount_fen: int, channel: str, request: Request) -> Withdrawal:
        """Hold a withdrawal, once per request."""
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.withdraw import WithdrawalAsk, withdraw

        return withdraw(
            WithdrawalAsk(user.user_id, amount_fen, Channel(channel), request),
            payees=self.payees_of(user),
            ports=self.withdrawal_ports,
            payments=self.payment_ports,
        )

    def take_callback(self, channel: str, headers: Mapping[str, str], body: bytes) -> None:
        """Queue what a callback is about. Raises ChannelUnavailable, SignatureInvalid."""
        from redpacket.domain.errors import ChannelUnavailable
        from redpacket.domain.gateway import Channel
        from redpacket.flows.payments.take_callback import take_callback

        by = Channel(channel)
        if by not in self.callbacks:
            msg = f"{channel} is not set up here"
            raise ChannelUnavailable(msg)
        take_callback(
            by,
            headers,
            body,
            callbacks=self.callbacks[by],
            queue=self.notice_queue,
            book=self.payment_book,
            clock=self.clock,
        )

    def follow_notice(self, message: str) -> None:
        """Ask a gateway for what a message of the queue says it told of.

        Raises InvalidRequest, Unavailable.
        """
        from redpacket.adapters.aws.sqs_notices import read_notice
        from redpacket.domain.switches import Switch
        from redpacket.flows.payments.take_callback import follow_notice

        channel, notice = read_notice(message)
        follow_notice(
            channel,
            notice,
            payments=self.payment_ports,
            withdrawals=self.withdrawal_ports,
            authorizations=self.authorization_ports,
            may_withdraw=lambda: self.stored_switches.is_on(Switch.WITHDRAW),
        )

    def sweep_payments(self, time_left_ms: int) -> PaymentSweepReport:
        """Look once at all that is under way at gateways."""
        from redpacket.flows.payments.sweep_payments import sweep_payments

        return sweep_payments(
            payments=self.payment_ports,
            withdrawals=self.withdrawal_ports,
            authorizations=self.authorization_ports,
            in_parallel=self.in_parallel,
            stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
        )

    def dispatch(self, time_left_ms: int) -> dict[Channel, DispatchReport]:
        """Call gateways for the withdrawals that wait, at their pace, until none does."""
        from redpacket.adapters.threads import in_threads
        from redpacket.domain.switches import Switch
        from redpacket.flows.payments.dispatch import dispatch

        def dispatch_by(channel: Channel) -> DispatchReport:
            return dispatch(
                channel,
                ports=self.withdrawal_ports,
                in_parallel=self.many_in_parallel,
                stop_at_ms=self.clock.now_ms() + time_left_ms - _RESERVE_MS,
                may_go_on=lambda: self.stored_switches.is_on(Switch.WITHDRAW),
            )

        channels = list(self.withdrawal_ports.gateways)
        return dict(zip(channels, in_threads(dispatch_by, channels), strict=True))

    def compare_bills(self, day: str | None) -> dict[Channel, BillReport | None]:
        """Compare the bills of a day, without one of yesterday, with our rows; None: not there."""
        from redpacket.domain.gateway import bill_day
        from redpacket.flows.payments.compare_bills import compare_bill

        yesterday = bill_day(self.clock.now_ms() - _DAY_MS)
        return {
            channel: compare_bill(
                channel,
                day or yesterday,
                payments=self.payment_ports,
                withdrawals=self.withdrawal_ports,
            )
            for channel in self.gateways_in
        }
