"""Edits of prizes and their stock while users draw.

A cash prize's money is in packets that the operator funds, with one share per unit, all of equal
amount. One transaction funds a packet and adds it to the prize, so a failed edit moves no money.
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
    cash_fen,
    spend_alone_on,
    spend_on,
    with_prize,
)
from redpacket.lottery.use_cases.load_campaign import LoadPorts
from redpacket.operations.errors import AllowanceMoved
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
from redpacket.packets.model.packet import Kind, Packet, Rules, shards_for
from redpacket.packets.split import SEED_BYTES, Split, Terms
from redpacket.packets.use_cases.campaign_packets import funding_action
from redpacket.packets.use_cases.send_packet import funding_of
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.errors import (
    Contended,
    InvalidRequest,
    Rejected,
)
from redpacket.platform.idempotency import Request
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.codes import DynamoCodes
    from redpacket.lottery.dynamodb.prizes import Backing, DynamoPrizes

_TRIES = 6

_invalid = InvalidRequest.of


@dataclass(frozen=True, slots=True, kw_only=True)
class PrizePorts:
    """Dependencies of prize edits."""

    prizes: DynamoPrizes
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

    An edit cannot change the kind, amount or total. Raises CampaignNotFound, VersionConflict,
    InvalidRequest, Forbidden, ApprovalNeededError, and for cash also CampaignEnded,
    InsufficientFunds.
    """

    def edited(snapshot: CampaignSnapshot, before: Prize | None) -> Prize:
        if before and _is_made(plan, version, before):
            return before
        check_version(version, before, "prize")
        if before:
            operator.require(Duty.OPERATE)
            _check_unchanged(plan, before)
            return _edited(plan, before, before.version + 1)
        if len(snapshot.prizes) >= PRIZES_MAX:
            raise _invalid(
                "prize_id", f"would exceed the limit of {PRIZES_MAX} prizes for one campaign"
            )
        if plan.kind is PrizeKind.CODE and plan.total:
            raise _invalid("total", "must be 0 for a new code prize: each added code is one unit")
        operator.require(_duty_of_stock(plan))
        _check_amount(plan, ports)
        return replace(plan, version=1, packets=())

    edit = _Edit(plan.campaign_id, plan.prize_id, edited, operator, ActionKind.PRIZE_EDITED)
    prize, before = _write(edit, None, ports)
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

    The cash from removed units pays for units added later; the rest is refunded when the campaign
    ends. Users keep the units that the cache has already granted. Raises CampaignNotFound,
    VersionConflict, InvalidRequest, Forbidden, IdempotencyKeyReused, Busy, ApprovalNeededError, and
    for cash also CampaignEnded, InsufficientFunds.
    """
    # Include the path in the hash, because the same key for another prize is not a retry.
    request = replace(request, body_hash=_digest(campaign_id, prize_id, request.body_hash))
    if changed := ports.prizes.find_put(request):
        return changed

    def edited(_: CampaignSnapshot, before: Prize | None) -> Prize:
        if before is None:
            raise CampaignNotFound
        operator.require(_duty_of_stock(before))
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
        return replace(before, total=total, version=before.version + 1)

    edit = _Edit(campaign_id, prize_id, edited, operator, ActionKind.STOCK_CHANGED)
    try:
        return _write(edit, request, ports)[0]
    except (Rejected, ApprovalNeededError):
        # A concurrent retry may have applied this request already.
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
    """Add *codes* to a code prize, whose stock is the number of its codes.

    Codes that the prize already has are skipped, so a retry completes an interrupted upload.
    Raises CampaignNotFound, InvalidRequest, Forbidden.
    """
    operator.require(Duty.OPERATE)

    def edited(snapshot: CampaignSnapshot, before: Prize | None) -> Prize:
        if before is None:
            raise CampaignNotFound
        if before.kind is not PrizeKind.CODE:
            raise _invalid("add", f"requires a prize of kind code, not {before.kind}")
        more = replace(before, total=before.total + len(codes))
        _spend(edit, snapshot, before, more, ports)
        until_ms = before.codes_until_ms or snapshot.campaign.ends_at_ms + 2 * CODES_KEPT_MS
        # Write the codes before the stock, so that each unit in stock has a code.
        total = ports.codes.add(campaign_id, prize_id, codes, until_ms)
        if total == before.total:
            return before
        return replace(before, total=total, version=before.version + 1, codes_until_ms=until_ms)

    advice = "Add the codes before the cash, or to another campaign."
    edit = _Edit(campaign_id, prize_id, edited, operator, ActionKind.STOCK_CHANGED, advice)
    return _write(edit, None, ports)[0]


@dataclass(frozen=True, slots=True)
class _Edit:
    """Edit of a prize; if *advice* is set, no approval can cover the edit."""

    campaign_id: str
    prize_id: str
    edited: Callable[[CampaignSnapshot, Prize | None], Prize]
    operator: Operator
    kind: ActionKind
    advice: str = ""


def _write(edit: _Edit, request: Request | None, ports: PrizePorts) -> tuple[Prize, Prize | None]:
    check_prize_id(edit.prize_id)
    for _ in range(_TRIES):
        snapshot = ports.prizes.find_snapshot(edit.campaign_id)
        if snapshot is None:
            raise CampaignNotFound
        prizes = {prize.prize_id: prize for prize in snapshot.prizes}
        before = prizes.get(edit.prize_id)
        after = edit.edited(snapshot, before)
        if after is before:
            return after, before
        packet = _packet_of(after, snapshot.campaign, edit.operator, ports)
        try:
            spent = _spend(edit, snapshot, before, after, ports)
            done = ports.prizes.put_prize(
                _with_packet(after, packet),
                snapshot,
                _action(edit, after, before, ports.clock),
                request=request or _creation(edit, before, packet),
                backing=_backing(packet, edit.operator),
                spent=spent,
            )
        except AllowanceMoved:
            continue
        except ApprovalNeededError:
            # A concurrent retry of this edit may have used up the allowance.
            if ports.prizes.find_snapshot(edit.campaign_id) != snapshot:
                continue
            raise
        # Otherwise the campaign was edited, or an earlier call funded another packet: try again.
        if done and (request or done.packets == _with_packet(after, packet).packets):
            return done, before
    raise Contended


def _creation(edit: _Edit, before: Prize | None, packet: Packet | None) -> Request | None:
    """Return a request that funds a prize's first cash only once, even after a restore."""
    if before or packet is None:
        return None
    digest = _digest("prize", edit.campaign_id, edit.prize_id)
    return Request(f"{edit.campaign_id}#{edit.prize_id}", digest, digest)


def _spend(
    edit: _Edit, snapshot: CampaignSnapshot, before: Prize | None, after: Prize, ports: PrizePorts
) -> Allowance | None:
    planned, policy = with_prize(snapshot, after), ports.approval_policy
    if edit.advice:
        return spend_alone_on(snapshot, planned, edit.operator, edit.advice, policy)
    changes, version = _changes(after, before), before.version if before else 0
    if cash_fen(planned) > policy.limits.subject_fen >= cash_fen(snapshot):
        changes += _drawn_before(edit.campaign_id, ports)
    return spend_on(snapshot, planned, edit.operator, changes, policy, version)


def _drawn_before(campaign_id: str, ports: PrizePorts) -> tuple[Change, ...]:
    """Return a fact for the approver if users may have drawn before the cash was added.

    Earlier misses, wins and helps influence later draws.
    """
    campaign = ports.load.campaigns.find_campaign(campaign_id)
    has_started = bool(campaign and campaign.first_starts_at_ms <= ports.clock.now_ms())
    return (Change("drawn_before", None, "true"),) if has_started else ()


def _with_packet(prize: Prize, packet: Packet | None) -> Prize:
    if packet is None:
        return prize
    return replace(prize, packets=(*prize.packets, (packet.packet_id, packet.terms.count)))


def _backing(packet: Packet | None, operator: Operator) -> Backing | None:
    if packet is None:
        return None
    action = funding_action(packet, ActionKind.PRIZE_FUNDED, operator.person)
    return packet, funding_of(packet), action


def _packet_of(
    prize: Prize, campaign: CampaignPlan, operator: Operator, ports: PrizePorts
) -> Packet | None:
    """Return a packet for those cash units that no packet backs yet. Raises CampaignEnded."""
    count = prize.total - sum(count for _, count in prize.packets)
    if prize.kind is not PrizeKind.PACKET or count <= 0:
        return None
    _check_amount(prize, ports)
    amount_fen = prize.amount_fen
    if not amount_fen:
        raise _invalid("amount_fen", "is required for a cash prize")
    if amount_fen * count > FEN_MAX:
        raise _invalid("total", f"all units together exceed the limit of {FEN_MAX} fen")
    now_ms = ports.clock.now_ms()
    if campaign.ends_at_ms <= now_ms:
        raise CampaignEnded
    seed = ports.new_seed(SEED_BYTES)
    return Packet(
        packet_id=ports.new_id(shards_for(count, UNITS_PER_SHARD)),
        # After an erasure of the operator, the approver's request must not restore the profile.
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


def _action(edit: _Edit, after: Prize, before: Prize | None, clock: Clock) -> Action:
    subject, changes = campaign_subject(after.campaign_id), _changes(after, before)
    return Action(edit.operator.person, edit.kind, subject, clock.now_ms(), changes)


def _changes(after: Prize, before: Prize | None) -> tuple[Change, ...]:
    if before is None:
        return changes_between(None, asdict(after))
    named = Change("prize_id", after.prize_id, after.prize_id)
    return named, *changes_between(asdict(before), asdict(after))


def _duty_of_stock(prize: Prize) -> Duty:
    return Duty.TREASURY if prize.kind is PrizeKind.PACKET else Duty.OPERATE


def _is_made(plan: Prize, version: int | None, prize: Prize) -> bool:
    """Return whether this call is a retry: this edit of *version* was already applied."""
    is_next = prize.version == (1 if version is None else version + 1)
    return is_next and prize == _edited(plan, prize, prize.version)


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
