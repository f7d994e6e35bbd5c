"""Put a prize into a campaign, or edit it while people draw, and change its stock by deltas.

A cash prize is funded first: an equal packet of the operator's money, a share for every unit, which
lives as long as the campaign and goes back to the operator where it is not won. Who dies between
the two and repeats the call finds the packet by the request that made it; who does not repeat it
gets the money back at the campaign's end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import (
    CampaignEnded,
    CampaignNotFound,
    InvalidRequest,
    Unavailable,
    VersionConflict,
)
from redpacket.domain.ledger import FEN_MAX
from redpacket.domain.lottery import PRIZES_MAX, UNITS_MAX, Prize, PrizeKind, check_prize_id
from redpacket.domain.packet import Kind, Packet, Person, Rules
from redpacket.domain.split import SEED_BYTES, Split, Terms
from redpacket.flows.edit_campaign import get_campaign
from redpacket.flows.send_packet import funding_of
from redpacket.ports import Campaigns, Clock, Draws, Ledger, Packets, Request

_TRIES = 4
"""Operators edit by hand: two at once are rare, and each try loses to somebody's success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrizeDesk:
    """The ports that every edit of a prize passes."""

    campaigns: Campaigns
    draws: Draws
    ledger: Ledger
    packets: Packets
    clock: Clock
    new_id: Callable[[int], str]
    new_seed: Callable[[int], bytes]


def put_prize(
    plan: Prize, version: int | None, operator: Person, *, desk: PrizeDesk
) -> tuple[Prize, bool]:
    """Write *plan*, and return the prize and whether it is new.

    *version* None edits whatever is there. What a prize is and how much stays as it was first:
    stock goes by `change_stock`. Raises CampaignNotFound, VersionConflict, InvalidRequest; of cash
    CampaignEnded and InsufficientFunds, too.
    """
    check_prize_id(plan.prize_id)

    def edited(campaign: Campaign, prizes: dict[str, Prize]) -> tuple[Prize, Prize | None]:
        before = prizes.get(plan.prize_id)
        _check_version(version, before)
        if before is None and len(prizes) >= PRIZES_MAX:
            raise _invalid("prize_id", f"a campaign has at most {PRIZES_MAX} prizes")
        if before is None:
            return _funded(replace(plan, version=1, packets=()), campaign, operator, desk), None
        _check_unchanged(plan, before)
        return replace(plan, version=before.version + 1, packets=before.packets), before

    prize, before = _write(plan.campaign_id, edited, desk)
    return prize, before is None


def change_stock(
    campaign_id: str,
    prize_id: str,
    delta: int,
    version: int | None,
    operator: Person,
    *,
    desk: PrizeDesk,
) -> Prize:
    """Add *delta* units to a prize, or take some that nobody has won.

    More cash is funded; less comes back at the campaign's end, and pays for units that are added
    before. What the cache has handed out at this moment is won all the same. Raises
    CampaignNotFound, VersionConflict, InvalidRequest; of cash CampaignEnded and InsufficientFunds.
    """
    check_prize_id(prize_id)

    def edited(campaign: Campaign, prizes: dict[str, Prize]) -> tuple[Prize, Prize | None]:
        before = prizes.get(prize_id)
        if before is None:
            raise CampaignNotFound("no such prize")
        _check_version(version, before)
        total = before.total + delta
        if total > UNITS_MAX:
            raise _invalid("delta", f"a prize has at most {UNITS_MAX} units")
        if delta < 0:
            (stock,) = desk.draws.list_stock([before], "")
            if total < stock.durable_no:
                message = f"{stock.durable_no} of {before.total} units are given out already"
                raise _invalid("delta", message)
        after = replace(before, total=total, version=before.version + 1)
        return _funded(after, campaign, operator, desk), before

    return _write(campaign_id, edited, desk)[0]


def _write(
    campaign_id: str,
    edited: Callable[[Campaign, dict[str, Prize]], tuple[Prize, Prize | None]],
    desk: PrizeDesk,
) -> tuple[Prize, Prize | None]:
    """Write what *edited* makes of a campaign's prizes, anew where somebody else was faster."""
    for _ in range(_TRIES):
        campaign = get_campaign(campaign_id, campaigns=desk.campaigns)
        prizes = {prize.prize_id: prize for prize in desk.draws.list_prizes(campaign_id)}
        after, before = edited(campaign, prizes)
        if desk.draws.put_prize(after, before):
            _last_until_the_end(after, desk)
            return after, before
    raise Unavailable("others edit it at the same time")


def _last_until_the_end(prize: Prize, desk: PrizeDesk) -> None:
    """Let a prize's money expire with the campaign, whose end may have been moved meanwhile.

    Who moves it does the same for the prizes that are there by then, so that none is forgotten.
    """
    if prize.packets:
        campaign = get_campaign(prize.campaign_id, campaigns=desk.campaigns)
        for packet_id, _ in prize.packets:
            desk.packets.reschedule(packet_id, campaign.ends_at_ms)


def _funded(prize: Prize, campaign: Campaign, operator: Person, desk: PrizeDesk) -> Prize:
    """Return a prize whose every unit has a share, with a packet more where some have none."""
    held_count = sum(count for _, count in prize.packets)
    count = prize.total - held_count
    if prize.kind is not PrizeKind.PACKET or count <= 0:
        return prize
    packet = _packet_of(prize, count, campaign, operator, desk)
    if packet.terms.total_fen > FEN_MAX:
        raise _invalid("total", f"the units together are above {FEN_MAX} fen")
    if campaign.ends_at_ms <= packet.created_at_ms:
        raise CampaignEnded("the campaign is over")
    # The same units of the same prize are one request, whoever repeats it after whatever crash.
    wanted = f"{prize.campaign_id}\n{prize.prize_id}\n{held_count}\n{count}\n{prize.amount_fen}"
    digest = hashlib.sha256(f"prize\n{wanted}".encode()).hexdigest()
    packet_id = desk.ledger.fund(
        packet, funding_of(packet), Request(operator.user_id, digest, digest)
    )
    return replace(prize, packets=(*prize.packets, (packet_id, count)))


def _packet_of(
    prize: Prize, count: int, campaign: Campaign, operator: Person, desk: PrizeDesk
) -> Packet:
    amount_fen = prize.amount_fen
    if not amount_fen:
        raise _invalid("amount_fen", "cash has an amount")
    now_ms = desk.clock.now_ms()
    seed = desk.new_seed(SEED_BYTES)
    return Packet(
        packet_id=desk.new_id(1),
        sender=operator,
        kind=Kind.EQUAL,
        rules=Rules(campaign_id=prize.campaign_id, prize_id=prize.prize_id),
        greeting=prize.title,
        terms=Terms(Split.EQUAL, amount_fen * count, count, amount_fen, amount_fen, 1, seed),
        created_at_ms=now_ms,
        starts_at_ms=max(now_ms, campaign.starts_at_ms),
        expires_at_ms=campaign.ends_at_ms,
    )


def _check_version(version: int | None, before: Prize | None) -> None:
    if version is not None and version != (before.version if before else None):
        msg = f"it has version {before.version} by now" if before else "it does not exist"
        raise VersionConflict(msg)


def _check_unchanged(plan: Prize, before: Prize) -> None:
    """Refuse what would change the money of units, or overwrite the stock."""
    kept = {"kind": "never changes", "amount_fen": "never changes", "total": "changes by deltas"}
    changed = [
        {"field": field, "message": f"{message}: it is {getattr(before, field)}"}
        for field, message in kept.items()
        if getattr(plan, field) != getattr(before, field)
    ]
    if changed:
        raise InvalidRequest(changed)


def _invalid(field: str, message: str) -> InvalidRequest:
    return InvalidRequest([{"field": field, "message": message}])
