"""Draw (抽): the cache chooses, the ledger makes it durable, then the user gets the outcome.

Where the two disagree, because the cache lost its tail in a failover or died between two steps,
the ledger is right and the cache is corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.domain.campaign import AudienceMode, CampaignStatus, DrawBeacon, meets
from redpacket.domain.clocks import CLOCKS_DIFFER_MS
from redpacket.domain.errors import (
    AttemptsExhausted,
    BeaconPending,
    CampaignEnded,
    CampaignNotStarted,
    CampaignPaused,
    InvariantViolated,
    NotInAudience,
    Rejected,
    Unavailable,
)
from redpacket.domain.lottery import (
    NO_BEACON,
    Attempt,
    BegunDraw,
    Draw,
    DrawAsk,
    DrawDay,
    DrawOutcome,
    DrawStatus,
    LotterySnapshot,
    Player,
    Prize,
    PrizeKind,
    RecordDrawStatus,
    attempts_left,
    check_is_giving,
    choose,
    draw_day,
    draw_id_of,
    draw_point,
    has_prizes,
    unit_share,
)
from redpacket.domain.packet import Person
from redpacket.flows.beacon.cached_rounds import CachedRounds
from redpacket.flows.campaigns.begin_draw import begin_draw
from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots
from redpacket.flows.campaigns.load_campaign import load_campaign
from redpacket.ports.campaigns import DrawCache, Draws
from redpacket.ports.packets import PayoutQueue
from redpacket.ports.runtime import Clock, Journal

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain, BeaconRound
    from redpacket.flows.beacon.new_rounds import NewRounds
    from redpacket.flows.guards.ask_risk import RiskCheck

_TRIES = 4
"""Each repair leaves the cache right for this user, so a second try is rare and a fourth unseen."""

_LOAD_LIFE_MS = 2_000
"""Who loads a campaign has so much time, until another one may try."""

_REPEATED_WITHIN_MS = 3_600_000
"""Users whose attempt died before midnight try again soon; later draws are spared the question."""

_NOT_FOR_YOU = "this is for other users"

_REFUSALS: dict[DrawStatus, tuple[type[Rejected], str]] = {
    DrawStatus.CAMPAIGN_ENDED: (CampaignEnded, "the campaign is over"),
    DrawStatus.CAMPAIGN_NOT_STARTED: (CampaignNotStarted, "the campaign opens later"),
    DrawStatus.CAMPAIGN_PAUSED: (CampaignPaused, "the campaign is turned off for now"),
    DrawStatus.ATTEMPTS_EXHAUSTED: (AttemptsExhausted, "you have drawn as often as one may today"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPorts:
    """The ports that every draw passes."""

    claim_cache: DrawCache
    draws: Draws
    tables: CachedSnapshots
    rounds: CachedRounds
    payouts: PayoutQueue
    clock: Clock
    journal: Journal
    new_rounds: Callable[[BeaconChain], NewRounds]
    risk: RiskCheck | None = None


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a user is told: *attempts_left* of today, None where there is no limit."""

    draw: Draw
    attempts_left: int | None


@dataclass(frozen=True, slots=True)
class _Try:
    """One try to draw: what is asked, what the ledger knew before, and which key names it."""

    drawer: Person
    key_hash: str
    attempt: Attempt
    ask: DrawAsk
    round: BeaconRound | None
    begun: BegunDraw | None = None


def draw_prize(campaign_id: str, drawer: Person, key_hash: str, *, ports: DrawPorts) -> Drawn:
    """Return the draw of this user and key, the same one whenever they ask.

    A new key gets the user's next number of the day, whose point no key can change. What another
    request left unfinished is that number still. Raises CampaignNotFound, CampaignNotStarted,
    CampaignEnded, CampaignPaused, NotInAudience, AttemptsExhausted; BeaconPending until the round
    of the day, or of this draw, is there; Unavailable where the outcome is unknown, and asking
    again gives the one true answer.
    """
    status: DrawStatus | None = None
    for _ in range(_TRIES):
        # Read again at every try: the cache may be on the next day, or have a newer table.
        table = _started_table(campaign_id, ports)
        day = draw_day(table.campaign, ports.clock.now_ms())
        is_per_draw = table.campaign.draw_beacon is DrawBeacon.DRAW
        # Before the ledger: a crowd that waits for it costs nothing.
        round_ = None if is_per_draw else _round_of(table, day, ports)
        attempt = ports.draws.find_attempt(
            campaign_id,
            drawer.user_id,
            key_hash,
            day.name,
            asks_audience=table.audience_mode is not None,
            asks_begun=is_per_draw,
        )
        if attempt.before:
            return Drawn(attempt.before, attempts_left(table.campaign.rules, attempt.player))
        if isinstance(round_, BeaconPending):
            check_is_giving(table.campaign, ports.clock.now_ms())
            raise round_
        _check_audience(table, drawer, attempt, ports)
        begun = attempt.begun
        if is_per_draw and begun is None:
            begun = _begin(table, drawer.user_id, attempt, day, ports)
            if begun is None:
                continue
        if begun:
            round_ = _round_of_begun(begun, table, ports)
            # Odds of a newer table name prizes that an older one may lack.
            table = ports.tables.recall(campaign_id, version_min=begun.table_version)
        ask = _ask(table, drawer.user_id, attempt, day, round_, ports)
        if begun:
            ask = replace(ask, odds=begun.odds)
        tried = _Try(drawer, key_hash, attempt, ask, round_, begun)
        outcome = ports.claim_cache.draw(tried.ask)
        status = outcome.status
        draw = _draw_of(tried, outcome, table, ports)
        if draw:
            return Drawn(draw, _attempts_left_after(attempt.player, table))
    if status and (refusal := _REFUSALS.get(status)):
        error, detail = refusal
        raise error(detail)
    msg = "the cache is being repaired"
    raise Unavailable(msg)


def _started_table(campaign_id: str, ports: DrawPorts) -> LotterySnapshot:
    """Return the table, or refuse the crowd that waits for the start, without the ledger.

    Near the start the cache's clock decides.
    """
    table = ports.tables.recall(campaign_id)
    if _is_long_before(table, ports):
        version = ports.claim_cache.find_version(campaign_id)
        if version is not None:
            table = ports.tables.recall(campaign_id, version_min=version)
            if _is_long_before(table, ports):
                error, detail = _REFUSALS[DrawStatus.CAMPAIGN_NOT_STARTED]
                raise error(detail)
    return table


def _check_audience(
    table: LotterySnapshot, drawer: Person, attempt: Attempt, ports: DrawPorts
) -> None:
    """Refuse users whom the campaign is not for; one that is closed to all refuses them as such."""
    campaign, mode = table.campaign, table.audience_mode
    if campaign.status is CampaignStatus.OFF or ports.clock.now_ms() >= campaign.ends_at_ms:
        return
    is_in = mode is None or attempt.is_member is (mode is AudienceMode.ALLOW)
    is_denied = ports.clock.now_ms() < attempt.denied_until_ms
    if is_denied or not is_in or not meets(campaign.required_claims, drawer.claims):
        raise NotInAudience(_NOT_FOR_YOU)


def _is_long_before(table: LotterySnapshot, ports: DrawPorts) -> bool:
    return ports.clock.now_ms() < table.campaign.starts_at_ms - CLOCKS_DIFFER_MS


def _round_of(
    table: LotterySnapshot, day: DrawDay, ports: DrawPorts
) -> BeaconRound | BeaconPending | None:
    """Return the round that the day's draws take. Raises BeaconPending while the campaign gives.

    Where it does not, the error is returned: who has drawn before is told so again for ever.
    """
    campaign = table.campaign
    try:
        if campaign.beacon is None:
            return None
        round_no = campaign.beacon.round_of(day.starts_at_ms)
        return ports.rounds.recall(campaign.beacon.chain, round_no)
    except BeaconPending as pending:
        try:
            check_is_giving(campaign, ports.clock.now_ms())
        except Rejected:
            return pending
        raise


def _round_of_begun(begun: BegunDraw, table: LotterySnapshot, ports: DrawPorts) -> BeaconRound:
    """Return the round of a draw's own. Raises BeaconPending while the campaign gives."""
    campaign = table.campaign
    if campaign.beacon is None:
        msg = f"draw {begun.draw_no} of {begun.user_id} waits for a beacon that is not there"
        raise InvariantViolated(msg)
    try:
        return ports.rounds.recall(campaign.beacon.chain, begun.beacon_round)
    except BeaconPending as pending:
        check_is_giving(campaign, ports.clock.now_ms())
        pending.begun = begun
        raise


def _begin(
    table: LotterySnapshot, user_id: str, attempt: Attempt, day: DrawDay, ports: DrawPorts
) -> BegunDraw | None:
    """Fix odds and round of the user's next draw; None where the cache has been corrected."""
    campaign_id = table.campaign.campaign_id
    draw_id = draw_id_of(campaign_id, user_id, day.name, attempt.draw_no)
    # Its point is not known before its round.
    ask = DrawAsk(campaign_id, user_id, draw_id, day, point=0)
    outcome = ports.claim_cache.weigh(ask, attempt.player)
    if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
        _load(campaign_id, ports)
        return None
    if outcome.status is DrawStatus.WRONG_DAY:
        return None
    decided_by = _table_of(ask, outcome, table, ports)
    if decided_by is None:
        return None
    if refusal := _REFUSALS.get(outcome.status):
        error, detail = refusal
        raise error(detail)
    return begin_draw(
        decided_by.campaign,
        BegunDraw(
            campaign_id=campaign_id,
            user_id=user_id,
            day=day.name,
            draw_no=attempt.draw_no,
            attempted_at_ms=0,
            beacon_round=0,
            odds=outcome.odds,
            table_version=outcome.table_version,
        ),
        day,
        draws=ports.draws,
        new_rounds=ports.new_rounds,
        clock=ports.clock,
    )


def _ask(
    table: LotterySnapshot,
    user_id: str,
    attempt: Attempt,
    day: DrawDay,
    round_: BeaconRound | None,
    ports: DrawPorts,
) -> DrawAsk:
    campaign_id, draw_no = table.campaign.campaign_id, attempt.draw_no
    seed = ports.tables.seed(campaign_id, day.name)
    randomness = round_.randomness if round_ else NO_BEACON
    point = draw_point(seed, campaign_id, user_id, draw_no, randomness)
    draw_id = draw_id_of(campaign_id, user_id, day.name, draw_no)
    return DrawAsk(campaign_id, user_id, draw_id, day, point)


def _draw_of(
    tried: _Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> Draw | None:
    """Turn the cache's answer into the ledger's; None where the cache has been corrected."""
    ask = tried.ask
    if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
        _load(ask.campaign_id, ports)
        return None
    if outcome.status is DrawStatus.WRONG_DAY:
        return None
    decided_by = _table_of(ask, outcome, table, ports)
    if decided_by and outcome.status in _REFUSALS:
        _refuse_draw(tried, outcome.status, decided_by, ports)
        return None
    if decided_by is None or _is_owed_a_prize(tried, outcome, decided_by, ports):
        return None
    if outcome.prize_id and ports.risk and not ports.risk.allows(tried.drawer):
        # The host is not asked about a miss; the number of the draw stays, with its point.
        _undo(ask, ports, is_unit_free=True)
        raise NotInAudience(_NOT_FOR_YOU)
    draw = _decided(tried, outcome, decided_by, ports)
    return _make_durable(tried, draw, decided_by, ports)


def _refuse_draw(tried: _Try, status: DrawStatus, table: LotterySnapshot, ports: DrawPorts) -> None:
    """Raise the cache's refusal, unless the user has more attempts than the cache counted."""
    rules = table.campaign.rules
    if status is DrawStatus.ATTEMPTS_EXHAUSTED and attempts_left(rules, tried.attempt.player) != 0:
        player = _correct_player(tried.ask, ports)
        # The cache missed a help, or counted an attempt that did not become durable.
        if attempts_left(rules, player) != 0:
            return
    error, detail = _REFUSALS[status]
    raise error(detail)


def _load(campaign_id: str, ports: DrawPorts) -> None:
    """Load a campaign that the cache has lost, alone; the others wait."""
    if not ports.claim_cache.begin_load(campaign_id, _LOAD_LIFE_MS):
        msg = "the campaign is being loaded"
        raise Unavailable(msg)
    ports.journal.event("campaign_loaded", campaign_id=campaign_id)
    load_campaign(campaign_id, draws=ports.draws, claim_cache=ports.claim_cache, clock=ports.clock)


def _table_of(
    ask: DrawAsk, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> LotterySnapshot | None:
    """Return the table that the cache decided or refused by; None where the ledger's is another."""
    if outcome.table_version > table.version:
        table = ports.tables.recall(ask.campaign_id, version_min=outcome.table_version)
    if outcome.table_version >= table.version:
        return table
    # The cache missed an edit, or is about to get it. A draw's record has the prize as it is in the
    # draw's table. No user was told this outcome yet, so it is decided again. A refusal has decided
    # nothing, and the cache may still have the user's durable draw.
    if outcome.status not in _REFUSALS:
        ports.claim_cache.undo(ask, is_unit_free=True)
    _load(ask.campaign_id, ports)
    return None


def _is_owed_a_prize(
    tried: _Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> bool:
    """Tell whether this miss is one too many in a row, and correct a cache that lost count."""
    owed_after = table.campaign.rules.guaranteed_after_misses
    # Odds that were fixed before had what was owed.
    if tried.begun or outcome.status is not DrawStatus.MISSED or not owed_after:
        return False
    if not has_prizes(outcome.odds) or tried.attempt.player.miss_streak < owed_after:
        return False
    _undo(tried.ask, ports, is_unit_free=True)
    return True


def _decided(tried: _Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts) -> Draw:
    """Return the draw as it will be written. The day's seed is enough to compute it again."""
    ask, begun = tried.ask, tried.begun
    # Of a draw that had to wait, another user may have won the last unit.
    is_gone = begun is not None and outcome.prize_id is None
    is_meant = is_gone or choose(outcome.odds, ask.point) == outcome.prize_id
    if not is_meant or ask.odds not in {None, outcome.odds}:
        msg = f"draw {ask.draw_id} of {ask.campaign_id} is not what its odds and point make of it"
        raise InvariantViolated(msg)
    return Draw(
        campaign_id=ask.campaign_id,
        user_id=ask.user_id,
        draw_id=ask.draw_id,
        day=ask.day.name,
        draw_no=tried.attempt.draw_no,
        drawn_at_ms=ports.clock.now_ms(),
        point=ask.point,
        odds=outcome.odds,
        table_version=begun.table_version if begun else outcome.table_version,
        prize=_prize_of(outcome, table) if outcome.prize_id else None,
        unit_no=outcome.unit_no,
        day_no=outcome.day_no,
        beacon_round=tried.round.round_no if tried.round else None,
        attempted_at_ms=begun.attempted_at_ms if begun else None,
        signature=tried.round.signature if begun and tried.round else None,
    )


def _prize_of(outcome: DrawOutcome, table: LotterySnapshot) -> Prize:
    for prize in table.prizes:
        if prize.prize_id == outcome.prize_id:
            return prize
    msg = f"the cache has prize {outcome.prize_id}, which table {table.version} lacks"
    raise InvariantViolated(msg)


def _make_durable(tried: _Try, draw: Draw, table: LotterySnapshot, ports: DrawPorts) -> Draw | None:
    """Write the draw with all that it uses up; None where the cache has been corrected."""
    ask = tried.ask
    recorded = ports.draws.record_draw(draw, table.campaign.rules, tried.key_hash, tried.drawer)
    if recorded is RecordDrawStatus.RECORDED:
        _queue_payout(draw, ports)
        _forget_yesterdays(ask, table, ports)
        return draw
    if recorded in {RecordDrawStatus.DRAWN_BEFORE, RecordDrawStatus.NUMBER_TAKEN}:
        # By another request of the user meanwhile: the next try finds it, or the next number.
        _keep_what_is_durable(draw, ask, ports)
        return None
    ports.journal.event(
        "draw_corrected", campaign_id=ask.campaign_id, draw_id=ask.draw_id, reason=str(recorded)
    )
    is_lost = recorded in {RecordDrawStatus.UNIT_TAKEN, RecordDrawStatus.UNIT_REFUNDED}
    _undo(ask, ports, is_unit_free=not is_lost)
    is_over = ports.clock.now_ms() >= table.campaign.ends_at_ms
    if recorded is RecordDrawStatus.UNIT_REFUNDED and is_over:
        msg = "too late: what was left went back to the sender"
        raise CampaignEnded(msg)
    if recorded is RecordDrawStatus.ATTEMPTS_EXHAUSTED:
        error, detail = _REFUSALS[DrawStatus.ATTEMPTS_EXHAUSTED]
        raise error(detail)
    if recorded is RecordDrawStatus.WON_BEFORE and draw.prize:
        ports.claim_cache.mark_winner(ask, draw.prize.prize_id)
    if is_lost:
        # Refunded, while the campaign goes on: it had ended before, and its end was moved.
        load_campaign(
            ask.campaign_id, draws=ports.draws, claim_cache=ports.claim_cache, clock=ports.clock
        )
    return None


def _keep_what_is_durable(draw: Draw, ask: DrawAsk, ports: DrawPorts) -> None:
    """Undo in the cache what it decided for this number, unless just that has become durable."""
    durable = ports.draws.find_draw(draw.campaign_id, draw.user_id, draw.draw_id)
    if durable is None or _used_up(durable) != _used_up(draw):
        # Or each such request would use up another unit.
        _undo(ask, ports, is_unit_free=True)


def _used_up(draw: Draw) -> tuple[str | None, int, int]:
    return draw.prize.prize_id if draw.prize else None, draw.unit_no, draw.day_no


def _undo(ask: DrawAsk, ports: DrawPorts, *, is_unit_free: bool) -> None:
    ports.claim_cache.undo(ask, is_unit_free=is_unit_free)
    _correct_player(ask, ports)


def _correct_player(ask: DrawAsk, ports: DrawPorts) -> Player:
    """Bring the cache's counts of the user to the ledger's."""
    player = ports.draws.find_player(ask.campaign_id, ask.user_id, ask.day.name)
    ports.claim_cache.set_player(ask, player)
    return player


def _attempts_left_after(player: Player, table: LotterySnapshot) -> int | None:
    """Return what a draw leaves: *player* was read before it, and its number was the next one."""
    drawn = replace(player, attempt_count=player.attempt_count + 1)
    return attempts_left(table.campaign.rules, drawn)


def _forget_yesterdays(ask: DrawAsk, table: LotterySnapshot, ports: DrawPorts) -> None:
    """Offer again what an attempt took before midnight, if it died then.

    Its repeat is an attempt of the new day, and its unit would be lost. Where it becomes durable
    after all, the user who was offered its unit gets another one.
    """
    if ports.clock.now_ms() - ask.day.starts_at_ms >= _REPEATED_WITHIN_MS:
        return
    day = draw_day(table.campaign, ask.day.starts_at_ms - 1)
    try:
        attempt = Attempt(ports.draws.find_player(ask.campaign_id, ask.user_id, day.name))
        draw_id = draw_id_of(ask.campaign_id, ask.user_id, day.name, attempt.draw_no)
        ports.claim_cache.undo(replace(ask, day=day, draw_id=draw_id), is_unit_free=True)
    except Unavailable as error:
        # The user's draw is durable. A cache that loses the lottery and loads it again offers it.
        ports.journal.failure("draw_not_forgotten", error, campaign_id=ask.campaign_id)


def _queue_payout(draw: Draw, ports: DrawPorts) -> None:
    if not draw.prize or draw.prize.kind is not PrizeKind.PACKET:
        return
    ref = unit_share(draw.prize, draw.unit_no)
    try:
        ports.payouts.put([ref])
    except Unavailable as error:
        # The share's row is the outbox: the sweep queues it again within two minutes.
        ports.journal.failure("payout_not_queued", error, packet_id=ref.packet_id)
