"""Workers that are killed between any two steps, or at any moment, and whose jobs are retried."""

import itertools
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from local.places import ROOT
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.redis.connect import connect
from testing.in_memory_system import LIFE_MS, InMemorySystem
from testing.platform.cloud import HOLD_MS, Cloud, a_cloud
from testing.platform.wall_clock import WallClock
from testing.reconciliation.checks import Told
from testing.reconciliation.ledger_state import read_ledger_state
from tests.faults.figures import Figures
from tests.faults.rush import LATE_MS, close_quietly

WORKERS = 3
VISIBILITY_TIMEOUT_S = 1

# Number of kill points of a job that completes: two per I/O.
STEPS = {"grab": 10, "settle": 28, "sweep": 60}
# Kill the control around the time at which it answers with an amount that the ledger lacks.
NAIVE_STEPS = range(6, 10)
JOB_MS = 25

Job = dict[str, Any]


class Workers:
    """Processes that run each job in a fork that may be killed."""

    def __init__(self, processes: list[subprocess.Popen[str]]) -> None:
        self._processes = processes
        self._free = threading.Semaphore(len(processes))
        self._idle = list(processes)
        self.ahead_ms = 0

    def run(self, **job: Any) -> Job:
        with self._free:
            process = self._idle.pop()
            try:
                assert process.stdin
                assert process.stdout
                process.stdin.write(json.dumps({"ahead_ms": self.ahead_ms, **job}) + "\n")
                process.stdin.flush()
                answer: Job = json.loads(process.stdout.readline())
            finally:
                self._idle.append(process)
        return answer

    def run_to_death(self, do: str, **job: Any) -> Job:
        """Kill the worker at one of its kill points, or after at most JOB_MS."""
        if job.get("is_naive"):
            return self.run(do=do, fuse=random.choice(NAIVE_STEPS), **job)
        if random.random() < 0.7:
            return self.run(do=do, fuse=random.randrange(STEPS[do]), **job)
        return self.run(do=do, die_in_ms=random.uniform(0, JOB_MS), **job)


@contextmanager
def some_workers(cloud: Cloud, queue_url: str) -> Iterator[Workers]:
    command = [sys.executable, "-m", "tests.faults.kill_worker"]
    command += [str(cloud.redis_port), queue_url]
    path = os.pathsep.join((str(ROOT / "shared"), str(ROOT)))
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": path, **cloud.environment()}
    processes = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(WORKERS)
    ]
    try:
        yield Workers(processes)
    finally:
        for process in processes:
            # The worker ends between two jobs when its input ends.
            process.communicate()


def kill(figures: Figures, *, is_quick: bool) -> None:
    """Kill workers that grab, settle, close and refund; check that each action takes effect
    once.
    """
    with a_cloud(HOLD_MS) as cloud:
        # Use a multiple of five users: five packets share them evenly, and all users get shares.
        _run(cloud, figures, 15 if is_quick else 150, is_naive=False)
        _run(cloud, figures, 20, is_naive=True)


def _run(cloud: Cloud, figures: Figures, users: int, *, is_naive: bool) -> None:
    queue_url, _ = cloud.make_queues(f"payouts-{is_naive}", VISIBILITY_TIMEOUT_S)
    dynamodb: Any = cloud.aws("dynamodb")
    cache = connect(
        "127.0.0.1", cloud.redis_port, has_tls=False, username="", password="", timeout_s=2
    )
    system = InMemorySystem()
    system._ids = itertools.count(1_000 * (1 + is_naive))
    system.clock = WallClock()
    system.stand_on(dynamodb)
    system.claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    sqs: Any = cloud.aws("sqs")
    system.payouts = SqsPayouts(lambda: sqs, queue_url, system.clock.now_ms)
    # Some packets are emptied, and closed by their last claim; a sweep closes the others.
    packets = [
        system.send(count=count, total_fen=10_000, life_ms=10 * LIFE_MS)
        for count in [users // 5] * 2 + [users // 4 + 3] * 3
    ]
    wrong: list[str] = []
    killed: list[Job] = []
    try:
        with some_workers(cloud, queue_url) as workers:
            grab = _grabbing(workers, packets, system.told, wrong, killed, is_naive=is_naive)
            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(grab, range(users)))
            if not is_naive:
                _end_under_fire(workers, dynamodb, killed)
    finally:
        close_quietly(cache)
    system.pass_time(LATE_MS)
    ledger_state = read_ledger_state(dynamodb, "accounts", "packets", "shares")
    differences = [
        *wrong,
        *(str(difference) for difference in ledger_state.differences(system.told)),
    ]
    if is_naive:
        figures.naive_violations += len(differences)
        return
    differences += [
        f"{facts.packet.packet_id} is {facts.packet.status}"
        for facts in ledger_state.packets
        if facts.packet.status is not PacketStatus.CLOSED
    ]
    figures.runs += 1
    figures.claims += len({(told.packet_id, told.user_id) for told in system.told})
    figures.faults += len(killed)
    figures.violations += differences


def _grabbing(
    workers: Workers,
    packets: list[Packet],
    told: list[Told],
    wrong: list[str],
    killed: list[Job],
    *,
    is_naive: bool,
) -> Callable[[int], None]:
    def grab(number: int) -> None:
        user_id, packet = f"user-{number}", packets[number % len(packets)]
        job = {"packet_id": packet.packet_id, "user_id": user_id, "is_naive": is_naive}
        for attempt in range(8):
            if attempt < 2:
                answer = workers.run_to_death("grab", **job)
            else:
                answer = workers.run(do="grab", **job)
            killed.extend([answer] * answer["is_killed"])
            if "share_no" in answer:
                told.append(
                    Told(packet.packet_id, user_id, answer["share_no"], answer["amount_fen"])
                )
                # The control's users stop after getting an amount; others call at least four times.
                if is_naive or attempt >= 3:
                    break
            elif answer["is_broken"] or answer.get("refused") not in {None, "unavailable"}:
                wrong.append(f"{user_id} met {answer}")
        if not is_naive:
            # Meanwhile, workers that settle and sweep are also killed.
            answer = workers.run_to_death(random.choice(("settle", "sweep")))
            killed.extend([answer] * answer["is_killed"])

    return grab


def _end_under_fire(workers: Workers, dynamodb: Any, killed: list[Job]) -> None:
    """Close, refund and settle with workers that are killed, then with others that are not."""
    ahead_ms = 11 * LIFE_MS
    for round_no in range(24):
        workers.ahead_ms = ahead_ms + round_no * 60_000
        for do in ("sweep", "settle", "settle"):
            answer = workers.run_to_death(do) if round_no < 12 else workers.run(do=do)
            killed.extend([answer] * answer["is_killed"])
    # A killed worker's message is visible again after the visibility timeout.
    for round_no in range(24, 60):
        workers.ahead_ms = ahead_ms + round_no * 60_000
        for _ in range(20):
            workers.run(do="settle")
        workers.run(do="sweep")
        ledger_state = read_ledger_state(dynamodb, "accounts", "packets", "shares")
        if all(facts.packet.status is PacketStatus.CLOSED for facts in ledger_state.packets):
            return
