"""Answers about payments, withdrawals and accounts at gateways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.packets.api.values import AtMs, EndsAtMs, Next, PacketId, SumFen, UserToken, Word
from redpacket.payments.api.parameters import PAYMENT_ID, WITHDRAWAL_ID
from redpacket.payments.model.authorization import AuthorizationStatus
from redpacket.payments.model.payments import PaymentStatus, ReturnReason
from redpacket.payments.model.provider import Channel
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.platform.http.bodies import about

SOME_PAYMENT_ID = "0b6f2c9d4e8a41d7b3f5a6c1e2d3f4a5"
SOME_WITHDRAWAL_ID = "7c1e5a9b3d2f4c6e8a0b1d3f5e7a9c"

PaymentId = Annotated[str, Field(pattern=f"^{PAYMENT_ID.pattern}$", examples=[SOME_PAYMENT_ID])]
WithdrawalId = Annotated[
    str, Field(pattern=f"^{WITHDRAWAL_ID.pattern}$", examples=[SOME_WITHDRAWAL_ID])
]
ByChannel = Annotated[Channel, about("By which gateway.")]
PaidFen = Annotated[int, Field(ge=1, examples=[8888])]


class WeChatPrompt(TypedDict, total=False):
    """What a payer's client needs: `code_url` for `native`, the others, signed, for `jsapi`."""

    code_url: Word
    appId: Word
    timeStamp: Word
    nonceStr: Word
    package: Word
    signType: Literal["RSA"]
    paySign: Word


Prompt = Annotated[
    WeChatPrompt | None,
    about(
        "Null by another channel, once it is over, and while the gateway does not answer: ask "
        "again.",
        {"code_url": "weixin://wxpay/bizpayurl?pr=p4lpSuK"},
    ),
]
HostPrompt = Annotated[
    dict[str, str] | None,
    about("What the host's wallet answered, in fields of its own; null by another channel.", None),
]


class Payment(TypedDict):
    """Money that is to come in."""

    payment_id: PaymentId
    status: Annotated[
        PaymentStatus,
        about("`closed`: not paid in time. Money that comes later is credited, or goes back."),
    ]
    amount_fen: PaidFen
    channel: ByChannel
    expires_at_ms: EndsAtMs
    refunded_fen: Annotated[SumFen, about("What the payer got back.", 0)]
    packet_id: Annotated[PacketId | None, about("The packet that it pays for.")]
    wechat: Prompt
    host: HostPrompt


class Confirmation(TypedDict):
    """What a client passes to `requestMerchantTransfer`, where the user confirms the transfer."""

    app_id: Word
    mch_id: Word
    package: Word


class Withdrawal(TypedDict):
    """Money on its way out."""

    withdrawal_id: WithdrawalId
    status: Annotated[WithdrawalStatus, about("Where it stands.")]
    amount_fen: PaidFen
    channel: ByChannel
    created_at_ms: AtMs
    expected_at_ms: Annotated[AtMs, about("When the gateway is likely to be called.")]
    reason: Annotated[
        str, about("The gateway's own code where it failed; else empty.", "ACCOUNT_ERROR")
    ]
    wechat: Annotated[
        Confirmation | None, about("While it is `awaiting_confirmation` at WeChat.", None)
    ]


class Withdrawals(TypedDict):
    """The caller's withdrawals, newest first."""

    items: Annotated[list[Withdrawal], about("The page.")]
    next: Next


class Binding(TypedDict):
    """The caller's WeChat account, if it is linked."""

    is_bound: bool
    account: Annotated[str | None, about("Changes only if another account is linked.", "3fa85f64")]
    bound_at_ms: Annotated[AtMs | None, about("When it was linked.")]
    opens_at_ms: Annotated[AtMs | None, about("When withdrawals to it open.")]


class Consent(TypedDict):
    """Whether transfers to the caller need a tap each."""

    status: Annotated[AuthorizationStatus, about("`active`: transfers need no confirmation.")]
    wechat: Annotated[Confirmation | None, about("While it is `awaiting_confirmation`.", None)]


class Token(TypedDict):
    """A token of the deployment's own issuer."""

    token: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$",
            examples=["eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmVk"],
        ),
    ]
    expires_at_ms: EndsAtMs


class ListedReturn(TypedDict):
    """Money that a gateway took and that is in no account: a person decides about it."""

    payment_id: PaymentId
    transaction_id: Annotated[Word, about("The gateway's own name for it.")]
    channel: ByChannel
    amount_fen: PaidFen
    reason: Annotated[
        ReturnReason,
        about(
            "`mismatched`: not what was ordered. `refunded`: a part was given back at the gateway "
            "before the credit. Another one: the gateway refused to give it back."
        ),
    ]
    noted_at_ms: AtMs


class ListedReturns(TypedDict):
    """What waits for a person, newest first."""

    items: Annotated[list[ListedReturn], about("The page; it may be empty before the last.")]
    next: Next


class Debt(TypedDict):
    """A refund made at the gateway that took more than its user had."""

    user_token: UserToken
    payment_id: PaymentId
    refund_no: Annotated[Word, about("The refund's number at the gateway.")]
    owed_fen: Annotated[PaidFen, about("What this refund left them owing.")]
    debt_fen: Annotated[PaidFen, about("What they owe now, for all refunds together.")]
    noted_at_ms: AtMs


class Debts(TypedDict):
    """Who owes money, newest refund first."""

    items: Annotated[list[Debt], about("The page; it may be empty before the last.")]
    next: Next
