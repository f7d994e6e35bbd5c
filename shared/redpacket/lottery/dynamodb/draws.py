"""Repository of draws. One transaction stores a draw; a unit's row is written only if absent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import DrawRules
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.items import (
    draw_of,
    draw_row,
    player_of,
    share_won,
    won_by,
)
from redpacket.lottery.dynamodb.prizes import IS_THERE
from redpacket.lottery.model.lottery import (
    Draw,
    HelpStatus,
    Player,
    PlayerState,
    Prize,
    PrizeKind,
    RecordDrawStatus,
)
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.dynamodb.verdicts import denied_until_ms
from redpacket.packets.dynamodb import items
from redpacket.packets.model.claim import NO_LIMIT, ShareStatus
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Guarded,
    Operation,
    Row,
    Value,
    check,
    create,
    never_refused,
    put,
    update,
    values,
)
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import note_user

MAY_DRAW = "attribute_not_exists(pk) OR attempt_count < :attempts_max"
MAY_WIN = "attribute_not_exists(pk) OR attempt_count < :attempts_max AND win_count < :wins_max"
MAY_BE_HELPED = "attribute_not_exists(help_count) OR help_count < :helps_max"
MAY_HELP = "attribute_not_exists(given_count) OR given_count < :given_max"


class DynamoDraws:
    """Repository of units, draws, players and helps; no write is ever undone."""

    def __init__(self, dynamo: Dynamo, *, asks_verdicts: bool = False) -> None:
        self._dynamo = dynamo
        self._draws = dynamo.tables.draws
        self._shares = dynamo.tables.shares
        self._profiles = dynamo.tables.profiles
        self._audience = dynamo.tables.audience
        self._codes = dynamo.tables.codes
        self._asks_verdicts = asks_verdicts

    def find_attempt(
        self,
        campaign_id: str,
        user_id: str,
        key_hash: str,
        day: str,
        *,
        asks_audience: bool,
    ) -> PlayerState:
        """Return a user's counters, list membership and denial, and the key's earlier draw."""
        request = draw_keys.draw_request(campaign_id, user_id, key_hash)
        player = draw_keys.player(campaign_id, user_id, day)
        member = campaign_keys.member(campaign_id, user_id)
        verdict = operator_keys.verdict(user_id)
        wanted: dict[str, Sequence[Row]] = {self._draws: [request, player]}
        row_keys = [*([member] * asks_audience), *([verdict] * self._asks_verdicts)]
        if row_keys:
            wanted[self._audience] = row_keys
        fetched = self._dynamo.get_across(wanted, is_strong=True)
        rows = {(row["pk"], row["sk"]): row for row in fetched}

        def row_of(key: dict[str, str]) -> dict[str, Value] | None:
            return rows.get((key["pk"], key["sk"]))

        named, listed = row_of(request), row_of(member)
        return PlayerState(
            player_of(row_of(player)),
            self.find_draw(campaign_id, user_id, str(named["draw_id"])) if named else None,
            is_member=listed is not None and listed["is_member"] is True,
            denied_until_ms=denied_until_ms(row_of(verdict)),
        )

    def find_draw(self, campaign_id: str, user_id: str, draw_id: str) -> Draw | None:
        """Return a draw."""
        row = self._dynamo.get(self._draws, draw_keys.draw(campaign_id, user_id, draw_id))
        return draw_of(row) if row else None

    def record_draw(
        self, draw: Draw, rules: DrawRules, key_hash: str, drawer: User | None = None
    ) -> RecordDrawStatus:
        """Store a draw, everything that it consumes, and the winner's host id in one transaction.

        The transaction uses up the idempotency key and the draw's number. A cash prize's unit is a
        share in one of the prize's packets: the draw claims the share and the payout settles it.
        """
        request: dict[str, Value] = {
            **draw_keys.draw_request(draw.campaign_id, draw.user_id, key_hash),
            "draw_id": draw.draw_id,
        }
        # The order of the writes is the precedence of the refusals.
        writes = [
            # I10: one outcome per key and per number
            Guarded(put(self._draws, request), lambda _: RecordDrawStatus.DRAWN_BEFORE),
            Guarded(put(self._draws, draw_row(draw)), lambda _: RecordDrawStatus.NUMBER_TAKEN),
            # I9: no more draws and wins than the rules allow
            Guarded(self._count_draw(draw, rules), lambda player: _player_refusal(player, rules)),
        ]
        if draw.prize:
            user_rows = note_user(self._profiles, drawer) if drawer else []
            writes += [Guarded(row, never_refused) for row in user_rows]
            writes += self._use_up(draw, draw.prize)  # I9: no more units than the stock
        return self._dynamo.attempt(writes) or RecordDrawStatus.RECORDED

    def find_player(self, campaign_id: str, user_id: str, day: str) -> Player:
        """Return a user's counters for one day."""
        return player_of(self._dynamo.get(self._draws, draw_keys.player(campaign_id, user_id, day)))

    def list_draws(self, campaign_id: str, user_id: str) -> list[Draw]:
        """Return a user's draws, newest first."""
        rows = self._rows(draw_keys.drawer(campaign_id, user_id)["pk"], draw_keys.DRAW_PREFIX)
        draws = [draw_of(row) for row in rows]
        return sorted(draws, key=lambda draw: (draw.day, draw.draw_no), reverse=True)

    def record_help(
        self,
        campaign_id: str,
        inviter_id: str,
        helper_id: str,
        day: str,
        rules: DrawRules,
        at_ms: int,
    ) -> HelpStatus:
        """Give the inviter one more attempt on *day*, once per inviter and helper."""
        given: dict[str, Value] = {
            **draw_keys.help_given(campaign_id, inviter_id, helper_id),
            "day": day,
            "helped_at_ms": at_ms,
        }
        # Both updates write every counter that `player_of` requires, even before the first draw.
        one_more = update(
            self._draws,
            draw_keys.player(campaign_id, inviter_id, day),
            "ADD attempt_count :minus_one, help_count :one, win_count :zero, miss_streak :zero",
            condition=MAY_BE_HELPED,
            minus_one=-1,
            one=1,
            zero=0,
            helps_max=rules.helps_per_user_per_day,
        )
        one_given = update(
            self._draws,
            draw_keys.player(campaign_id, helper_id, day),
            "ADD given_count :one, attempt_count :zero, win_count :zero, miss_streak :zero",
            condition=MAY_HELP,
            one=1,
            zero=0,
            given_max=rules.helps_given_per_user_per_day,
        )
        writes = [
            Guarded(put(self._draws, given), lambda _: HelpStatus.HELPED_BEFORE),
            Guarded(one_more, lambda _: HelpStatus.HELPS_EXHAUSTED),
            Guarded(one_given, lambda _: HelpStatus.GIVEN_EXHAUSTED),
        ]
        return self._dynamo.attempt(writes) or HelpStatus.HELPED

    def _count_draw(self, draw: Draw, rules: DrawRules) -> Operation:
        key = draw_keys.player(draw.campaign_id, draw.user_id, draw.day)
        attempts_max = rules.attempts_per_user_per_day or NO_LIMIT
        if draw.prize is None:
            return update(
                self._draws,
                key,
                "ADD attempt_count :one, win_count :zero, miss_streak :one"
                " SET attempts_max = :attempts_max",
                condition=MAY_DRAW,
                one=1,
                zero=0,
                attempts_max=attempts_max,
            )
        return update(
            self._draws,
            key,
            # Store the limits for reconciliation (I9), because operators may lower them later.
            "ADD attempt_count :one, win_count :one"
            " SET miss_streak = :zero, attempts_max = :attempts_max, wins_max = :wins_max",
            condition=MAY_WIN,
            one=1,
            zero=0,
            attempts_max=attempts_max,
            wins_max=rules.wins_per_user_per_day or NO_LIMIT,
        )

    def _use_up(self, draw: Draw, prize: Prize) -> list[Guarded[RecordDrawStatus]]:
        """Return the writes that use up a unit, with the record of a win that users have once."""
        where = draw.campaign_id, prize.prize_id
        writes: list[Guarded[RecordDrawStatus]] = []
        if prize.once_per_user:
            winner = draw_keys.winner(draw.campaign_id, draw.user_id, prize.prize_id)
            won = put(self._draws, {**winner, "draw_id": draw.draw_id})
            writes.append(Guarded(won, lambda _: RecordDrawStatus.WON_BEFORE))
        if draw.day_no:
            day_unit = draw_keys.day_unit(*where, draw.day, draw.day_no)
            writes.append(Guarded(put(self._draws, {**day_unit, **won_by(draw)}), _unit_refusal))
        if prize.kind is PrizeKind.PACKET:
            share = share_won(draw, prize)
            claimer = create(self._shares, items.prize_claimer_row(share, draw.user_id))
            writes += [
                Guarded(claimer, _unit_refusal),
                Guarded(
                    create(self._shares, items.share_row(share)), _unit_refusal
                ),  # I3: one outcome
            ]
        else:
            unit = draw_keys.unit(*where, draw.unit_no)
            writes.append(Guarded(put(self._draws, {**unit, **won_by(draw)}), _unit_refusal))
        if prize.kind is PrizeKind.CODE:
            # I9: no unit is won without its code
            code = check(self._codes, draw_keys.code(*where, draw.unit_no), IS_THERE)
            writes.append(Guarded(code, _unit_refusal))
        return writes

    def _rows(self, pk: str, prefix: str) -> Iterator[dict[str, Any]]:
        return self._dynamo.query(
            self._draws,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=values(pk=pk, prefix=prefix),
            ConsistentRead=True,
        )


def _player_refusal(player: Row, rules: DrawRules) -> RecordDrawStatus:
    attempts_max = rules.attempts_per_user_per_day or NO_LIMIT
    is_last = int(player["attempt_count"]) >= attempts_max
    return RecordDrawStatus.ATTEMPTS_EXHAUSTED if is_last else RecordDrawStatus.WINS_EXHAUSTED


def _unit_refusal(row: Row) -> RecordDrawStatus:
    is_refunded = row.get("fate") == ShareStatus.REFUNDED
    return RecordDrawStatus.UNIT_REFUNDED if is_refunded else RecordDrawStatus.UNIT_TAKEN
