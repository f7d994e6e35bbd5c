"""The bodies of payments, withdrawals and accounts at gateways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from redpacket.packets.api.fields import Fen, GatewayChannel, Nickname, Note, PaymentMethod
from redpacket.payments.api.parameters import PAYMENT_ID
from redpacket.payments.model.payments import Resolution, ResolvedBy
from redpacket.platform.http.bodies import StrictBody, about, example


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


_Reference = StringConstraints(pattern=r"^[!-~]+$", max_length=128)


class ResolutionBody(StrictBody):
    """POST /admin/payments/returns: how a listed return was resolved."""

    model_config = example(
        {
            "payment_id": "3fa85f6457174562b3fc2c963f66afa6",
            "transaction_id": "4200001234202611221234567890",
            "by": "deposit",
            "reference": "deposit:0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "reason": "paid after the order was closed",
        }
    )

    payment_id: Annotated[
        str, StringConstraints(pattern=f"^{PAYMENT_ID.pattern}$"), about("As it is listed.")
    ]
    transaction_id: Annotated[str, _Reference, about("As it is listed.")]
    by: Annotated[
        Literal["deposit", "outside"],
        about("`deposit`: its user was credited. `outside`: its payer was paid, or needs nothing."),
    ]
    reference: Annotated[
        str,
        _Reference,
        about(
            "The `transfer_id` of your deposit with the transaction's id as its Idempotency-Key, "
            "or what names the transfer outside; used once."
        ),
    ]
    reason: Annotated[Note, about("For the journal.")]

    @property
    def parsed(self) -> Resolution:
        """The resolution in the domain's words."""
        return Resolution(
            self.payment_id, self.transaction_id, ResolvedBy(self.by), self.reference, self.reason
        )
