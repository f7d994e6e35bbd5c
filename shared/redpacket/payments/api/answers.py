"""Response types for payments, withdrawals and provider accounts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.api.answer_fields import PacketId, PaymentId
from redpacket.payments.api.parameters import WITHDRAWAL_ID
from redpacket.payments.model.payments import PaymentStatus, ReturnReason
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.platform.http.answer_fields import (
    AtMs,
    EndsAtMs,
    HostId,
    Next,
    SumFen,
    UserToken,
    Word,
)
from redpacket.platform.http.bodies import about

SOME_WITHDRAWAL_ID = "7c1e5a9b3d2f4c6e8a0b1d3f5e7a9c"

WithdrawalId = Annotated[
    str, Field(pattern=f"^{WITHDRAWAL_ID.pattern}$", examples=[SOME_WITHDRAWAL_ID])
]
ByChannel = Annotated[ProviderName, about("The provider.")]
PaidFen = Annotated[int, Field(ge=1, examples=[8888])]


class Payment(TypedDict):
    """Incoming payment."""

    payment_id: PaymentId
    status: Annotated[
        PaymentStatus,
        about(
            "`closed`: not paid before it expired or its packet ended. Money that arrives later is "
            "credited or refunded."
        ),
    ]
    amount_fen: PaidFen
    channel: ByChannel
    expires_at_ms: EndsAtMs
    refunded_fen: Annotated[SumFen, about("The amount refunded to the payer.", 0)]
    packet_id: Annotated[PacketId | None, about("The packet that this payment funds.")]


class Confirmation(TypedDict):
    """Parameters with which a client asks the user to confirm a transfer or a consent."""

    app_id: Word
    mch_id: Word
    package: Word


class Withdrawal(TypedDict):
    """Outgoing withdrawal."""

    withdrawal_id: WithdrawalId
    status: Annotated[WithdrawalStatus, about("Current status.")]
    amount_fen: PaidFen
    channel: ByChannel
    created_at_ms: AtMs
    expected_at_ms: Annotated[AtMs, about("Estimated time of the call to the provider.")]
    reason: Annotated[
        str,
        about(
            "Why the withdrawal stopped or failed, such as `cancelled` or the provider's code; "
            "otherwise empty.",
            "ACCOUNT_ERROR",
        ),
    ]


class ProviderCall(TypedDict):
    """The provider's response to a call or query."""

    at_ms: AtMs
    answer: Annotated[str, about("State, and the provider's code.", "refused ACCOUNT_ERROR")]


class ListedWithdrawal(TypedDict):
    """Withdrawal for operators; `waits_for` and `next_step` are null after the withdrawal ends."""

    withdrawal_id: WithdrawalId
    status: WithdrawalStatus
    amount_fen: PaidFen
    channel: ByChannel
    user: HostId
    user_token: UserToken
    created_at_ms: AtMs
    waits_for: Annotated[
        str | None, about("Reason for the wait.", "the provider's answer to a call")
    ]
    next_step: Annotated[str | None, about("Next step that the system or an operator takes.", None)]
    next_at_ms: Annotated[AtMs | None, about("Time of the next scheduled check.")]


class WithdrawalDetails(ListedWithdrawal):
    """Withdrawal with its lease and the provider's last responses."""

    transfer_no: Annotated[Word, about("Transfer number at the provider.", "0" * 32)]
    call_count: Annotated[int, about("Number of calls to the provider.", 1, ge=0)]
    lease_until_ms: Annotated[
        int,
        about(
            "End of one worker's exclusive right to call the provider; 0 before the first call.",
            0,
        ),
    ]
    reason: Annotated[
        str,
        about(
            "Why the withdrawal stopped or failed, such as `cancelled` or the provider's code; "
            "otherwise empty.",
            "",
        ),
    ]
    calls: Annotated[list[ProviderCall], about("Last responses, oldest first.", max_length=10)]


class WithdrawalPage(TypedDict):
    """Page of withdrawals; it may be short or empty even if more pages follow."""

    items: Annotated[list[ListedWithdrawal], about("Items on this page.")]
    next: Next


class Withdrawals(TypedDict):
    """The caller's withdrawals, newest first."""

    items: Annotated[list[Withdrawal], about("Items on this page.")]
    next: Next


class Binding(TypedDict):
    """The caller's account at the provider, if it is linked."""

    is_bound: bool
    account: Annotated[
        str | None,
        about("Short hash that changes only if another account is linked.", "3fa85f64"),
    ]
    bound_at_ms: Annotated[AtMs | None, about("Time when the account was linked.")]
    opens_at_ms: Annotated[AtMs | None, about("Time from which withdrawals are allowed.")]


class Token(TypedDict):
    """Token from the deployment's own issuer."""

    token: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$",
            examples=["eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmVk"],
        ),
    ]
    expires_at_ms: EndsAtMs


class ListedReturn(TypedDict):
    """Received payment that was not credited and needs an operator's decision."""

    payment_id: PaymentId
    transaction_id: Annotated[Word, about("The provider's transaction ID.")]
    channel: ByChannel
    amount_fen: PaidFen
    reason: Annotated[
        ReturnReason,
        about(
            "`mismatched`: differs from the order. `refunded`: partly refunded at the provider "
            "before it was credited. Other values: our refund failed or can no longer succeed."
        ),
    ]
    noted_at_ms: AtMs


class ListedReturns(TypedDict):
    """Returns that wait for an operator, newest first."""

    items: Annotated[list[ListedReturn], about("Items; may be empty even if more pages follow.")]
    next: Next


class Debt(TypedDict):
    """Refund that was made at the provider and exceeded the user's balance."""

    user: HostId
    user_token: UserToken
    payment_id: PaymentId
    refund_no: Annotated[Word, about("The refund's number at the provider.")]
    owed_fen: Annotated[PaidFen, about("The debt from this refund.")]
    debt_fen: Annotated[PaidFen, about("The user's current total debt.")]
    noted_at_ms: AtMs


class Debts(TypedDict):
    """Users' debts, newest refund first."""

    items: Annotated[list[Debt], about("Items; may be empty even if more pages follow.")]
    next: Next
