"""Draw attempt, from the cache's answer to a durable draw or a repaired cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotStarted,
    CampaignPaused,
    NotInAudience,
)
from redpacket.campaigns.model import CampaignStatus
from redpacket.lottery.errors import AttemptsExhausted
from redpacket.lottery.model.lottery import (
    Draw,
    DrawStatus,
    PlayerState,
    PrizeKind,
    RecordDrawStatus,
    attempts_left,
    draw_day,
    draw_id_of,
    unit_share,
)
from redpacket.lottery.model.odds import could_be, has_prizes, is_guaranteed
from redpacket.lottery.use_cases.load_campaign import load_campaign
from redpacket.platform.bounds import CLOCKS_DIFFER_MS, LOAD_WAITS_MS
from redpacket.platform.errors import Rejected, Unavailable

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.draws import DynamoDraws
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes
    from redpacket.lottery.model.lottery import CampaignSnapshot, DrawOutcome, DrawRequest, Player
    from redpacket.lottery.ports import DrawCache
    from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.packets.ports import PayoutQueue
    from redpacket.platform.runtime import Clock, EventLogger
    from redpacket.platform.user import User

REFUSALS: dict[DrawStatus, type[Rejected]] = {
    DrawStatus.CAMPAIGN_ENDED: CampaignEnded,
    DrawStatus.CAMPAIGN_NOT_STARTED: CampaignNotStarted,
    DrawStatus.CAMPAIGN_PAUSED: CampaignPaused,
    DrawStatus.ATTEMPTS_EXHAUSTED: AttemptsExhausted,
}

_LATE_MS = 20_000
"""Maximum milliseconds from the cache's answer to its validation, with clock skew included."""

_LOAD_LIFE_MS = 2_000
"""Milliseconds after which another caller may load the campaign."""

_REPEATED_WITHIN_MS = 3_600_000
"""Milliseconds after midnight within which a draw frees the unit of yesterday's attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPorts:
    """Dependencies of a draw."""

    draw_cache: DrawCache
    draws: DynamoDraws
    prizes: DynamoPrizes
    snapshots: CachedSnapshots
    payouts: PayoutQueue
    clock: Clock
    logger: EventLogger
    risk: RiskCheck | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DrawAttempt:
    """A user's numbered attempt, with everything that was read before the cache call."""

    drawer: User
    key_hash: str
    snapshot: CampaignSnapshot
    state: PlayerState
    request: DrawRequest
    ports: DrawPorts

    def commit(self, outcome: DrawOutcome) -> Draw | None:
        """Make the cache's *outcome* durable, or return None after repairing the cache.

        Raises the cache's refusal if it is correct, the ledger's refusal, and NotInAudience.
        """
        if outcome.status in {DrawStatus.CAMPAIGN_ALTERED, DrawStatus.WRONG_DAY}:
            if outcome.status is DrawStatus.CAMPAIGN_ALTERED:
                self._log_altered()
            return None
        if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
            self._load()
            return None
        snapshot = self._deciding_snapshot(outcome)
        if snapshot and outcome.status in REFUSALS:
            self._check_refusal(outcome.status, snapshot)
            return None
        if snapshot is None or self._is_altered(outcome, snapshot):
            return None
        if self._has_other_audience(snapshot) or self._has_other_misses(outcome, snapshot):
            # Try again, because the audience was edited or the cache lacks a draw.
            self._undo(is_unit_free=True)
            return None
        if outcome.prize_id and self.ports.risk and not self.ports.risk.allows(self.drawer):
            # The host denies the user, so undo the win. A retry has the same number and point.
            self._undo(is_unit_free=True)
            raise NotInAudience
        return self._record(self._decided(outcome, snapshot), snapshot)

    def _deciding_snapshot(self, outcome: DrawOutcome) -> CampaignSnapshot | None:
        """Return the snapshot that the cache used, or None after replacing an outdated one."""
        snapshot = self.snapshot
        if outcome.snapshot_version > snapshot.version:
            campaign_id = self.request.campaign_id
            snapshot = self.ports.snapshots.get(campaign_id, version_min=outcome.snapshot_version)
        if outcome.snapshot_version >= snapshot.version:
            return snapshot
        # The cache lacks an edit. No user has seen this outcome, so decide again.
        # A refusal needs no undo, which could remove the user's durable draw.
        if outcome.status not in REFUSALS:
            self.ports.draw_cache.undo(self.request, is_unit_free=True)
        self._load()
        return None

    def _check_refusal(self, status: DrawStatus, snapshot: CampaignSnapshot) -> None:
        """Raise the cache's refusal, unless the user has more attempts than the cache counted."""
        rules = snapshot.campaign.rules
        is_doubtful = (
            status is DrawStatus.ATTEMPTS_EXHAUSTED and attempts_left(rules, self.state.player) != 0
        )
        if is_doubtful and attempts_left(rules, self._correct_player()) != 0:
            return
        raise REFUSALS[status]

    def _is_altered(self, outcome: DrawOutcome, snapshot: CampaignSnapshot) -> bool:
        """Drop the cached lottery and return True if *snapshot* does not allow the outcome."""
        now_ms, campaign = self.ports.clock.now_ms(), snapshot.campaign
        is_on = campaign.status is CampaignStatus.ON and (
            campaign.starts_at_ms - CLOCKS_DIFFER_MS <= now_ms < campaign.ends_at_ms + _LATE_MS
        )
        if is_on and could_be(outcome, snapshot, self.request.point):
            return False
        self._log_altered()
        self.ports.draw_cache.drop(self.request)
        return True

    def _log_altered(self) -> None:
        self.ports.logger.event("campaign_altered", campaign_id=self.request.campaign_id)

    def _has_other_audience(self, snapshot: CampaignSnapshot) -> bool:
        """Return whether the audience, except its list, changed after the user was checked."""
        return (snapshot.audience_mode, snapshot.campaign.required_claims) != (
            self.snapshot.audience_mode,
            self.snapshot.campaign.required_claims,
        )

    def _has_other_misses(self, outcome: DrawOutcome, snapshot: CampaignSnapshot) -> bool:
        """Return whether the cache and the ledger disagree on whether misses guarantee a prize."""
        owed_after = snapshot.campaign.rules.guaranteed_after_misses
        if not owed_after or not has_prizes(outcome.odds):
            return False
        if self.state.player.miss_streak >= owed_after:
            return outcome.status is DrawStatus.MISSED
        return is_guaranteed(outcome.odds, snapshot)

    def _decided(self, outcome: DrawOutcome, snapshot: CampaignSnapshot) -> Draw:
        return Draw(
            campaign_id=self.request.campaign_id,
            user_id=self.request.user_id,
            draw_id=self.request.draw_id,
            day=self.request.day.name,
            draw_no=self.state.draw_no,
            drawn_at_ms=self.ports.clock.now_ms(),
            point=self.request.point,
            odds=outcome.odds,
            snapshot_version=outcome.snapshot_version,
            prize=next(
                (each for each in snapshot.prizes if each.prize_id == outcome.prize_id), None
            ),
            unit_no=outcome.unit_no,
            day_no=outcome.day_no,
        )

    def _record(self, draw: Draw, snapshot: CampaignSnapshot) -> Draw | None:
        """Record the draw and what it uses up, or return None after repairing the cache."""
        rules = snapshot.campaign.rules
        recorded = self.ports.draws.record_draw(draw, rules, self.key_hash, self.drawer)
        if recorded is RecordDrawStatus.RECORDED:
            if draw.prize:
                self.ports.logger.count("won")
            self._queue_payout(draw)
            self._forget_yesterdays(snapshot)
            return draw
        if recorded in {RecordDrawStatus.DRAWN_BEFORE, RecordDrawStatus.NUMBER_TAKEN}:
            # Another request by the user was faster. The next try finds that draw, or a new number.
            self._keep_what_is_durable(draw)
        else:
            self._correct(recorded, draw, snapshot)
        return None

    def _correct(self, recorded: RecordDrawStatus, draw: Draw, snapshot: CampaignSnapshot) -> None:
        """Repair the cache after the ledger refused a draw that the cache had decided."""
        campaign_id = draw.campaign_id
        self.ports.logger.event(
            "draw_corrected", campaign_id=campaign_id, draw_id=draw.draw_id, reason=str(recorded)
        )
        is_lost = recorded in {RecordDrawStatus.UNIT_TAKEN, RecordDrawStatus.UNIT_REFUNDED}
        self._undo(is_unit_free=not is_lost)
        is_over = self.ports.clock.now_ms() >= snapshot.campaign.ends_at_ms
        if recorded is RecordDrawStatus.UNIT_REFUNDED and is_over:
            raise CampaignEnded
        if recorded is RecordDrawStatus.ATTEMPTS_EXHAUSTED:
            raise AttemptsExhausted
        if recorded is RecordDrawStatus.WON_BEFORE and draw.prize:
            self.ports.draw_cache.mark_winner(self.request, draw.prize.prize_id)
        if is_lost:
            # The cache does not know that the units were won, or refunded before an extension.
            self._load_now()

    def _keep_what_is_durable(self, draw: Draw) -> None:
        """Undo the cache's decision for this number, unless that decision became durable."""
        durable = self.ports.draws.find_draw(draw.campaign_id, draw.user_id, draw.draw_id)
        if durable is None or _used_up(durable) != _used_up(draw):
            self._undo(is_unit_free=True)

    def _queue_payout(self, draw: Draw) -> None:
        if not draw.prize or draw.prize.kind is not PrizeKind.PACKET:
            return
        ref = unit_share(draw.prize, draw.unit_no)
        try:
            self.ports.payouts.put([ref])
        except Unavailable as error:
            # The share's row is the outbox: the sweep queues it again within two minutes.
            self.ports.logger.failure("payout_not_queued", error, packet_id=ref.packet_id)

    def _forget_yesterdays(self, snapshot: CampaignSnapshot) -> None:
        """Offer a unit again if an attempt took it before midnight and did not become durable.

        If the attempt becomes durable later, the next winner of the unit gets another unit.
        """
        request, midnight_ms = self.request, self.request.day.starts_at_ms
        if self.ports.clock.now_ms() - midnight_ms >= _REPEATED_WITHIN_MS:
            return
        day = draw_day(snapshot.campaign, midnight_ms - 1)
        try:
            player = self.ports.draws.find_player(request.campaign_id, request.user_id, day.name)
            draw_no = PlayerState(player).draw_no
            draw_id = draw_id_of(request.campaign_id, request.user_id, day.name, draw_no)
            before = replace(request, day=day, draw_id=draw_id)
            self.ports.draw_cache.undo(before, is_unit_free=True)
        except Unavailable as error:
            # Don't fail the request: the user's draw is already durable.
            self.ports.logger.failure("draw_not_forgotten", error, campaign_id=request.campaign_id)

    def _undo(self, *, is_unit_free: bool) -> None:
        """Undo an attempt that is not durable; if *is_unit_free*, offer its unit again."""
        self.ports.draw_cache.undo(self.request, is_unit_free=is_unit_free)
        self._correct_player()

    def _correct_player(self) -> Player:
        """Set the user's cached counters to the ledger's values."""
        request = self.request
        player = self.ports.draws.find_player(
            request.campaign_id, request.user_id, request.day.name
        )
        self.ports.draw_cache.set_player(request, player)
        return player

    def _load(self) -> None:
        """Load a lost campaign, or wait until another caller has loaded it. Raises Unavailable."""
        campaign_id, cache = self.request.campaign_id, self.ports.draw_cache
        for wait_ms in LOAD_WAITS_MS:
            if cache.begin_load(campaign_id, _LOAD_LIFE_MS):
                self.ports.logger.event("campaign_loaded", campaign_id=campaign_id)
                self._load_now()
                return
            self.ports.clock.sleep_ms(wait_ms)
            if (cache.find_version(campaign_id) or 0) >= self.snapshot.version:
                return
        raise Unavailable("The campaign is being loaded. Try again.")

    def _load_now(self) -> None:
        campaign_id, ports = self.request.campaign_id, self.ports
        load_campaign(
            campaign_id, prizes=ports.prizes, draw_cache=ports.draw_cache, clock=ports.clock
        )


def _used_up(draw: Draw) -> tuple[str | None, int, int]:
    return draw.prize.prize_id if draw.prize else None, draw.unit_no, draw.day_no
