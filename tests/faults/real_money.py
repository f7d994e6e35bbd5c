"""Grabs while packets close, and one send that 64 clients request up to a thousand times."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.posting import post_operations
from redpacket.ledger.model import Transfer, TransferKind, packet_account, user_account
from redpacket.packets.model.claim import ShareStatus
from redpacket.packets.model.packet import Packet
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.expire_packets import expire_packets
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.errors import Busy, Unavailable
from redpacket.platform.runtime import in_threads
from testing.builders import list_shares
from testing.in_memory_system import InMemorySystem, an_order
from testing.platform.cloud import HOLD_MS, a_cloud
from testing.platform.servers import Address, some_servers
from tests.faults.figures import Figures
from tests.faults.real_cache import run_crowd
from tests.faults.rush import Crowd, RealTimeSystem, close_quietly

PACKETS = 20
LIFE_MS = 1_200
EARLY_MS = 400
"""Milliseconds by which the ledger's clock is fast: it closes packets whose shares the cache still
gives out.
"""

GRACE_MS = 30
"""Milliseconds; shorter than a claim may take here, so that many claims overlap the refund."""

CLOSING_S = 0.8
CLIENTS = 64


def refund(figures: Figures, *, is_quick: bool) -> None:
    """Close packets during grabs: paid and refunded amounts must add up to the total."""
    for _ in range(1 if is_quick else 10):
        with _a_race() as (crowd, system):
            run_crowd(figures, crowd, lambda crowd, figures: _close(system, crowd, figures))
    with _a_race() as (crowd, system):
        figures.naive_violations += _close_naively(system, crowd)


@contextmanager
def _a_race() -> Iterator[tuple[Crowd, RealTimeSystem]]:
    with some_servers() as start:
        client = Address(start()).client()
        try:
            system = RealTimeSystem(RedisShards(client, PUBLISHED_SEEDS))
            system.clock.is_patient = True
            packets = system.send_some(PACKETS, 100, life_ms=LIFE_MS)
            yield Crowd(system, packets, pause_s=0.001), system
        finally:
            close_quietly(client)


def _wait_until_due(system: RealTimeSystem, crowd: Crowd) -> None:
    first_ms = min(packet.expires_at_ms for packet in crowd.packets)
    time.sleep(max(0, first_ms - system.clock.now_ms() - EARLY_MS) / 1000)
    system.clock.at_ms = EARLY_MS


def _close(system: RealTimeSystem, crowd: Crowd, figures: Figures) -> None:
    """Run two concurrent sweeps repeatedly, and settle meanwhile."""
    over_at = time.monotonic() + LIFE_MS / 1000 + CLOSING_S

    def sweep() -> None:
        while time.monotonic() < over_at:
            ports = replace(system.sweep_ports(), grace_ms=GRACE_MS, in_parallel=in_threads)
            expire_packets(system.clock.now_ms() + 50_000, ports=ports)

    def settle() -> None:
        while time.monotonic() < over_at:
            system.queue.refs.extend(system.settle())
            time.sleep(0.01)

    _wait_until_due(system, crowd)
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(sweep), pool.submit(sweep), pool.submit(settle)]:
            done.result()
    figures.faults += len(crowd.packets)


def _close_naively(system: RealTimeSystem, crowd: Crowd) -> int:
    """Refund the shares that a read found unclaimed; return how many packets paid too much."""
    refunded_fen: dict[str, int] = {}
    with crowd.grabbing():
        _wait_until_due(system, crowd)
        for packet in crowd.packets:
            refunded_fen[packet.packet_id] = packet.terms.total_fen - _claimed_fen(system, packet)
            system.clock.sleep_ms(GRACE_MS)
            system.claim_cache.close(packet.packet_id)
    return sum(
        _claimed_fen(system, packet) + refunded_fen[packet.packet_id] > packet.terms.total_fen
        for packet in crowd.packets
    )


def _claimed_fen(system: InMemorySystem, packet: Packet) -> int:
    shares = list_shares(system.packets, packet.packet_id)
    return sum(share.amount_fen for share in shares if share.status is ShareStatus.CLAIMED)


def send(figures: Figures, *, is_quick: bool) -> None:
    """Send concurrently with one key: one debit, one packet, one answer."""
    _send_at_once(figures, RealTimeSystem(), 200 if is_quick else 1_000)
    with a_cloud(HOLD_MS) as cloud:
        system = RealTimeSystem()
        # Use the emulator's transactions, which conflict like DynamoDB's.
        system.dynamo = cloud.aws("dynamodb")
        system.stand_on(system.dynamo)
        _send_at_once(figures, system, 50)
    figures.naive_violations += _debits_of_naive_sends()


def _send_at_once(figures: Figures, system: RealTimeSystem, clients: int) -> None:
    order = an_order()
    system.deposit(order.sender.user_id, 10 * order.total_fen)
    start = threading.Barrier(min(CLIENTS, clients))
    packet_ids: list[str] = []
    busy: list[str] = []

    def ask() -> None:
        while True:
            try:
                packet_ids.append(system.send_order(order).packet_id)
            except (Busy, Unavailable) as error:
                busy.append(error.code)
                time.sleep(0.05)
            else:
                return

    def client(asks: int) -> None:
        start.wait()
        for _ in range(asks):
            ask()

    with ThreadPoolExecutor(CLIENTS) as pool:
        shares = [clients // start.parties] * start.parties
        shares[0] += clients - sum(shares)
        list(pool.map(client, shares))
    figures.runs += 1
    figures.faults += clients - 1 + len(busy)
    figures.violations += [str(difference) for difference in system.differences()]
    if len(packet_ids) != clients or len(set(packet_ids)) != 1:
        figures.violations.append(f"{clients} clients were told {len(set(packet_ids))} packets")
    if (debits := _debits(system)) != 1:
        figures.violations.append(f"{debits} debits")


def _debits(system: InMemorySystem) -> int:
    return sum(
        entry.kind is TransferKind.SEND and entry.amount_fen < 0
        for entry in system.ledger_state().entries
    )


def _debits_of_naive_sends() -> int:
    """Look for the key, then debit, then store the key; return the excess debits."""
    system = RealTimeSystem()
    order = an_order()
    system.deposit(order.sender.user_id, CLIENTS * order.total_fen)
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: _send_naively(system, order, number), range(CLIENTS)))
    return _debits(system) - 1


def _send_naively(system: RealTimeSystem, order: SendOrder, number: int) -> None:
    marker: dict[str, Any] = keys.request(order.sender.user_id, "send", order.request.key_hash)
    dynamo = system.ledger._dynamo
    if dynamo.get("packets", marker):
        return
    transfer = Transfer(
        f"send:{number}",
        TransferKind.SEND,
        user_account(order.sender.user_id),
        packet_account(str(number)),
        order.total_fen,
        system.clock.now_ms(),
    )
    try:
        dynamo.transact(post_operations("accounts", [transfer]))
    except Unavailable:
        return  # Too many conflicts: this call debits nothing.
    system.dynamo.put_item(
        TableName="packets", Item={name: {"S": value} for name, value in marker.items()}
    )
