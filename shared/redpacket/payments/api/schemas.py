"""Request bodies for payments, withdrawals and provider accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import StringConstraints

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.api.packet_ids import PAYMENT_ID
from redpacket.packets.api.send_schemas import PaymentMethod
from redpacket.payments.model.payments import Resolution, ResolvedBy
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import Fen, Note

if TYPE_CHECKING:
    ChannelName = str
else:
    ChannelName = Literal[tuple(map(str, ProviderName))]
ProviderChannel = Annotated[
    ChannelName,
    about("Provider. If it is not configured, the response is 422 `channel_unavailable`."),
]


class PaymentBody(StrictBody):
    """POST /me/payments."""

    model_config = example({"amount_fen": 8888, "channel": "host", "method": "native"})

    amount_fen: Annotated[Fen, about("The amount to credit.")]
    channel: ProviderChannel
    method: PaymentMethod


class WithdrawalBody(StrictBody):
    """POST /me/withdrawals."""

    model_config = example({"amount_fen": 888, "channel": "host"})

    amount_fen: Annotated[Fen, about("The amount to withdraw.")]
    channel: ProviderChannel


class CodeBody(StrictBody):
    """Authorization code from a provider, for linking an account or signing in."""

    model_config = example({"code": "code-alice"})

    code: Annotated[
        str,
        StringConstraints(pattern=r"^[!-~]+$", max_length=256),
        about("Single-use code from the provider's client or authorization page."),
    ]


_Reference = StringConstraints(pattern=r"^[!-~]+$", max_length=128)


class ResolutionBody(StrictBody):
    """POST /admin/payments/returns: resolution of a listed return."""

    model_config = example(
        {
            "payment_id": "3fa85f6457174562b3fc2c963f66afa6",
            "transaction_id": "4200001234202611221234567890",
            "by": "outside",
            "reference": "bank-2026-01-31-77",
            "reason": "paid after the order was closed",
        }
    )

    payment_id: Annotated[
        str,
        StringConstraints(pattern=f"^{PAYMENT_ID.pattern}$"),
        about("Payment id from the list."),
    ]
    transaction_id: Annotated[str, _Reference, about("Transaction id from the list.")]
    by: Annotated[
        Literal["deposit", "outside"],
        about(
            "`deposit`: the user was credited. `outside`: the payer was paid back outside, or is "
            "owed nothing."
        ),
    ]
    reference: Annotated[
        Annotated[str, _Reference] | None,
        about(
            "Reference of the outside transfer; it can be used only once. A deposit needs no "
            "reference, because its `case` is the transaction ID."
        ),
    ] = None
    reason: Annotated[Note, about("Reason for the audit log.")]

    @property
    def parsed(self) -> Resolution:
        """Return the body as a `Resolution`. Raises InvalidRequest."""
        by, reference = ResolvedBy(self.by), self.reference or ""
        if by is ResolvedBy.OUTSIDE and not reference:
            raise InvalidRequest.of("reference", "is required for an outside transfer")
        return Resolution(self.payment_id, self.transaction_id, by, reference, self.reason)
