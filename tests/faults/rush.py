"""Rush on packets: many threads, a real cache, the real use cases, and all answers to users."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import redis
from redis.exceptions import RedisClusterException

from redpacket.packets.errors import PacketEmptied, PacketExpired
from redpacket.packets.model.claim import Share, ShareRef, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.ports import ClaimCache
from redpacket.packets.split import share_amount_fen
from redpacket.platform import errors
from redpacket.platform.difference import Difference
from redpacket.platform.user import User
from testing.fakes import FakeDynamo, FakeShards, Item
from testing.in_memory_system import LIFE_MS, InMemorySystem
from testing.platform.wall_clock import WallClock
from testing.reconciliation.checks import Told

THREADS = 12
COMES_BACK = 0.15
LATE_MS = 20 * 60_000
"""I8: milliseconds after the last fault within which everything is settled and closed."""

LEDGER_LATENCY_S = (0.0005, 0.003)
"""Range of a ledger call's latency in seconds, each way, so that claims overlap cache failures."""


class SharedDynamo(FakeDynamo):
    """FakeDynamo for many threads, each call as slow as over the network. Calls are serialized,
    except while a transaction holds its items.
    """

    def __init__(self) -> None:
        super().__init__(self._let_others_in)
        self.is_far = True
        self._lock = threading.Lock()

    def get_item(self, **arguments: Any) -> Any:
        return self._call(super().get_item, arguments)

    def batch_get_item(self, **arguments: Any) -> Any:
        return self._call(super().batch_get_item, arguments)

    def put_item(self, **arguments: Any) -> None:
        self._call(super().put_item, arguments)

    def update_item(self, **arguments: Any) -> Any:
        return self._call(super().update_item, arguments)

    def transact_write_items(self, **arguments: Any) -> None:
        self._call(super().transact_write_items, arguments)

    def scan(self, **arguments: Any) -> Any:
        return self._call(super().scan, arguments)

    def query(self, **arguments: Any) -> Any:
        return self._call(super().query, arguments)

    def _call(self, do: Callable[..., Any], arguments: Item) -> Any:
        self._travel()
        with self._lock:
            answer: Any = do(**arguments)
        self._travel()
        return answer

    def _let_others_in(self) -> None:
        """Hold the items of a transaction for a while; other calls conflict meanwhile."""
        if self.is_far:
            self._lock.release()
            time.sleep(random.uniform(*LEDGER_LATENCY_S))
            self._lock.acquire()

    def _travel(self) -> None:
        if self.is_far:
            time.sleep(random.uniform(*LEDGER_LATENCY_S))


class RealTimeSystem(InMemorySystem):
    """Real-time system for many threads, with a real cache if one is given."""

    def __init__(self, claim_cache: ClaimCache | None = None) -> None:
        super().__init__()
        self.clock: WallClock = WallClock()
        self.dynamo: SharedDynamo = SharedDynamo()
        self.stand_on(self.dynamo)
        self.memory = FakeShards(self.clock)
        self.claim_cache = claim_cache or self.memory

    def send_some(self, number: int, count: int, **changes: Any) -> list[Packet]:
        """Send *number* lucky packets of *count* shares."""
        changes = {"total_fen": 100 * count, "count": count, "life_ms": 10 * LIFE_MS, **changes}
        return [self.send(**changes) for _ in range(number)]

    def settle_all(self) -> None:
        for _ in range(5):
            if self.queue.refs:
                self.queue.refs.extend(self.settle())


class NaiveClaimCache:
    """The usual design: check, take and record in separate commands, with keys on any node."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def take(self, packet: Packet, user_id: str) -> int | None:
        """Return the user's share number, or None if all are taken."""
        packet_id = packet.packet_id
        try:
            owned = self._client.hget(f"owners:{packet_id}", user_id)
            if owned:
                return int(owned)
            share_no = int(self._client.incr(f"next:{packet_id}"))
            if share_no > packet.terms.count:
                return None
            self._client.hset(f"owners:{packet_id}", user_id, share_no)
        except (redis.RedisError, RedisClusterException) as error:
            raise errors.Unavailable("the cache does not answer") from error
        return share_no

    def grab(self, system: InMemorySystem, packet: Packet, user_id: str) -> bool:
        """Answer when the cache does; the ledger is written later, unless the worker crashes."""
        share_no = self.take(packet, user_id)
        if share_no is None:
            raise PacketEmptied("All shares of this packet are taken.")
        amount_fen = share_amount_fen(packet.terms, share_no)
        system.told.append(Told(packet.packet_id, user_id, share_no, amount_fen))
        share = Share(
            packet.packet_id,
            share_no,
            ShareStatus.CLAIMED,
            amount_fen,
            system.clock.now_ms(),
            User(user_id),
        )
        system.recorder.record_claim(share)
        system.payouts.put([share.ref])
        return True


class Crowd:
    """Users who tap twice, retry after every 503, and repeat the request later."""

    def __init__(
        self,
        system: RealTimeSystem,
        packets: list[Packet],
        naive: NaiveClaimCache | None = None,
        *,
        pause_s: float = 0.002,
    ) -> None:
        self.system = system
        self.packets = packets
        self.naive = naive
        self.claims: list[tuple[float, float]] = []
        self.causes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._by_id = {packet.packet_id: packet for packet in packets}
        self._pause_s = pause_s
        self._taps = itertools.count()
        self._is_over = threading.Event()
        self._unanswered: list[tuple[Packet, str]] = []

    @contextmanager
    def grabbing(self) -> Iterator[Crowd]:
        """Let all users grab inside the block."""
        threads = [threading.Thread(target=self._grab_on, daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()

    def wait_for_claims(self, count: int, timeout_s: float = 20) -> None:
        """Wait until *count* more shares are claimed."""
        goal = len(self.claims) + count
        give_up_at = time.monotonic() + timeout_s
        while len(self.claims) < goal and time.monotonic() < give_up_at:
            time.sleep(0.002)

    def wait_until_served(self, since: float, timeout_s: float = 20) -> int | None:
        """Wait for a claim requested after *since*; return the ms from *since* to its answer."""
        give_up_at = time.monotonic() + timeout_s
        seen = 0
        while time.monotonic() < give_up_at:
            for asked_at, told_at in self.claims[seen:]:
                if asked_at >= since:
                    return round((told_at - since) * 1000)
                seen += 1
            time.sleep(0.001)
        self.wrong.append(f"no call was served within {timeout_s} s")
        return None

    def differences(self) -> list[Difference | str]:
        """Run the day to its end without faults; return all broken invariants."""
        system = self.system
        system.dynamo.is_far = system.clock.is_patient = False
        differences: list[Difference | str] = [*self.wrong]
        if not self.naive:
            self._everybody_asks(self._unanswered)
            told = {(answer.packet_id, answer.user_id) for answer in system.told}
            everybody = [(self._by_id[packet_id], user_id) for packet_id, user_id in told]
            self._everybody_asks(everybody)
            differences = [*self.wrong]
        self._end_the_day()
        if not self.naive:
            # The packets are closed, and owners still get their share.
            self._everybody_asks(random.sample(everybody, min(100, len(everybody))))
            differences = [*self.wrong]
        system.pass_time(LATE_MS)
        differences += system.differences(LATE_MS)
        differences += [
            f"{name}: {error}"
            for name, error in system.logger.errors
            if isinstance(error, errors.InvariantViolated)
        ]
        return differences

    def _end_the_day(self) -> None:
        system = self.system
        last_ms = max(packet.expires_at_ms for packet in self.packets)
        system.settle_all()
        system.pass_time(max(0, last_ms - system.clock.now_ms()) + 60_000)
        for _ in range(3):
            system.expire()
            system.repair()
            system.settle_all()
            system.pass_time(60_000)
            if all(f.packet.status is PacketStatus.CLOSED for f in system.ledger_state().packets):
                return

    def _grab_on(self) -> None:
        while not self._is_over.is_set():
            # Two taps of one user follow each other immediately, in two threads.
            user_id = f"user-{next(self._taps) // 2}"
            packet = self.packets[hash(user_id) % len(self.packets)]
            self._ask(packet, user_id)
            if not self.naive and random.random() < COMES_BACK:
                self._come_back()
            time.sleep(random.uniform(0, 2 * self._pause_s))

    def _come_back(self) -> None:
        """Let a user who got an amount repeat the request during the faults."""
        if told := self.system.told:
            answer = random.choice(told)
            packet = self._by_id[answer.packet_id]
            self._try(packet, answer.user_id, is_owner=True)

    def _ask(self, packet: Packet, user_id: str) -> None:
        """Retry until there is an answer, or the rush is over."""
        while not self._try(packet, user_id):
            if self._is_over.is_set():
                self._unanswered.append((packet, user_id))
                return
            time.sleep(random.uniform(0.005, 0.02))

    def _try(self, packet: Packet, user_id: str, *, is_owner: bool = False) -> bool:
        asked_at = time.monotonic()
        try:
            if self.naive:
                is_new = self.naive.grab(self.system, packet, user_id)
            else:
                is_new = self.system.grab(packet, user_id).is_new
        except errors.Unavailable as unavailable:
            cause = unavailable.__cause__
            self.causes[type(cause).__name__ if cause else str(unavailable)] += 1
            return False
        except (PacketEmptied, PacketExpired) as refusal:
            if is_owner:
                # The user got an amount before, so this answer breaks I5; `differences` reports it.
                self.wrong.append(f"{user_id} has a share and is told {refusal.code}")
            return True
        except errors.RedPacketError as refusal:
            self.wrong.append(f"{user_id} met {refusal!r}")
            return True
        except Exception as error:  # noqa: BLE001 - would be a 500
            self.wrong.append(f"{user_id} met {error!r}")
            return True
        if is_new:
            self.claims.append((asked_at, time.monotonic()))
        return True

    def _everybody_asks(self, asking: list[tuple[Packet, str]]) -> None:
        owners = {(answer.packet_id, answer.user_id) for answer in self.system.told}

        def ask(who: tuple[Packet, str]) -> None:
            packet, user_id = who
            is_owner = (packet.packet_id, user_id) in owners
            for _ in range(50):
                if self._try(packet, user_id, is_owner=is_owner):
                    return
                time.sleep(0.05)
            self.wrong.append(f"{user_id} never got an answer")

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(ask, asking))


def refs_of(system: InMemorySystem) -> list[ShareRef]:
    """Return every claim in the ledger."""
    return [
        share.ref
        for facts in system.ledger_state().packets
        for share in facts.shares
        if share.status is ShareStatus.CLAIMED
    ]


def close_quietly(*clients: Any) -> None:
    for client in clients:
        with contextlib.suppress(redis.RedisError):
            client.close()
