"""The bodies of payments, withdrawals and accounts at gateways."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from redpacket.edge.schemas.bodies import StrictBody, about, example
from redpacket.edge.schemas.fields import Fen, GatewayChannel, Nickname, PaymentMethod


class PaymentBody(StrictBody):
    """POST /me/payments."""

    model_config = example({"amount_fen": 8888, "channel": "wechat", "method": "native"})

    amount_fen: Annotated[Fen, about("What the account gets.")]
    channel: GatewayChannel
    method: PaymentMethod


class WithdrawalBody(StrictBody):
    """POST /me/withdrawals."""

    model_config = example({"amount_fen": 888, "channel": "wechat"})

    amount_fen: Annotated[Fen, about("What leaves the account.")]
    channel: GatewayChannel


class CodeBody(StrictBody):
    """POST /me/wechat and POST /auth/wechat: what WeChat gave to the client."""

    model_config = example({"code": "code-alice"})

    code: Annotated[
        str,
        StringConstraints(pattern=r"^[!-~]+$", max_length=256),
        about("Of `wx.login()` or of the authorization page; it works once."),
    ]


class ConsentBody(StrictBody):
    """POST /me/wechat/authorization."""

    model_config = example({"display_name": "小明"})

    display_name: Annotated[Nickname, about("What the user is called here, for WeChat to show.")]
