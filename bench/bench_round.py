"""What a winner costs more where a round of the beacon decides the amount, in CPU of the grab.

make bench-round

One process grabs through the production wiring on a real cache; the ledger is in memory and the
queue a list, which cost less than AWS does: the ratio of a real grab is nearer to 1. Medians of
interleaved rounds, each with packets of its own.
"""

from __future__ import annotations

import itertools
import json
import time
from functools import partial
from statistics import median

from bench.rounds import interleaved, ratio, spread
from local.ports import HOST
from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.connect import connect
from redpacket.adapters.redis.parted_claims import PartedClaims
from redpacket.domain.beacon import BeaconChain, BeaconRound, PacketBeacon
from redpacket.domain.campaign import Campaign
from redpacket.edge.wiring import Wiring
from redpacket.flows.beacon.new_rounds import NewRounds
from testing.builders import a_campaign
from testing.in_memory_system import InMemorySystem, a_person, an_order
from testing.servers import CACHE_TIMEOUT_S, some_servers

ROUNDS = 15
CLAIMS = 400
LIFE_MS = 3_600_000

_keys = itertools.count(1)


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        server = start()
        client = connect(
            HOST,
            server.port,
            has_tls=False,
            username="",
            password="",
            timeout_s=CACHE_TIMEOUT_S,
        )
        system = InMemorySystem()
        # The cache's clock is this machine's.
        system.clock.at_ms = time.time_ns() // 1_000_000
        system.claim_cache = PartedClaims(RedisClaims(client), clock=system.clock)
        campaign = a_campaign(
            starts_at_ms=system.clock.at_ms - 60_000,
            ends_at_ms=system.clock.at_ms + LIFE_MS,
            budget_left_fen=10**10,
        )
        assert system.campaigns.create(campaign)
        system.deposit("sender", 10**10)
        process = system.process()
        costs_us = interleaved(
            {
                "seed_us": partial(_grabs_us, system, process, campaign, by_round=False),
                "round_us": partial(_grabs_us, system, process, campaign, by_round=True),
            },
            ROUNDS,
        )
    for name, values in costs_us.items():
        print(f"{name:10} {spread(values)} us of the grab's CPU for a winner")
    figures = {name: round(median(values), 1) for name, values in costs_us.items()}
    # How many times as fast, and so the other way round.
    print(json.dumps({**figures, "winner": ratio(costs_us, "seed_us", "round_us")}))


def _grabs_us(
    system: InMemorySystem, process: Wiring, campaign: Campaign, *, by_round: bool
) -> float:
    """Return the CPU of a winner's grab of a packet by its seed, or by a round."""
    number = next(_keys)
    # Of its own: no packet's round comes before those of others.
    chain = BeaconChain(f"{number:064x}", system.clock.at_ms // 1000 - 1_000, 3)
    order = an_order(
        key=f"send-{number}",
        campaign=campaign,
        count=CLAIMS,
        total_fen=100 * CLAIMS,
        life_ms=LIFE_MS,
        takes_round=by_round,
    )
    rounds = NewRounds(chain, lambda: system.rounds, clock=system.clock)
    packet = system.process(new_rounds=rounds).send_packet(order)
    if by_round:
        round_no = PacketBeacon.parse(packet.terms.beacon).round_no
        system.rounds.keep(chain.chain_hash, BeaconRound(round_no, round_no.to_bytes(48)))
        system.clock.at_ms += 20_000
    # The packet's rules, its round and its split are read or computed once.
    process.grab_packet(packet.packet_id, a_person(f"first-{number}"), None)
    takers = [a_person(f"taker-{number}-{place}") for place in range(CLAIMS - 1)]
    began_s = time.process_time()
    for taker in takers:
        process.grab_packet(packet.packet_id, taker, None)
    used_s = time.process_time() - began_s
    if by_round:
        system.clock.at_ms -= 20_000
    return used_s / len(takers) * 1_000_000


if __name__ == "__main__":
    main()
