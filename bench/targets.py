"""Every bench, the figures of its last line, and their targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = float | bool | None
"""None where a machine lacks what would be measured, such as PostgreSQL."""

Line: TypeAlias = Mapping[str, Any]
"""The last line of a bench."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a figure."""

    says: str
    is_reached: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a bench's line, by its *key* there."""

    key: str
    says: str
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench, `make bench-<name>`; *derive* adds figures that follow from others."""

    name: str
    title: str
    says: str
    figures: Sequence[Figure]
    derive: Callable[[Line], dict[str, Value]] = lambda _: {}


def at_least(bound: float) -> Target:
    """Return the target of a figure that should be large."""
    return Target(f"at least {bound:,}", lambda value: value >= bound)


def at_most(bound: float) -> Target:
    """Return the target of a figure that should be small."""
    return Target(f"at most {bound:,}", lambda value: value <= bound)


IS_SO = Target("yes", bool)
BEHIND = Target("below 1", lambda value: value < 1)
MISSES = Target("below 4,000", lambda value: value < 4_000)  # noqa: PLR2004 - else it proves nothing


def _slowest_part(line: Line) -> dict[str, Value]:
    if line.get("split_s") is None or line.get("load_s") is None:
        return {}
    return {"split_and_load_s": line["split_s"] + line["load_s"]}


PEERS = ("separate", "lock", "watch", "postgres", "postgres_async")


def _best_peer(line: Line) -> dict[str, Value]:
    peers = [line[name] for name in PEERS if line.get(name) is not None]
    if not peers or not line.get("adapter"):
        return {}
    return {"best_peer": max(peers) / line["adapter"]}


BENCHES = (
    Bench(
        "claim",
        "A claim in the cache",
        (
            "CPU of the server, relative to an empty script in the same rounds (1.00): more is "
            "faster. Scripts 003 and 001 (`bench/originals.py`) are those of two systems that keep "
            "shares as text."
        ),
        (
            Figure("limit_rps", "the limit: calls a second of an empty script"),
            Figure("win", "a winner's script"),
            Figure("ask_and_win", "all that the first winner of a process asks"),
            Figure("win_over_seed003", "a winner, relative to a usual script (003)", at_least(1.1)),
            Figure("sold_out", "a loser of an emptied packet", at_least(0.5)),
            Figure("repeat", "an owner who asks again", at_least(0.5)),
            Figure("whole_win_us", "a whole claim in a rush: microseconds, one request at a time"),
            Figure("whole_script_us", "the script alone, in the same way"),
            Figure("whole_win_003_us", "peer: a usual script (003), in the same way"),
            Figure("whole_win_over_003", "a whole claim in a rush, relative to 003", at_least(1.0)),
            Figure("whole_lose_us", "a whole loser: microseconds, one request at a time"),
            Figure("whole_lose_003_us", "peer: a loser of 003, in the same way"),
            Figure("whole_lose_over_003", "a whole loser, relative to 003's", at_least(1.1)),
            Figure("seed003", "peer: a usual script, 003"),
            Figure("seed001", "peer: another one, 001"),
        ),
    ),
    Bench(
        "peers",
        "Other ways to claim",
        (
            "Claims a second from 4 processes in Python, relative to one script that redis-py "
            "calls (1.00). The adapter is what production uses; the ledger makes claims durable "
            "before they are told, which is not counted here."
        ),
        (
            Figure("script", "one script, called by redis-py; not durable"),
            Figure("adapter", "the adapter, all that a claim asks; not durable", at_least(0.8)),
            Figure("separate", "peer: three separate commands; not durable", BEHIND),
            Figure("lock", "peer: a lock in Redis; not durable", BEHIND),
            Figure("watch", "peer: WATCH and MULTI; not durable", BEHIND),
            Figure("postgres_async", "peer: PostgreSQL, SKIP LOCKED; commits later", BEHIND),
            Figure("postgres", "peer: PostgreSQL, SKIP LOCKED; durable", BEHIND),
            Figure("best_peer", "the fastest of these peers, relative to the adapter", BEHIND),
            Figure("claims_per_s_4_processes", "claims a second, one script by redis-py"),
            Figure(
                "adapter_claims_per_s_4_processes",
                "claims a second through the adapter",
                at_least(25_000),
            ),
        ),
        _best_peer,
    ),
    Bench(
        "memory",
        "Memory of the cache",
        "Bytes by which the server grows for 100,000 claims, and MEMORY USAGE of a packet.",
        (
            Figure("bytes_per_claim", "bytes of a claim", at_most(70)),
            Figure("bytes_per_claim_uuid", "bytes of a claim by a user id of 36 characters"),
            Figure("bytes_per_claim_seed003", "peer: of script 003"),
            Figure("bytes_per_claim_seed001", "peer: of script 001"),
            Figure("bytes_loaded_10", "bytes of a loaded packet of 10 shares", at_most(140)),
        ),
    ),
    Bench(
        "growth",
        "A claim of a large packet",
        "Server CPU of a winner's script, by the packet's shares.",
        (
            Figure("10000", "microseconds, of 10,000 shares"),
            Figure("100000", "microseconds, of 100,000 shares"),
            Figure("1000000", "microseconds, of 1,000,000 shares"),
            Figure("growth", "the largest relative to the smallest", at_most(1.1)),
        ),
    ),
    Bench(
        "reads",
        "What pages read",
        (
            "Strong reads of a crowd together, and read units of one request at most, by the sizes "
            "of what it reads: packets of 10 to 20,000 shares, and of 100,000 in parts. Record "
            "pages count packets, fates, takers and sums; a process remembers profiles for ten "
            "seconds, so those of its first view are a figure of their own."
        ),
        (
            Figure("flush_strong_reads", "strong reads of 200 threads after a flush", at_most(5)),
            Figure("late_strong_reads", "of 200 threads at an expired packet", at_most(0)),
            Figure("unknown_id_strong_reads", "of 1,500 requests with made-up ids", at_most(0)),
            Figure("record_rcu_max", "a record page while its packet is open", at_most(6)),
            Figure("final_rcu_max", "a record page of a closed packet", at_most(2)),
            Figure("profile_rcu_max", "profiles of a process's first view, 100 claims"),
            Figure("campaign_rcu_max", "a campaign's page, 100 prizes, 20,000 wins", at_most(1)),
            Figure("received_rcu_max", "a page of what a user received, of 20,000 items"),
        ),
    ),
    Bench(
        "send",
        "A packet of 1,000,000 shares",
        "From its terms to the cache.",
        (
            Figure("split_s", "seconds to split it"),
            Figure("load_s", "seconds to load it"),
            Figure("split_and_load_s", "seconds for both", at_most(1.0)),
            Figure("live_s", "seconds for a share that is split when it is claimed"),
            Figure("peak_mb", "megabytes at the most"),
        ),
        _slowest_part,
    ),
    Bench(
        "refund",
        "The refund of a packet in parts",
        "Of a packet of which 100 were taken, in invocations that end early and go on.",
        (
            Figure("shares", "shares"),
            Figure("invocations", "invocations"),
            Figure("transactions_per_share", "transactions a share", at_most(0.05)),
            Figure("refunded_per_s", "shares a second"),
        ),
    ),
    Bench(
        "sweep",
        "A sweep of small packets",
        (
            "Packets of ten shares, one of them claimed, of 80 senders: refunded and closed by one "
            "sweep, against the emulator, which takes most of the time; a call waits 10 ms more."
        ),
        (
            Figure("packets", "packets"),
            Figure("packets_per_s_per_sweep", "packets a second"),
            Figure("packets_per_s_one_by_one", "packets a second, one after the other"),
            Figure("ratio", "faster than one after the other"),
            Figure("cpu_ms_per_packet", "milliseconds of CPU a packet", at_most(25)),
            Figure("calls_per_packet", "calls of DynamoDB a packet", at_most(5)),
        ),
    ),
    Bench(
        "cold",
        "A cold start",
        (
            "Milliseconds of CPU in a new process: until a function's first command to a server, "
            "and of a whole first grab, with TLS to the cache, DynamoDB and SQS."
        ),
        (
            Figure(
                "grab_ms", "milliseconds of CPU, grab of a loser: the cache's client", at_most(200)
            ),
            Figure(
                "loser_ms",
                "milliseconds of CPU, a loser's whole first grab, with TLS",
                at_most(200),
            ),
            Figure(
                "winner_ms",
                "milliseconds of CPU, a winner's whole first grab, with TLS",
                at_most(200),
            ),
            Figure("botocore_winner_ms", "the same with botocore's clients"),
            Figure("payout_ms", "milliseconds of CPU, payout"),
            Figure("baseline_ms", "importing redis and botocore alone"),
            Figure("ratio", "a loser's grab relative to that", at_most(1.3)),
            Figure("winner_ratio", "a winner's whole first grab relative to that"),
        ),
    ),
    Bench(
        "flow",
        "From HTTP to the ledger",
        "On the local stack: the deployed template, with an emulator for AWS.",
        (
            Figure("grab_rps", "grabs a second"),
            Figure("bare_rps", "a bare handler with one call to the cache, a second"),
            Figure("ratio", "grab relative to that", at_least(0.8)),
            Figure("p50_ms", "milliseconds of a grab, median"),
            Figure("p99_ms", "milliseconds of a grab, 99 of 100"),
            Figure("settled_per_s", "claims settled a second"),
            Figure("transactions_per_claim", "transactions a settled claim", at_most(0.1)),
            Figure("failed_batches", "batches that conflicts made come again", at_most(0)),
        ),
    ),
    Bench(
        "settle",
        "Settling one packet, with conflicts",
        (
            "100,000 claims of one packet, queued at once, in virtual time: the real flow over a "
            "model of DynamoDB whose transactions take 20 to 80 ms and conflict, and whose "
            "partitions have their limits. The control is one escrow row, as version 0.1.0 had it, "
            "with 20,000 claims."
        ),
        (
            Figure("claims_per_s", "claims settled a second, 20 payouts", at_least(4_000)),
            Figure("claims_per_s_40", "the same, 40 payouts", at_least(8_000)),
            Figure("dlq", "claims that went to the DLQ", at_most(0)),
            Figure("naive_claims_per_s", "control: one escrow row, 20 payouts", MISSES),
            Figure("naive_dlq", "control: claims that went to the DLQ, of 20 and 40 payouts"),
            Figure("wcu_per_claim", "write units a claim, claimed and settled", at_most(13)),
        ),
    ),
    Bench(
        "hot",
        "A hot packet, cut into parts",
        "On a cluster: claims for a second of the busiest node's CPU.",
        (
            Figure("nodes", "nodes"),
            Figure("one_part_rps", "claims a second, not cut"),
            Figure("parts_rps", "claims a second, cut"),
            Figure("ratio", "cut relative to not cut"),
            Figure("winners", "winners of a packet that was emptied"),
            Figure("exact", "every share handed out once, each user once", IS_SO),
        ),
    ),
    Bench(
        "round",
        "A winner whose amount takes a round of the beacon",
        "CPU of the grab, on a real cache and a ledger in memory.",
        (
            Figure("seed_us", "us of a rain's winner by the seed alone"),
            Figure("round_us", "us of a rain's winner by a round"),
            Figure("winner", "by a round relative to by the seed", at_most(1.05)),
        ),
    ),
    Bench(
        "reconcile",
        "A reconciliation of a million claims",
        "Tables made up page by page, six rows a claim. CPU of one process, which is killed once.",
        (
            Figure(
                "rows_1000000", "rows, each read once, except those of the page that was cut off"
            ),
            Figure("cpu_s_1000000", "s of a processor"),
            Figure("rows_per_s_1000000", "rows a second of a processor"),
            Figure("invocations_1000000", "invocations of a minute"),
            Figure("was_killed_1000000", "killed and taken up", IS_SO),
            Figure("read_units_1000000", "read units"),
            Figure("peak_rss_mib_1000000", "MiB at the peak", at_most(128)),
            Figure("grown_mib", "MiB more than for 10,000 claims", at_most(32)),
            Figure("state_kb_1000000", "KB of the row that keeps the place", at_most(300)),
        ),
    ),
    Bench(
        "draw",
        "A draw of a lottery",
        "CPU of the server, relative to an empty script in the same rounds (1.00).",
        (
            Figure("limit_rps", "the limit: calls a second of an empty script"),
            Figure("lose_10", "a miss, of 10 prizes"),
            Figure("win_10", "a win, of 10 prizes"),
            Figure("lose_100", "a miss, of 100 prizes"),
            Figure("win_100", "a win, of 100 prizes"),
        ),
    ),
    Bench(
        "page",
        "The page on a slow phone",
        (
            "Chromium behind a slow 4G (1.6 Mbit/s, 150 ms) with a processor slowed down four "
            "times, and a stand-in for the API that answers after 50 ms."
        ),
        (
            Figure("page_kb", "KB of all views, compressed", at_most(60)),
            Figure("element_kb", "KB of the element for other pages, compressed", at_most(20)),
            Figure("operator_kb", "KB of the operators' console, compressed", at_most(40)),
            Figure("usable_ms", "milliseconds until a packet can be opened", at_most(1_500)),
            Figure("axe_serious", "serious findings of axe", at_most(0)),
        ),
    ),
)

# What README.md quotes, and README.zh-CN.md in these words.
QUOTED = {
    ("claim", "whole_win_over_003"): "缓存中的一次领取：抢的高峰期，相对于脚本 003 的速度",
    ("claim", "sold_out"): "缓存中的一次领取：红包已抢完时的落空请求，相对于空脚本的速度",
    ("peers", "adapter_claims_per_s_4_processes"): "与其他领取方式对比：经适配器每秒领取次数",
    ("memory", "bytes_per_claim"): "缓存内存：每次领取占用的字节数",
    ("cold", "grab_ms"): "冷启动：落空的抢请求消耗的 CPU 毫秒数（到缓存客户端就绪）",
    ("flow", "transactions_per_claim"): "从 HTTP 到账本：每次入账的事务数",
}
