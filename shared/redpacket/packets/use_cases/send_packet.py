"""Send (发): funding a packet once per idempotency key, and loading it into the cache."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.model import AmountsShown, Campaign
from redpacket.ledger.model import Transfer, TransferKind, packet_account, send_id, user_account
from redpacket.operations.errors import AllowanceMoved
from redpacket.operations.model.operators import Action, ActionKind
from redpacket.packets.model.packet import Kind, Packet, PacketStatus, Rules, shards_for
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.ports import ClaimCache, Funding, PacketReader, Pictures
from redpacket.packets.split import SEED_BYTES, Split, Terms, check_possible
from redpacket.packets.use_cases.campaign_packets import funding_action
from redpacket.platform.bounds import START_AHEAD_MS_MAX
from redpacket.platform.errors import Contended, InvalidRequest, Rejected, Unavailable
from redpacket.platform.idempotency import Request
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.operations.model.allowances import Allowance
    from redpacket.packets.dynamodb.ledger import DynamoLedger
    from redpacket.packets.dynamodb.packets import DynamoPackets

    Spend = Callable[[Action], Allowance | None]

_TRIES = 8


@dataclass(frozen=True, slots=True)
class SendOrder:
    """A sender's request.

    *life_ms* counts from *starts_at_ms*; a past start means now. With a *campaign*, *life_ms* may
    be None, and the packet ends with the campaign. With a *payment_id*, the packet is unpaid until
    the payment succeeds. *own_picture_id* is the sender's own picture in *cover_url*. A new request
    with *refused_fields* is rejected.
    """

    sender: User
    request: Request
    kind: Kind
    split: Split
    rules: Rules
    total_fen: int
    count: int
    share_fen_min: int
    share_fen_max: int
    unit_fen: int
    greeting: str
    life_ms: int | None
    starts_at_ms: int = 0
    amounts_shown: AmountsShown | None = None
    cover_url: str | None = None
    own_picture_id: str | None = None
    campaign: Campaign | None = None
    payment_id: str | None = None
    pay_channel: str = ""
    pay_method: str = ""
    refused_fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SendPorts:
    """Dependencies for sends and early ends; a shard has about *shard_share_count* shares."""

    funding: Funding
    packets: DynamoPackets
    ledger: DynamoLedger
    claim_cache: ClaimCache
    clock: Clock
    logger: EventLogger
    new_id: Callable[[int], str]
    new_seed: Callable[[int], bytes]
    seeds: SeedKeys
    pictures: Pictures
    shard_share_count: int


def send_packet(order: SendOrder, *, spend: Spend | None = None, ports: SendPorts) -> Packet:
    """Return the request's packet, created now or by an earlier call.

    *spend* returns the operator's allowance after this send, or raises Forbidden above the limit.

    Raises InvalidRequest, SplitImpossible, CampaignPaused, CampaignEnded, InsufficientFunds,
    IdempotencyKeyReused, Busy, Unavailable. Only after Unavailable may money have moved. A retry
    returns the outcome.
    """
    # Only the funding transaction checks the campaign's status, so retries get the first answer.
    packet_id = ports.new_id(
        shards_for(order.count, ports.shard_share_count) if order.campaign else 1
    )
    terms = ports.seeds.seal_terms(packet_id, _terms_of(order, ports.new_seed(SEED_BYTES)))
    packet = _packet_of(order, ports.clock.now_ms(), packet_id, terms)
    packet_id = _fund(order, packet, spend, ports)
    is_new = packet_id == packet.packet_id
    if not is_new:
        packet = sent_before(packet_id, ports.packets)
    try:
        if order.own_picture_id and packet.funded_at_ms is not None:
            # Keep the picture only after the funding, so that refused and unpaid sends keep none.
            ports.pictures.keep(order.own_picture_id)
        if not is_new or packet.status is PacketStatus.UNPAID:
            return packet
        ports.claim_cache.load(packet, [], is_new=True)
        ports.packets.mark_loaded(packet)
    except Unavailable as error:
        # The first grab or the sweep will load the packet; a retry or the sweep keeps its picture.
        ports.logger.failure("packet_not_loaded", error, packet_id=packet_id)
    return packet


def _fund(order: SendOrder, packet: Packet, spend: Spend | None, ports: SendPorts) -> str:
    """Fund *packet*; return its id, or the id of the packet that an earlier call funded."""
    action = None
    if order.campaign:
        action = funding_action(packet, ActionKind.PACKET_SENT, order.sender)
    for _ in range(_TRIES):
        try:
            check_order(order, packet.created_at_ms)
            spent = spend(action) if spend and action else None
        except Rejected:
            # I10: a request that was accepted keeps its answer even after limits change.
            if first_id := ports.funding.find_sent(order.request):
                return first_id
            raise
        with suppress(AllowanceMoved):
            return ports.funding.fund(packet, funding_of(packet), order.request, action, spent)
    raise Contended


def funding_of(packet: Packet) -> Transfer:
    """Return the transfer that funds a packet; the sender's entry stores the commitment."""
    return Transfer(
        transfer_id=send_id(packet.packet_id),
        kind=TransferKind.SEND,
        debit=user_account(packet.sender.user_id),
        credit=packet_account(packet.packet_id),
        amount_fen=packet.terms.total_fen,
        at_ms=packet.funded_at_ms or packet.created_at_ms,
        commitment=packet.terms.commitment,
    )


def check_order(order: SendOrder, now_ms: int) -> None:
    """Raise InvalidRequest or SplitImpossible if the order cannot succeed."""
    refused = list(order.refused_fields)
    if order.starts_at_ms > now_ms + START_AHEAD_MS_MAX:
        refused.append(("starts_at_ms", "is more than 30 days ahead"))
    if order.campaign and order.starts_at_ms >= order.campaign.ends_at_ms:
        refused.append(("starts_at_ms", "is not before the end of the campaign"))
    if refused:
        raise InvalidRequest([{"field": field, "message": message} for field, message in refused])
    check_possible(_terms_of(order, b""))


def _terms_of(order: SendOrder, seed: bytes) -> Terms:
    bounds = order.share_fen_min, order.share_fen_max, order.unit_fen
    return Terms(order.split, order.total_fen, order.count, *bounds, seed)


def _packet_of(order: SendOrder, now_ms: int, packet_id: str, terms: Terms) -> Packet:
    campaign = order.campaign
    rules, starts_at_ms, expires_at_ms = _window(order, now_ms)
    usual = campaign.amounts_shown if campaign else AmountsShown.LIVE
    return Packet(
        packet_id=packet_id,
        sender=order.sender,
        kind=order.kind,
        rules=rules,
        greeting=order.greeting,
        terms=terms,
        created_at_ms=now_ms,
        starts_at_ms=starts_at_ms,
        expires_at_ms=expires_at_ms,
        amounts_shown=order.amounts_shown or usual,
        cover_url=order.cover_url,
        has_card=order.sender.chat_id is not None,
        status=PacketStatus.UNPAID if order.payment_id else PacketStatus.OPEN,
        payment_id=order.payment_id,
        pay_channel=order.pay_channel,
        pay_method=order.pay_method,
    )


def _window(order: SendOrder, now_ms: int) -> tuple[Rules, int, int]:
    """Return the rules with the sender's own window, and the packet's current start and end."""
    campaign, life_ms = order.campaign, order.life_ms
    starts_at_ms = max(now_ms, order.starts_at_ms)
    if campaign is None:
        assert life_ms is not None
        return order.rules, starts_at_ms, starts_at_ms + life_ms
    rules = replace(order.rules, campaign_id=campaign.campaign_id, starts_at_ms=starts_at_ms)
    if life_ms is not None:
        # The lifetime counts from the packet's current start; edits don't move the resulting limit.
        rules = replace(rules, ends_at_ms=max(starts_at_ms, campaign.starts_at_ms) + life_ms)
    return rules, *rules.window_in(campaign.starts_at_ms, campaign.ends_at_ms)


def sent_before(packet_id: str, packets: PacketReader) -> Packet:
    """Return an earlier request's packet. Raises Unavailable if a restore lost the packet."""
    packet = packets.find_packet(packet_id)
    if packet is None:
        raise Unavailable(f"the ledger has the request of {packet_id} but not the packet")
    return packet
