"""Edits of prizes and their stock while users draw.

A cash prize is funded first, by an equal packet of the operator's money with one share per unit.
After a crash, a retry finds the packet by its request. Without a retry, the money is refunded at
the campaign's end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound
from redpacket.campaigns.model import CampaignPlan, check_prize_id
from redpacket.lottery.model.lottery import (
    CODES_KEPT_MS,
    PRIZES_MAX,
    UNITS_MAX,
    UNITS_PER_SHARD,
    CampaignSnapshot,
    Prize,
    PrizeKind,
    check_version,
)
from redpacket.lottery.use_cases.cash_rules import (
    FREE,
    check_prize,
    check_stock,
    has_cash,
    rules_of,
)
from redpacket.lottery.use_cases.load_campaign import LoadPorts
from redpacket.operations.errors import AllowanceMoved, NotAsApproved
from redpacket.operations.model.allowances import Allowance, ApprovalNeededError
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Change,
    Duty,
    Operator,
    campaign_subject,
    changes_between,
)
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.packets.model.packet import Kind, Packet, PacketStatus, Rules, shards_for
from redpacket.packets.ports import Funding, PacketReader
from redpacket.packets.split import SEED_BYTES, Split, Terms
from redpacket.packets.use_cases.campaign_packets import funding_action
from redpacket.packets.use_cases.send_packet import funding_of, sent_before
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.errors import (
    Contended,
    InvalidRequest,
    InvariantViolated,
    Rejected,
)
from redpacket.platform.idempotency import Request
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.codes import DynamoCodes
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes

_TRIES = 4

_invalid = InvalidRequest.of


@dataclass(frozen=True, slots=True, kw_only=True)
class PrizePorts:
    """Ports of prize edits."""

    prizes: DynamoPrizes
    funding: Funding
    packets: PacketReader
    codes: DynamoCodes
    clock: Clock
    new_id: Callable[[int], str]
    new_seed: Callable[[int], bytes]
    share_fen_max: int
    approval_policy: ApprovalPolicy
    load: LoadPorts


def put_prize(
    plan: Prize, version: int | None, operator: Operator, *, ports: PrizePorts
) -> tuple[Prize, bool]:
    """Write *plan*; return the prize and whether it is new.

    Kind, amount, and total never change here. Raises CampaignNotFound, VersionConflict,
    InvalidRequest, Forbidden; for cash also CampaignEnded, InsufficientFunds, ApprovalNeededError.
    """
    check_prize_id(plan.prize_id)

    def edited(snapshot: CampaignSnapshot, prizes: dict[str, Prize]) -> _Edit:
        before = prizes.get(plan.prize_id)
        if before and _is_made(plan, version, before):
            return _Edit(before, before)
        check_version(version, before, "prize")
        if before:
            _refuse_approved(operator)
            operator.require(Duty.OPERATE)
            _check_unchanged(plan, before)
            after = _edited(plan, before, before.version + 1)
            if has_cash(snapshot.prizes):
                check_prize(operator, after, before)
            return _Edit(after, before)
        if len(prizes) >= PRIZES_MAX:
            raise _invalid(
                "prize_id", f"would exceed the limit of {PRIZES_MAX} prizes for one campaign"
            )
        if plan.kind is PrizeKind.CODE and plan.total:
            raise _invalid("total", "must be 0 for a new code prize: each added code is one unit")
        operator.require(_duty_of_stock(plan))
        check_stock(operator, snapshot.prizes)
        _check_amount(plan, ports)
        # All retries share this id, including other operators'; it is no user's id.
        marker = _Marker(f"{plan.campaign_id}#{plan.prize_id}", "put")
        created = replace(plan, version=1, packets=())
        return _funded(_Edit(created, None), snapshot, operator, marker, ports)

    by = operator, ActionKind.PRIZE_EDITED
    prize, before = _write(plan.campaign_id, edited, by, None, ports)
    return prize, before is None


def change_stock(
    campaign_id: str,
    prize_id: str,
    delta: int,
    version: int | None,
    operator: Operator,
    request: Request,
    *,
    ports: PrizePorts,
) -> Prize:
    """Add *delta* units to a prize, or remove units not yet won, once per *request*.

    Removed cash funds later additions or is refunded at the campaign's end. Units already granted
    by the cache are still won. Raises CampaignNotFound, VersionConflict, InvalidRequest, Forbidden,
    IdempotencyKeyReused, Busy; for cash also CampaignEnded, InsufficientFunds.
    """
    check_prize_id(prize_id)
    # Hash the path: the same key for another prize is not a retry.
    request = replace(request, body_hash=_digest(campaign_id, prize_id, request.body_hash))
    if changed := ports.prizes.find_put(request):
        return changed

    def edited(snapshot: CampaignSnapshot, prizes: dict[str, Prize]) -> _Edit:
        before = prizes.get(prize_id)
        if before is None:
            raise CampaignNotFound
        operator.require(_duty_of_stock(before))
        check_stock(operator, snapshot.prizes)
        if before.kind is PrizeKind.CODE:
            raise _invalid("delta", "cannot change a code prize: add codes, or turn the prize off")
        check_version(version, before, "prize")
        total = before.total + delta
        if total > UNITS_MAX:
            raise _invalid("delta", f"would exceed the limit of {UNITS_MAX} units for one prize")
        if delta < 0:
            (stock,) = ports.prizes.list_stock([before], "")
            if total < stock.durable_no:
                message = f"{stock.durable_no} of {before.total} units are already won"
                raise _invalid("delta", message)
        after = replace(before, total=total, version=before.version + 1)
        marker = _Marker(request.user_id, request.key_hash)
        return _funded(_Edit(after, before), snapshot, operator, marker, ports)

    by = operator, ActionKind.STOCK_CHANGED
    try:
        return _write(campaign_id, edited, by, request, ports)[0]
    except (Rejected, ApprovalNeededError):
        # A concurrent retry may have applied this same request.
        if changed := ports.prizes.find_put(request):
            return changed
        raise


def add_codes(
    campaign_id: str,
    prize_id: str,
    codes: Sequence[str],
    operator: Operator,
    *,
    ports: PrizePorts,
) -> Prize:
    """Add *codes* to a prize, whose stock is the number of its codes.

    Codes that the prize has are skipped, so a repeat completes an upload that was cut off. Raises
    CampaignNotFound, InvalidRequest, Forbidden.
    """
    operator.require(Duty.OPERATE)

    def edited(snapshot: CampaignSnapshot, prizes: dict[str, Prize]) -> _Edit:
        before = prizes.get(prize_id)
        if before is None:
            raise CampaignNotFound
        check_stock(operator, snapshot.prizes)
        if before.kind is not PrizeKind.CODE:
            raise _invalid("add", f"requires a prize of kind code, not {before.kind}")
        until_ms = before.codes_until_ms or snapshot.campaign.ends_at_ms + 2 * CODES_KEPT_MS
        # Codes are written before the stock that promises them.
        total = ports.codes.add(campaign_id, prize_id, codes, until_ms)
        if total == before.total:
            return _Edit(before, before)
        after = replace(before, total=total, version=before.version + 1, codes_until_ms=until_ms)
        return _Edit(after, before)

    return _write(campaign_id, edited, (operator, ActionKind.STOCK_CHANGED), None, ports)[0]


@dataclass(frozen=True, slots=True)
class _Marker:
    """Identity of a funding request, equal for its repeats."""

    user_id: str
    word: str


@dataclass(frozen=True, slots=True)
class _Edit:
    after: Prize
    before: Prize | None


def _write(
    campaign_id: str,
    edited: Callable[[CampaignSnapshot, dict[str, Prize]], _Edit],
    by: tuple[Operator, ActionKind],
    request: Request | None,
    ports: PrizePorts,
) -> tuple[Prize, Prize | None]:
    for _ in range(_TRIES):
        snapshot = ports.prizes.find_snapshot(campaign_id)
        if snapshot is None:
            raise CampaignNotFound
        prizes = {prize.prize_id: prize for prize in snapshot.prizes}
        edit = edited(snapshot, prizes)
        after, before = edit.after, edit.before
        if after is before:
            return after, before
        action = _action(*by, after, before, ports.clock)
        if done := ports.prizes.put_prize(after, before, request, action, seen=snapshot):
            return done, before
    raise Contended


def _funded(
    edit: _Edit, snapshot: CampaignSnapshot, operator: Operator, marker: _Marker, ports: PrizePorts
) -> _Edit:
    prize, before, campaign = edit.after, edit.before, snapshot.campaign
    count = prize.total - sum(count for _, count in prize.packets)
    if prize.kind is not PrizeKind.PACKET or count <= 0:
        _refuse_approved(operator)
        return edit
    _check_amount(prize, ports)
    packet = _packet_of(prize, count, campaign, operator, ports)
    if packet.terms.total_fen > FEN_MAX:
        raise _invalid("total", f"all units together exceed the limit of {FEN_MAX} fen")
    if campaign.ends_at_ms <= packet.created_at_ms:
        raise CampaignEnded
    changes = *_changes(prize, before), *rules_of(snapshot, prize.prize_id)
    # A packet that an earlier call funded spends nothing, and its rules may have changed since.
    if operator.approved and operator.approved.changes != changes:
        raise NotAsApproved

    def spend() -> Allowance | None:
        return ports.approval_policy.spend(
            operator,
            campaign_subject(prize.campaign_id),
            packet.terms.total_fen,
            version=before.version if before else 0,
            changes=changes,
        )

    # A packet is found only under the rules for which it was funded, since a request may wait.
    odds = *changes_between(None, asdict(prize)), *rules_of(snapshot)
    passing = {*FREE, "total", "packets"}
    rules = repr([(each.field, each.after) for each in odds if each.field not in passing])
    place = marker.word, prize.campaign_id, prize.prize_id
    wanted = *place, str(count), str(prize.amount_fen), rules
    action = funding_action(packet, ActionKind.PRIZE_FUNDED, operator.person)
    packet_id = _fund(packet, marker.user_id, wanted, action, spend, ports)
    return _Edit(replace(prize, packets=(*prize.packets, (packet_id, count))), before)


def _fund(
    packet: Packet,
    user_id: str,
    wanted: tuple[str, ...],
    action: Action,
    spend: Callable[[], Allowance | None],
    ports: PrizePorts,
) -> str:
    """Fund the *wanted* packet once, or return the open one that an interrupted call left.

    The transaction that moves the money spends the allowance, so ApprovalNeededError means that
    nothing has moved, and a repeat spends nothing.
    """
    tries = _TRIES
    while tries:
        digest = _digest("prize", *wanted)
        request = Request(user_id, digest, digest)
        packet_id = ports.funding.find_sent(request)
        if packet_id is None:
            try:
                packet_id = ports.funding.fund(packet, funding_of(packet), request, action, spend())
            except AllowanceMoved:
                tries -= 1
                continue
            except ApprovalNeededError:
                # A concurrent repeat may have spent the allowance for this same packet.
                if ports.funding.find_sent(request):
                    continue
                raise
        if packet_id == packet.packet_id:
            return packet_id
        before = sent_before(packet_id, ports.packets)
        if _backing(before) != _backing(packet):
            raise InvariantViolated(f"the request of a prize has the foreign packet {packet_id}")
        if before.status is PacketStatus.OPEN:
            return packet_id
        wanted = (*wanted, packet_id)
    raise Contended


def _backing(packet: Packet) -> tuple[str | None, str | None, int, int]:
    """Return the facts of a prize's packet that a forged copy of its request can't have."""
    rules, terms = packet.rules, packet.terms
    return rules.campaign_id, rules.prize_id, terms.total_fen, terms.count


def _packet_of(
    prize: Prize, count: int, campaign: CampaignPlan, operator: Operator, ports: PrizePorts
) -> Packet:
    amount_fen = prize.amount_fen
    if not amount_fen:
        raise _invalid("amount_fen", "is required for a cash prize")
    now_ms = ports.clock.now_ms()
    seed = ports.new_seed(SEED_BYTES)
    return Packet(
        packet_id=ports.new_id(shards_for(count, UNITS_PER_SHARD)),
        # The approver's request must not restore the profile of an operator who was erased.
        sender=User(operator.user_id) if operator.approved else operator.person,
        kind=Kind.EQUAL,
        rules=Rules(campaign_id=prize.campaign_id, prize_id=prize.prize_id),
        greeting=prize.title,
        terms=Terms(Split.EQUAL, amount_fen * count, count, amount_fen, amount_fen, 1, seed),
        created_at_ms=now_ms,
        starts_at_ms=max(now_ms, campaign.starts_at_ms),
        expires_at_ms=campaign.ends_at_ms,
        amounts_shown=campaign.amounts_shown,
    )


def _action(
    operator: Operator, kind: ActionKind, after: Prize, before: Prize | None, clock: Clock
) -> Action:
    subject = campaign_subject(after.campaign_id)
    return Action(operator.person, kind, subject, clock.now_ms(), _changes(after, before))


def _changes(after: Prize, before: Prize | None) -> tuple[Change, ...]:
    if before is None:
        return changes_between(None, asdict(after))
    named = Change("prize_id", after.prize_id, after.prize_id)
    return named, *changes_between(asdict(before), asdict(after))


def _refuse_approved(operator: Operator) -> None:
    """Raise NotAsApproved for an approval whose change would move no money."""
    if operator.approved:
        raise NotAsApproved


def _duty_of_stock(prize: Prize) -> Duty:
    return Duty.TREASURY if prize.kind is PrizeKind.PACKET else Duty.OPERATE


def _is_made(plan: Prize, version: int | None, prize: Prize) -> bool:
    """Return whether this edit of *version* was already applied and its answer lost."""
    made = _edited(plan, prize, prize.version)
    return version is not None and prize.version == version + 1 and prize == made


def _edited(plan: Prize, prize: Prize, version: int) -> Prize:
    until_ms = prize.codes_until_ms
    return replace(plan, version=version, packets=prize.packets, codes_until_ms=until_ms)


def _check_amount(prize: Prize, ports: PrizePorts) -> None:
    if (prize.amount_fen or 0) > ports.share_fen_max:
        raise _invalid("amount_fen", f"exceeds the limit of {ports.share_fen_max} fen")


def _check_unchanged(plan: Prize, before: Prize) -> None:
    kept = {
        "kind": "never changes",
        "amount_fen": "never changes",
        "total": "changes only through the stock route",
    }
    changed = [
        {"field": field, "message": f"{message}: it is {getattr(before, field)}"}
        for field, message in kept.items()
        if getattr(plan, field) != getattr(before, field)
    ]
    if changed:
        raise InvalidRequest(changed)


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()
