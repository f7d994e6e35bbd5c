"""Stand-ins that fail as the real things do: before, after, or in doubt, at every single I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError

from redpacket.domain.claim import (
    AdmitOutcome,
    GrabOutcome,
    Quota,
    QuotaStatus,
    ShareFate,
    ShareRef,
)
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.lottery import (
    DrawAsk,
    DrawDay,
    DrawOutcome,
    DrawTable,
    Player,
    PrizeStock,
)
from redpacket.domain.packet import Packet
from redpacket.ports import DrawBoard, PartBoard, Quotas
from tests.fakes import FakeDynamo, FakeQueue

Result = TypeVar("Result")


Failure: TypeAlias = Callable[[], Exception]
"""Makes a new error each time: one that is raised again would keep every traceback it ever had."""


_LEFT_BEHIND = 0.5
"""Of the transactions whose caller hears nothing: they end after it has given up."""


class Killed(BaseException):
    """The Lambda's worker dies here; nothing of its code runs any more."""


@dataclass
class Faults:
    """Decides by its seed what goes wrong; *rate* 0 means that faults have stopped."""

    random: random.Random
    rate: float
    count: int = 0

    def strike(self) -> str | None:
        """Return what happens to this call: None, or one of the kinds below."""
        if self.random.random() >= self.rate:
            return None
        self.count += 1
        return self.random.choice(("lost", "in_doubt", "killed_before", "killed_after"))


class Wire:
    """Every call to the outside passes here: others run first, then it may fail."""

    def __init__(
        self,
        faults: Faults,
        let_others_run: Callable[[], None],
        leave_behind: Callable[[Callable[[], None]], None],
    ) -> None:
        self._faults = faults
        self._let_others_run = let_others_run
        self._leave_behind = leave_behind
        self.steps = 0

    def call(
        self,
        do: Callable[[], Result],
        *,
        lost: Failure,
        in_doubt: Failure,
        begin: Callable[[], Callable[[], None]] | None = None,
    ) -> Result:
        """Carry out *do*, with luck; raise *lost* without its effect, *in_doubt* after it.

        What can *begin* without its caller may end long after the caller has given up.
        """
        self.steps += 1
        self._let_others_run()
        fault = self._faults.strike()
        if fault == "lost":
            raise lost()
        if fault == "killed_before":
            raise Killed
        if begin and fault and self._faults.random.random() < _LEFT_BEHIND:
            self._leave_behind(begin())
            raise in_doubt() if fault == "in_doubt" else Killed
        result = do()
        self._let_others_run()
        if fault == "in_doubt":
            raise in_doubt()
        if fault == "killed_after":
            raise Killed
        return result


def _timed_out() -> ReadTimeoutError:
    return ReadTimeoutError(endpoint_url="dynamodb")


def _cache_away() -> Unavailable:
    return CacheAway("the cache does not answer")


def _queue_away() -> Unavailable:
    return Unavailable("the queue does not answer")


def _throttled(operation: str) -> ClientError:
    response: Any = {"Error": {"Code": "ThrottlingException", "Message": "slow down"}}
    return ClientError(response, operation)


class FaultyDynamo:
    """FakeDynamo behind a wire; a transaction may still be under way when its caller gives up."""

    exceptions = FakeDynamo.exceptions

    def __init__(self, dynamo: FakeDynamo, wire: Wire) -> None:
        self._dynamo = dynamo
        self._wire = wire

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._dynamo, operation)

        def call(**arguments: Any) -> Any:
            is_transaction = operation == "transact_write_items"
            if arguments.get("IndexName") == "by_work":
                # A sweep asks 32 partitions of each list: if they failed like all else, no sweep
                # would ever get to its work.
                return method(**arguments)
            return self._wire.call(
                lambda: method(**arguments),
                lost=lambda: _throttled(operation),
                in_doubt=_timed_out,
                begin=(lambda: self._dynamo.begin(arguments["TransactItems"]))
                if is_transaction
                else None,
            )

        return call


class FaultyBoard:
    """FakeBoard behind a wire."""

    def __init__(self, board: PartBoard, wire: Wire) -> None:
        self._board = board
        self._wire = wire

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        return self._call(lambda: self._board.grab(packet_id, user_id))

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        return self._call(lambda: self._board.take(packet_id, user_id, terms))

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        return self._call(
            lambda: self._board.admit(
                packet_id, user_id, life_ms=life_ms, admitted_max=admitted_max
            )
        )

    def free(self, packet_id: str, user_id: str, share_no: int) -> None:
        self._call(lambda: self._board.free(packet_id, user_id, share_no))

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        self._call(lambda: self._board.load(packet, shares, part))

    def load_part(
        self, packet: Packet, part: int, shares: Sequence[ShareFate], *, is_whole: bool
    ) -> None:
        self._call(lambda: self._board.load_part(packet, part, shares, is_whole=is_whole))

    def load_sent(self, packet: Packet) -> None:
        self._call(lambda: self._board.load_sent(packet))

    def load_sent_part(self, packet: Packet, part: int) -> None:
        self._call(lambda: self._board.load_sent_part(packet, part))

    def knows_takers(self, packet_id: str, user_id: str) -> bool:
        return self._call(lambda: self._board.knows_takers(packet_id, user_id))

    def begin_look(self, packet_id: str, part: int, life_ms: int) -> bool:
        return self._call(lambda: self._board.begin_look(packet_id, part, life_ms))

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        return self._call(lambda: self._board.begin_load(packet_id, part, life_ms))

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        self._call(lambda: self._board.hold_load(packet_id, part, life_ms))

    def is_loaded(self, packet_id: str, part: int) -> bool:
        return self._call(lambda: self._board.is_loaded(packet_id, part))

    def note(self, board_id: str, numbers: Mapping[str, int]) -> None:
        self._call(lambda: self._board.note(board_id, numbers))

    def disown(self, packet_id: str, user_id: str, share_no: int) -> None:
        self._call(lambda: self._board.disown(packet_id, user_id, share_no))

    def give_back(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        self._call(lambda: self._board.give_back(packet_id, user_id, share_no, owned_no=owned_no))

    def close(self, packet_id: str) -> None:
        self._call(lambda: self._board.close(packet_id))

    def holders(self, packet_id: str) -> dict[str, int]:
        return self._call(lambda: self._board.holders(packet_id))

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        return self._call(lambda: self._board.emptied_by(packet_id))

    def _call(self, do: Callable[[], Result]) -> Result:
        return self._wire.call(do, lost=_cache_away, in_doubt=_cache_away)


class FaultyQuotas:
    """FakeQuotas behind a wire."""

    def __init__(self, quotas: Quotas, wire: Wire) -> None:
        self._quotas = quotas
        self._wire = wire

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        return self._wire.call(
            lambda: self._quotas.reserve(quota, user_id, packet_id, claimed_count=claimed_count),
            lost=_cache_away,
            in_doubt=_cache_away,
        )

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        self._wire.call(
            lambda: self._quotas.release(quota, user_id, packet_id),
            lost=_cache_away,
            in_doubt=_cache_away,
        )


class FaultyDraws:
    """FakeDrawBoard behind a wire."""

    def __init__(self, board: DrawBoard, wire: Wire) -> None:
        self._board = board
        self._wire = wire

    def draw(self, ask: DrawAsk) -> DrawOutcome:
        return self._call(lambda: self._board.draw(ask))

    def load(self, table: DrawTable, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        self._call(lambda: self._board.load(table, day, stock))

    def undo(self, ask: DrawAsk, *, is_unit_free: bool) -> None:
        self._call(lambda: self._board.undo(ask, is_unit_free=is_unit_free))

    def set_player(self, ask: DrawAsk, player: Player) -> None:
        self._call(lambda: self._board.set_player(ask, player))

    def mark_winner(self, ask: DrawAsk, prize_id: str) -> None:
        self._call(lambda: self._board.mark_winner(ask, prize_id))

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        return self._call(lambda: self._board.begin_load(campaign_id, life_ms))

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        return self._call(lambda: self._board.count_issued(campaign_id, prize_ids))

    def _call(self, do: Callable[[], Result]) -> Result:
        return self._wire.call(do, lost=_cache_away, in_doubt=_cache_away)


class FaultyQueue:
    """FakeQueue behind a wire, which delivers out of order, twice, late, and forgets deletes."""

    def __init__(self, queue: FakeQueue, wire: Wire, faults: Faults) -> None:
        self._queue = queue
        self._wire = wire
        self._random = faults.random

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        waiting = list(refs)
        self._wire.call(
            lambda: self._queue.put(waiting, delay_s=delay_s),
            lost=_queue_away,
            in_doubt=_queue_away,
        )

    def receive(self) -> list[ShareRef]:
        """Return some messages, one of them perhaps twice; they stay until they are deleted."""
        size = self._random.randint(1, 6)
        batch = self._random.sample(self._queue.refs, min(size, len(self._queue.refs)))
        if batch and self._random.random() < 0.2:
            batch.append(self._random.choice(batch))
        return batch

    def delete(self, refs: Iterable[ShareRef]) -> None:
        """Delete messages, most of the time."""
        for ref in refs:
            if ref in self._queue.refs and self._random.random() > 0.05:
                self._queue.refs.remove(ref)
