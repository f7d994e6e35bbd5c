"""Lambda worker that crashes: it forks for each job, and the fork is killed at the job's chosen
point.

python -m tests.faults.kill_worker CACHE_PORT QUEUE_URL

Reads one job per line, and answers each with one line: how the job's fork ended, and its report if
it made one.
"""

import json
import os
import signal
import sys
import time
from typing import Any

import botocore.session
import redis

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import RedPacketError
from redpacket.platform.redis.connect import connect
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.servers import CACHE_TIMEOUT_S
from testing.platform.wall_clock import WallClock
from tests.faults.rush import NaiveClaimCache

_MESSAGES = 5


class Fuse:
    """Counter that decreases before and after each I/O; at zero, the worker is killed."""

    def __init__(self, length: int | None) -> None:
        self._left = length

    def burn(self) -> None:
        if self._left is None:
            return
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


class Fused:
    """Client of an external service whose calls decrease the counter."""

    def __init__(self, client: Any, fuse: Fuse) -> None:
        self._client = client
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if isinstance(attribute, type) or not callable(attribute):
            return attribute

        def call(*args: Any, **options: Any) -> Any:
            self._fuse.burn()
            answer = attribute(*args, **options)
            self._fuse.burn()
            return answer

        return call


class Worker:
    """Worker that runs each job in a fork of this process."""

    def __init__(self, cache_port: int, queue_url: str) -> None:
        self._queue_url = queue_url
        # The client is created once, as in a warm worker, and does not connect before the fork.
        self._cache = connect(
            HOST, cache_port, has_tls=False, username="", password="", timeout_s=CACHE_TIMEOUT_S
        )
        self._usual = redis.Redis(host=HOST, port=cache_port, decode_responses=True)
        session = botocore.session.get_session()
        self._dynamodb = session.create_client("dynamodb")
        self._sqs = session.create_client("sqs")

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """Fork, let the child run *job*, and kill it at the chosen point, if any."""
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                os.close(reading)
                self._do(job, writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        if job.get("die_in_ms") is not None:
            time.sleep(job["die_in_ms"] / 1000)
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading) as answers:
            lines = answers.read().splitlines()
        _, status = os.waitpid(child, 0)
        # A job that was killed while it wrote its answer has reported nothing.
        told = json.loads(lines[0]) if lines and lines[0].endswith("}") else {}
        return {
            **told,
            "is_killed": os.WIFSIGNALED(status),
            "is_broken": os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0,
        }

    def _do(self, job: dict[str, Any], writing: int) -> None:
        fuse = Fuse(job.get("fuse"))
        system = InMemorySystem()
        system.clock = WallClock()
        system.clock.at_ms = job["ahead_ms"]
        dynamodb = Fused(self._dynamodb, fuse)
        system.stand_on(dynamodb)
        system.pages = DynamoPages(Dynamo(lambda: dynamodb, TABLE_NAMES))
        system.claim_cache = RedisShards(Fused(self._cache, fuse), PUBLISHED_SEEDS)
        sqs = Fused(self._sqs, fuse)
        system.payouts = SqsPayouts(lambda: sqs, self._queue_url, system.clock.now_ms)

        def report(**answer: Any) -> None:
            os.write(writing, f"{json.dumps(answer)}\n".encode())

        try:
            if job["do"] == "grab":
                self._grab(job, system, Fused(self._usual, fuse), report)
            elif job["do"] == "settle":
                self._settle(system, sqs)
            else:
                system.expire()
                system.repair()
        except RedPacketError as error:
            report(refused=error.code)

    @staticmethod
    def _grab(job: dict[str, Any], system: InMemorySystem, cache: Fused, report: Any) -> None:
        packet = system.packets.find_packet(job["packet_id"])
        assert packet
        if not job["is_naive"]:
            share = system.grab(packet, job["user_id"]).share
            report(share_no=share.share_no, amount_fen=share.amount_fen)
            return

        class Telling(list[Any]):
            def append(self, told: Any) -> None:
                report(share_no=told.share_no, amount_fen=told.amount_fen)

        system.told = Telling()
        NaiveClaimCache(cache).grab(system, packet, job["user_id"])

    def _settle(self, system: InMemorySystem, sqs: Fused) -> None:
        answer = sqs.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=_MESSAGES)
        named = {}
        for message in answer.get("Messages", []):
            body = json.loads(message["Body"])["body"]
            named[message["ReceiptHandle"]] = ShareRef(body["packet_id"], body["share_no"])
        failed = system.settle(list(named.values())) if named else set()
        for handle, ref in named.items():
            if ref not in failed:
                sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=handle)


def main() -> None:
    """Serve jobs until the input ends."""
    worker = Worker(int(sys.argv[1]), sys.argv[2])
    for line in sys.stdin:
        print(json.dumps(worker.run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
