"""Conversion of request bodies to orders, within the deployment's limits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redpacket.campaigns.model import AmountsShown
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable
from redpacket.operations.api.scopes import OPERATORS, TREASURERS, operator_of, refuse_operators
from redpacket.operations.model.switches import Switch
from redpacket.packets.api.send_schemas import SendBody
from redpacket.packets.model.packet import Kind, Opening, Rules
from redpacket.packets.split import Split
from redpacket.packets.use_cases.campaign_packets import chosen_fen
from redpacket.packets.use_cases.limit_order import default_split, limit_order
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.http.bodies import body_of, idempotent_request
from redpacket.platform.http.request import RequestOf
from redpacket.platform.idempotency import Request
from redpacket.platform.settings import settings
from redpacket.platform.user import User

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action


def send_order(request: RequestOf[SendBody]) -> SendOrder:
    """Parse a send request.

    Raises InvalidRequest, IdempotencyKeyMissing, Forbidden, CampaignNotFound, ChannelUnavailable,
    SwitchedOff.
    """
    idempotent = idempotent_request(request)
    body = body_of(SendBody, request)
    _check_duties(request, body)
    is_paid_for = body.pay_with != "balance"
    if is_paid_for:
        containers.operations.switches.require_on(Switch.PAY)
        if body.pay_with not in settings.payment_channels:
            raise ChannelUnavailable
    order = order_of_body(body, request.user, idempotent)
    if is_paid_for:
        order = replace(
            order,
            payment_id=idempotent.id_of("send"),
            pay_channel=body.pay_with,
            pay_method=body.pay_method,
        )
    return limited(order)


def order_of_body(body: SendBody, sender: User, request: Request) -> SendOrder:
    """Return an order that the sender's balance or a campaign pays. Raises CampaignNotFound."""
    # By default a campaign's packet expires with the campaign.
    is_until_the_end = body.campaign_id and "expires_in_s" not in body.model_fields_set
    kind = Kind(body.kind)
    return SendOrder(
        sender=sender,
        request=request,
        kind=kind,
        split=Split(body.split) if body.split else default_split(kind),
        rules=_rules(body),
        total_fen=body.total_fen,
        count=body.count,
        share_fen_min=body.share_fen_min,
        share_fen_max=body.share_fen_max or 0,
        unit_fen=body.unit_fen,
        greeting=body.greeting,
        life_ms=None if is_until_the_end else body.expires_in_s * 1000,
        campaign=get_campaign(body.campaign_id, campaigns=containers.campaigns.repository)
        if body.campaign_id
        else None,
        starts_at_ms=body.starts_at_ms or 0,
        amounts_shown=AmountsShown(body.amounts_shown) if body.amounts_shown else None,
        cover_url=body.cover_url,
    )


def limited(order: SendOrder) -> SendOrder:
    """Apply the deployment's limits to an order."""
    return limit_order(
        order,
        settings.share_fen_max,
        settings.cover_hosts,
        settings.share_base_url,
        _owner_of_picture,
    )


def _owner_of_picture(picture_id: str) -> str | None:
    return containers.packets.pictures.owner_of(picture_id)


def _check_duties(request: RequestOf[SendBody], body: SendBody) -> None:
    if body.campaign_id is not None:
        request.require_scope(OPERATORS)
        if body.recipients:
            # Only the treasury may send campaign money to chosen users.
            request.require_scope(TREASURERS)
    elif body.pay_with == "balance":
        refuse_operators(request)


def _rules(body: SendBody) -> Rules:
    return Rules(
        opening=Opening(body.opening),
        recipients=frozenset(body.recipients or ()),
        passphrase=body.passphrase,
        passphrase_threshold=body.passphrase_threshold,
    )


_ADVICE = "Send more, smaller shares, or deposit the money: another operator can approve a deposit."


_FEW_SHARES = 9
"""Maximum shares for which a treasury packet counts toward the limit: it may favor a few users."""


def spend_of(
    request: RequestOf[Any], *orders: SendOrder
) -> Callable[[Action], Allowance | None] | None:
    """Return the function that counts sends toward the operator's limit, or None if none counts.

    The treasury's sends count only if few users, or only chosen users, can claim a share.
    """
    is_treasury = not request.scopes.isdisjoint(TREASURERS)
    fen = sum(
        chosen_fen(order)
        for order in orders
        if order.rules.recipients or order.count <= _FEW_SHARES or not is_treasury
    )
    if not fen:
        return None
    operator, policy = operator_of(request), containers.editing.approval_policy
    return lambda action: policy.spend_alone(operator, fen, _ADVICE, action.subject)
