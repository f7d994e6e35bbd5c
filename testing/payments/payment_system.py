"""Users who pay in and withdraw, on the in-memory system with a provider."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.model.allowances import ApprovalLimits
from redpacket.operations.model.limits import PROVIDER_CALLS
from redpacket.operations.model.operators import Operator
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.operations.use_cases.limit_failures import FailureBudget
from redpacket.packets.model.packet import Packet
from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
from redpacket.payments.dynamodb.lists import DynamoPaymentLists
from redpacket.payments.dynamodb.payees import DynamoPayees
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.dynamodb.provider_pace import DynamoProviderPace
from redpacket.payments.dynamodb.returns import DynamoReturns
from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
from redpacket.payments.model.payments import Payment, PaymentReturn, Resolution
from redpacket.payments.model.provider import PayMethod, ProviderEvent
from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalLimits
from redpacket.payments.ports import PaymentProvider, PayoutProvider
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.payments.use_cases.bind_account import LoginPorts
from redpacket.payments.use_cases.compare_statements import StatementReport, compare_statement
from redpacket.payments.use_cases.confirm_payment import confirm_payment
from redpacket.payments.use_cases.dependencies import (
    AuthorizationPorts,
    PaymentPorts,
    WithdrawalPorts,
    WithdrawalSettings,
)
from redpacket.payments.use_cases.dispatch import DispatchReport, dispatch
from redpacket.payments.use_cases.handle_callback import follow_notice
from redpacket.payments.use_cases.rate_limiter import NightWindow, Pace
from redpacket.payments.use_cases.return_payment import note_refund, resolve_return
from redpacket.payments.use_cases.start_payment import (
    PaymentAsk,
    close_order,
    start_packet_payment,
    start_payment,
)
from redpacket.payments.use_cases.sweep_payments import PaymentSweepReport, sweep_payments
from redpacket.payments.use_cases.transfer import cancel_withdrawal
from redpacket.payments.use_cases.withdraw import WithdrawalAsk, withdraw
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.in_memory_system import InMemorySystem, an_order
from testing.payments.fake_gateway import (
    FakeAuthorizations,
    FakeGateway,
    FakeIssuer,
    FakeLogins,
    FakeNoticeQueue,
    FakePayees,
    FakePaymentsIn,
    FakePaymentsOut,
)
from testing.payments.outside_checks import check_outside_in_time
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.checks import check_outside

WECHAT = ProviderName.WECHAT
FEN_MIN, FEN_MAX = 10, 100_000
LIMITS = WithdrawalLimits(count_max=100, fen_max=1_000_000)
BILLS_PER_MINUTE = 1_800


class PaymentSystem:
    """Payment use cases with one process's clients; *system* has the users and the money."""

    def __init__(
        self,
        system: InMemorySystem | None = None,
        *,
        dynamo: Dynamo | None = None,
        gateway: FakeGateway | None = None,
        gates_in: Mapping[ProviderName, PaymentProvider] | None = None,
        gates_out: Mapping[ProviderName, PayoutProvider] | None = None,
        details: str = "scene",
    ) -> None:
        self.system = system or InMemorySystem()
        self.clock = self.system.clock
        self.gateway = gateway or FakeGateway(self.clock)
        client = dynamo or Dynamo(lambda: self.system.dynamo, TABLE_NAMES)
        self.repository = DynamoPayments(client)
        self.returns = DynamoReturns(client)
        self.withdrawals = DynamoWithdrawals(client)
        self.store = DynamoProviderPace(client)
        self.lists = DynamoPaymentLists(client)
        self.payees = FakePayees()
        self.notices = FakeNoticeQueue()
        # The real adapters, for tests of linked accounts.
        self.accounts = DynamoPayees(client)
        self.consents = DynamoAuthorizations(client)
        self.consent_gate = FakeAuthorizations(self.gateway)
        self.wrong_codes = FailureBudget(PROVIDER_CALLS, self.clock)
        self.asks = FailureBudget(PROVIDER_CALLS, self.clock)
        self.payments_per_day_max = 10_000
        self.settings = WithdrawalSettings(FEN_MIN, FEN_MAX, LIMITS)
        self.bills_per_minute = BILLS_PER_MINUTE
        self.night: NightWindow | None = None
        self.gates_in: Mapping[ProviderName, PaymentProvider] = gates_in or {
            WECHAT: FakePaymentsIn(self.gateway)
        }
        self.gates_out: Mapping[ProviderName, PayoutProvider] = gates_out or {
            WECHAT: FakePaymentsOut(self.gateway, details)
        }
        self.prompts = Accounts(AccountKeys({"1": bytes(64)}, bytes(32)), "prompt")
        self.ids = itertools.count(1)

    @property
    def payments(self) -> PaymentPorts:
        return PaymentPorts(
            fix_unit=lambda: None,
            providers=self.gates_in,
            repository=self.repository,
            returns=self.returns,
            compared=self.store,
            ledger=self.system.ledger,
            packets=self.system.packets,
            pictures=self.system.pictures,
            work=self.system.work,
            clock=self.clock,
            logger=self.system.logger,
            new_number=lambda: f"pm{next(self.ids):030d}",
            per_day_max=self.payments_per_day_max,
            prompts=self.prompts,
        )

    @property
    def pace(self) -> Pace:
        return self.pace_of(WECHAT)

    def pace_of(self, channel: ProviderName) -> Pace:
        return Pace(channel, self.bills_per_minute, self.store, self.clock, self.night)

    @property
    def transfers(self) -> WithdrawalPorts:
        return WithdrawalPorts(
            providers=self.gates_out,
            paces={channel: self.pace_of(channel) for channel in self.gates_out},
            repository=self.withdrawals,
            consents=self.consents,
            clock=self.clock,
            logger=self.system.logger,
            settings=self.settings,
            prompts=self.prompts,
        )

    @property
    def authorizations(self) -> AuthorizationPorts:
        return AuthorizationPorts(
            providers={WECHAT: self.consent_gate},
            repository=self.consents,
            payees=self.accounts,
            clock=self.clock,
            logger=self.system.logger,
            new_number=lambda: f"au{next(self.ids):030d}",
            prompts=self.prompts,
            asks=self.asks,
        )

    def login_ports(self, logins: FakeLogins, first_wait_ms: int = 0) -> LoginPorts:
        return LoginPorts(
            {WECHAT: logins},
            {WECHAT: FakeIssuer()},
            self.accounts,
            self.clock,
            self.system.logger,
            first_wait_ms,
            self.wrong_codes,
        )

    def start(
        self,
        user_id: str = "user",
        amount_fen: int = 100,
        key: str | None = None,
        method: PayMethod = PayMethod.JSAPI,
        channel: ProviderName = WECHAT,
    ) -> Payment:
        """Start a payment from a user's own account."""
        request = Request(user_id, key or f"pay-{next(self.ids)}", str(amount_fen))
        ask = PaymentAsk(user_id, amount_fen, channel, method, request)
        return start_payment(ask, payees=self.payees, ports=self.payments)

    def resolve(
        self, resolution: Resolution, operator: str = "ann", limits: ApprovalLimits | None = None
    ) -> PaymentReturn:
        """Resolve a listed return as an operator."""
        policy: ApprovalPolicy = self.system.process().approval_policy
        if limits:
            policy = replace(policy, limits=limits)
        acting = Operator(User(operator))
        return resolve_return(resolution, acting, policy=policy, ports=self.payments)

    def pay_in(self, user_id: str = "user", amount_fen: int = 100) -> Payment:
        """Start a payment, pay it, and confirm it."""
        payment = self.start(user_id, amount_fen)
        self.gateway.pay(payment.number)
        return self.confirm(payment)

    def follow(self, notice: ProviderEvent, channel: ProviderName = WECHAT) -> None:
        follow_notice(
            channel,
            notice,
            payments=self.payments,
            withdrawals=self.transfers,
            authorizations=self.authorizations,
            queue=self.notices,
        )

    def confirm(self, payment: Payment, transaction_id: str = "") -> Payment:
        return confirm_payment(payment.number, transaction_id, ports=self.payments)

    def send_unpaid(
        self,
        sender: str = "sender",
        key: str | None = None,
        channel: ProviderName = WECHAT,
        **changes: Any,
    ) -> Packet:
        """Send a packet that a payment will fund."""
        order = an_order(sender, key=key or f"unpaid-{next(self.ids)}", **changes)
        number = order.request.id_of("send")
        unpaid = replace(order, payment_id=number, pay_channel=channel, pay_method=PayMethod.JSAPI)
        return self.system.send_order(unpaid)

    def start_packet(self, packet: Packet, channel: ProviderName = WECHAT) -> Payment:
        return start_packet_payment(
            packet, channel, PayMethod.JSAPI, payees=self.payees, ports=self.payments
        )

    def end_packet(self, packet: Packet, reason: str = "") -> Packet:
        """End a packet early; the order function closes the payment's order at the provider."""
        return self.system.end_packet(packet, reason, payments=self)

    def close(self, number: str) -> None:
        """Close an order, as the order function's client does."""
        close_order(number, ports=self.payments)

    def withdraw(
        self,
        user_id: str = "user",
        amount_fen: int = 100,
        key: str | None = None,
        channel: ProviderName = WECHAT,
    ) -> Withdrawal:
        request = Request(user_id, key or f"withdraw-{next(self.ids)}", str(amount_fen))
        ask = WithdrawalAsk(user_id, amount_fen, channel, request)
        return withdraw(ask, payees=self.payees, ports=self.transfers, payments=self.payments)

    def cancel(self, withdrawal: Withdrawal) -> Withdrawal:
        return cancel_withdrawal(withdrawal.withdrawal_id, withdrawal.user_id, ports=self.transfers)

    def dispatch(self, for_ms: int = 5_000, channel: ProviderName = WECHAT) -> DispatchReport:
        return dispatch(
            channel,
            ports=self.transfers,
            in_parallel=self.system.in_parallel,
            stop_at_ms=self.clock.now_ms() + for_ms,
        )

    def sweep(self, stop_in_ms: int = 50_000) -> PaymentSweepReport:
        return sweep_payments(
            payments=self.payments,
            withdrawals=self.transfers,
            authorizations=self.authorizations,
            in_parallel=self.system.in_parallel,
            stop_at_ms=self.clock.now_ms() + stop_in_ms,
        )

    def sweep_after(self, duration_ms: int) -> PaymentSweepReport:
        """Advance the clock, and sweep."""
        self.system.pass_time(duration_ms)
        return self.sweep()

    def called(self, amount_fen: int, *, is_away: bool = False) -> Withdrawal:
        """Withdraw as the user, and call the provider, which may be unavailable."""
        withdrawal = self.withdraw("user", amount_fen)
        self.gateway.is_away = is_away
        self.dispatch(1_000)
        self.gateway.is_away = False
        return withdrawal

    def pay_again(self, payment: Payment) -> None:
        """Pay a payment a second time, and confirm the second transaction."""
        second = self.gateway.pay(payment.number, is_forced=True)
        assert second
        self.confirm(payment, second.transaction_id)

    def pay_packet(self, packet: Packet) -> Payment:
        """Pay for an unpaid packet, and confirm the payment."""
        payment = self.start_packet(packet)
        self.gateway.pay(payment.number)
        return self.confirm(payment)

    def refund(self, payment: Payment, amount_fen: int) -> None:
        """Refund a payment in the provider's console, and handle the callback."""
        refund_no = self.gateway.refund_outside(payment.number, amount_fen)
        note_refund(WECHAT, refund_no, ports=self.payments)

    def compare_statement(self, day: str, channel: ProviderName = WECHAT) -> StatementReport | None:
        return compare_statement(channel, day, payments=self.payments, withdrawals=self.transfers)

    def paid(self, payment: Payment) -> Payment:
        stored = self.repository.find(payment.number)
        assert stored
        return stored

    def find(self, withdrawal: Withdrawal) -> Withdrawal:
        stored = self.withdrawals.find(withdrawal.withdrawal_id)
        assert stored
        return stored

    def balance_fen(self, user_id: str = "user") -> int:
        return self.system.ledger.balance_fen(f"user:{user_id}")

    def differences(self, bound_ms: int | None = None) -> list[Difference]:
        """Run the system's checks, and compare the provider's own book with the ledger."""
        differences = self.system.differences(bound_ms)
        facts = self.system.ledger_state().outside
        differences += check_outside(facts, self.gateway.bill_lines())
        if bound_ms is not None:
            differences += check_outside_in_time(facts.rows, self.clock.now_ms(), bound_ms)
        return differences
