"""WeChat's response types, and the field `wechat` in responses that all providers share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.packets.api.answers import SentPacket
from redpacket.payments.api.answers import Confirmation, Payment, Withdrawal
from redpacket.payments.model.authorization import AuthorizationStatus
from redpacket.platform.http.answer_fields import Word
from redpacket.platform.http.bodies import about


class WeChatPrompt(TypedDict, total=False):
    """Parameters for the payer's client: `code_url` for `native`, the other fields for `jsapi`."""

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
        "Null for other providers, after the payment has ended, and while WeChat is unavailable; "
        "if WeChat is unavailable, retry.",
        {"code_url": "weixin://wxpay/bizpayurl?pr=p4lpSuK"},
    ),
]


FIELDS = {
    Payment: Prompt,
    SentPacket: Prompt,
    Withdrawal: Annotated[
        Confirmation | None, about("Set while WeChat awaits the user's confirmation.", None)
    ],
}
"""Types of the field `wechat`, keyed by response type."""


class Consent(TypedDict):
    """The caller's consent to transfers without confirmation."""

    status: Annotated[AuthorizationStatus, about("`active`: transfers need no confirmation.")]
    wechat: Annotated[Confirmation | None, about("Set while `awaiting_confirmation`.", None)]


class WeChatJsConfig(TypedDict):
    """Parameters that the page passes to `wx.config`."""

    app_id: Word
    timestamp: Annotated[int, Field(ge=0, examples=[1795420800])]
    nonce: Word
    signature: Annotated[str, Field(pattern="^[0-9a-f]{40}$", examples=["0f9de62f" * 5])]
