"""Stand-ins whose I/O fails like that of the real services: before, after, or in doubt."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from botocore.exceptions import ClientError, ReadTimeoutError

from redpacket.fairness.model import days
from redpacket.ledger.dynamodb.keys import WORK_SHARDS
from redpacket.lottery.model import lottery
from redpacket.lottery.ports import DrawCache
from redpacket.operations.model.limits import Limit, LimitName
from redpacket.operations.model.switches import SwitchState
from redpacket.operations.ports import Limits, SwitchCopy, SwitchesSeen, SwitchRow, SwitchStore
from redpacket.packets.model.claim import AdmitOutcome, GrabOutcome, Quota, QuotaStatus, Share
from redpacket.packets.model.packet import Packet
from redpacket.packets.ports import Quotas
from redpacket.platform.errors import CacheAway, Unavailable
from testing.fakes import FakeDynamo
from testing.packets.fake_claim_cache import FakeShards

Result = TypeVar("Result")


Failure: TypeAlias = Callable[[], Exception]
"""Factory of errors. One instance that is raised repeatedly would keep all its tracebacks."""


_LEFT_BEHIND = 0.5
"""Probability that a transaction in doubt, or whose caller crashes, is committed only later."""


LATENCIES_MS = (1, 3, 10, 30, 100)
"""Possible delays in milliseconds, chosen separately for a request and its response."""

TIMEOUTS_MS = (100, 500, 1_500)
"""Milliseconds for which a caller waits for a missing answer."""


class Killed(BaseException):
    """Crash of the worker, after which none of its code runs."""


@dataclass
class Faults:
    """Seeded source of faults; *rate* 0 stops the faults."""

    random: random.Random
    rate: float
    count: int = 0

    def strike(self) -> str | None:
        """Return the fault of this call: None, or one of four kinds."""
        if self.random.random() >= self.rate:
            return None
        self.count += 1
        return self.random.choice(("lost", "in_doubt", "killed_before", "killed_after"))


@dataclass
class Wire:
    """Wire between a process and a service. A call takes time, in which other parts run, and may
    fail.
    """

    faults: Faults
    sleep_ms: Callable[[int], None]
    hang: Callable[[], None]
    leave_behind: Callable[[Callable[[], None]], None]
    steps: int = 0

    def call(
        self,
        do: Callable[[], Result],
        *,
        lost: Failure,
        in_doubt: Failure,
        begin: Callable[[], Callable[[], None]] | None = None,
    ) -> Result:
        """Call *do* unless a fault prevents it. Raise *lost* if nothing was done, and *in_doubt* if
        *do* may have run. A call with *begin* may end long after its caller gave up.
        """
        self.steps += 1
        if begin:
            self.hang()
        self.sleep_ms(self._pick(LATENCIES_MS))
        fault = self.faults.strike()
        if fault == "lost":
            raise lost()
        if fault == "killed_before":
            raise Killed
        if begin and fault and self.faults.random.random() < _LEFT_BEHIND:
            self.leave_behind(begin())
            self.sleep_ms(self._pick(TIMEOUTS_MS))
            raise in_doubt() if fault == "in_doubt" else Killed
        result = do()
        self.sleep_ms(self._pick(LATENCIES_MS))
        if fault == "in_doubt":
            self.sleep_ms(self._pick(TIMEOUTS_MS))
            raise in_doubt()
        if fault == "killed_after":
            raise Killed
        return result

    def is_spared(self, count: int) -> bool:
        """Return whether one of *count* concurrent calls succeeds, without taking virtual time.

        If each of these calls failed as often as other calls, no sweep would reach its work.
        """
        self.steps += 1
        return self.faults.random.random() * count >= 1

    def _pick(self, among: Sequence[int]) -> int:
        # Faster than choice(); this is a hot path.
        return among[int(self.faults.random.random() * len(among))]


def timed_out() -> ReadTimeoutError:
    return ReadTimeoutError(endpoint_url="aws")


def _cache_away() -> Unavailable:
    return CacheAway("the cache does not answer")


def _table_away() -> Unavailable:
    return Unavailable("the table does not answer")


def throttled(operation: str) -> ClientError:
    response: Any = {"Error": {"Code": "ThrottlingException", "Message": "slow down"}}
    return ClientError(response, operation)


class FaultyDynamo:
    """FakeDynamo behind a wire; a transaction may still run when its caller gives up."""

    exceptions = FakeDynamo.exceptions

    def __init__(self, dynamo: FakeDynamo, wire: Wire) -> None:
        self._dynamo = dynamo
        self._wire = wire

    def query(self, **arguments: Any) -> Any:
        # Sweeps query many partitions of a list, and statement comparisons query many of a day's
        # lines.
        pk = arguments["ExpressionAttributeValues"].get(":pk", {"S": ""})["S"]
        is_one_of_many = arguments.get("IndexName") == "by_work" or pk.startswith("outside#")
        if is_one_of_many and self._wire.is_spared(WORK_SHARDS):
            return self._dynamo.query(**arguments)
        return self._wire.call(
            lambda: self._dynamo.query(**arguments),
            lost=lambda: throttled("query"),
            in_doubt=timed_out,
        )

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._dynamo, operation)

        def call(**arguments: Any) -> Any:
            is_transaction = operation == "transact_write_items"
            return self._wire.call(
                lambda: method(**arguments),
                lost=lambda: throttled(operation),
                in_doubt=timed_out,
                begin=(lambda: self._dynamo.begin(arguments["TransactItems"]))
                if is_transaction
                else None,
            )

        return call


class FaultyClaimCache:
    """FakeShards behind a wire."""

    def __init__(self, claim_cache: FakeShards, wire: Wire) -> None:
        self._claim_cache = claim_cache
        self._wire = wire

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        return self._call(lambda: self._claim_cache.grab(packet_id, user_id))

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        return self._call(lambda: self._claim_cache.take(packet_id, user_id, terms))

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        return self._call(
            lambda: self._claim_cache.admit(
                packet_id, user_id, life_ms=life_ms, admitted_max=admitted_max
            )
        )

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        self._call(lambda: self._claim_cache.release(packet_id, user_id, share_no))

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        part: int | None = None,
        *,
        is_new: bool = False,
        is_whole: bool = True,
    ) -> None:
        self._call(
            lambda: self._claim_cache.load(packet, shares, part, is_new=is_new, is_whole=is_whole)
        )

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        return self._call(lambda: self._claim_cache.has_all_claimers(packet_id, user_id))

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        return self._call(lambda: self._claim_cache.begin_look(packet_id, life_ms))

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        return self._call(lambda: self._claim_cache.begin_load(packet_id, part, life_ms))

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        self._call(lambda: self._claim_cache.hold_load(packet_id, part, life_ms))

    def is_loaded(self, packet_id: str, part: int) -> bool:
        return self._call(lambda: self._claim_cache.is_loaded(packet_id, part))

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        self._call(lambda: self._claim_cache.note(cache_id, numbers))

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        self._call(lambda: self._claim_cache.revoke(packet_id, user_id, share_no))

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        self._call(
            lambda: self._claim_cache.reassign(packet_id, user_id, share_no, owned_no=owned_no)
        )

    def close(self, packet_id: str) -> None:
        self._call(lambda: self._claim_cache.close(packet_id))

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        return self._call(lambda: self._claim_cache.emptied_by(packet_id))

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

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        return self._wire.call(
            lambda: self._quotas.find_member(campaign_id, user_id),
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
    """FakeDrawCache behind a wire."""

    def __init__(self, claim_cache: DrawCache, wire: Wire) -> None:
        self._claim_cache = claim_cache
        self._wire = wire

    def draw(self, request: lottery.DrawRequest) -> lottery.DrawOutcome:
        return self._call(lambda: self._claim_cache.draw(request))

    def load(
        self,
        snapshot: lottery.CampaignSnapshot,
        day: days.DrawDay,
        stock: Sequence[lottery.PrizeStock],
    ) -> None:
        self._call(lambda: self._claim_cache.load(snapshot, day, stock))

    def undo(self, request: lottery.DrawRequest, *, is_unit_free: bool) -> None:
        self._call(lambda: self._claim_cache.undo(request, is_unit_free=is_unit_free))

    def drop(self, request: lottery.DrawRequest) -> None:
        self._call(lambda: self._claim_cache.drop(request))

    def set_player(self, request: lottery.DrawRequest, player: lottery.Player) -> None:
        self._call(lambda: self._claim_cache.set_player(request, player))

    def mark_winner(self, request: lottery.DrawRequest, prize_id: str) -> None:
        self._call(lambda: self._claim_cache.mark_winner(request, prize_id))

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        return self._call(lambda: self._claim_cache.begin_load(campaign_id, life_ms))

    def find_version(self, campaign_id: str) -> int | None:
        return self._call(lambda: self._claim_cache.find_version(campaign_id))

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        return self._call(lambda: self._claim_cache.count_issued(campaign_id, prize_ids))

    def _call(self, do: Callable[[], Result]) -> Result:
        return self._wire.call(do, lost=_cache_away, in_doubt=_cache_away)


class FaultyLimits:
    """FakeLimits behind a wire."""

    def __init__(self, limits: Limits, wire: Wire) -> None:
        self._limits = limits
        self._wire = wire

    def take(self, limit: Limit, subject: str) -> int:
        return self._wire.call(
            lambda: self._limits.take(limit, subject), lost=_cache_away, in_doubt=_cache_away
        )

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        return self._wire.call(
            lambda: self._limits.take_within(limit, subject, group_limit, group, is_spent=is_spent),
            lost=_cache_away,
            in_doubt=_cache_away,
        )


class FaultySwitches:
    """FakeSwitchStore behind a wire."""

    def __init__(self, store: SwitchStore, wire: Wire) -> None:
        self._store = store
        self._wire = wire

    def read(self) -> SwitchRow:
        return self._wire.call(self._store.read, lost=_table_away, in_doubt=_table_away)

    def put(self, state: SwitchState) -> None:
        self._wire.call(lambda: self._store.put(state), lost=_table_away, in_doubt=_table_away)

    def fix_unit(self) -> None:
        self._wire.call(self._store.fix_unit, lost=_table_away, in_doubt=_table_away)

    def put_limit(self, name: LimitName, value: int | None) -> None:
        self._wire.call(
            lambda: self._store.put_limit(name, value), lost=_table_away, in_doubt=_table_away
        )


class FaultySwitchCopy:
    """FakeSwitchCopy behind a wire."""

    def __init__(self, copy: SwitchCopy, wire: Wire) -> None:
        self._copy = copy
        self._wire = wire

    def find(self) -> SwitchesSeen | None:
        return self._wire.call(self._copy.find, lost=_cache_away, in_doubt=_cache_away)

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        self._wire.call(
            lambda: self._copy.keep(seen, for_ms), lost=_cache_away, in_doubt=_cache_away
        )
