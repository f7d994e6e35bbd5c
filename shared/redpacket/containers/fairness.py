"""Public log and beacon rounds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.campaigns.use_cases.edit_campaign import NewBeacon
    from redpacket.fairness.beacon_ports import Beacon, Rounds
    from redpacket.fairness.log_ports import Commitments, HeadSigner, LogBook
    from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
    from redpacket.fairness.use_cases.cached_rounds import CachedRounds
    from redpacket.fairness.use_cases.extend_log import LogReport
    from redpacket.fairness.use_cases.fetch_rounds import FetchReport
    from redpacket.fairness.use_cases.read_log import InclusionProof, LogPage
    from redpacket.platform.runtime import InParallel


_CALL_MS_MAX = 2_000
"""Timeout of a call to an endpoint; most answer within 100 ms."""

LOG_THREADS = 32
"""Concurrent reads and transactions of one append's places."""

ROUNDS_RESERVE_MS = 10_000
"""Milliseconds left for the last round: each endpoint is tried once more."""

LOG_RESERVE_MS = 15_000
"""Milliseconds left to finish one transaction with retries, and one signature."""


@dataclass(eq=False)
class FairnessContainer(Container):
    """Public log and beacon rounds."""

    @cached_property
    def rounds(self) -> Rounds:
        from redpacket.fairness.dynamodb.rounds import DynamoRounds

        return DynamoRounds(self.dynamo, self.settings.transparency_table)

    @cached_property
    def cached_rounds(self) -> CachedRounds:
        from redpacket.fairness.use_cases.cached_rounds import CachedRounds

        return CachedRounds(lambda: self.rounds, clock=self.clock, is_signed=self.is_round_signed)

    def is_round_signed(self, chain_hash: str, found: BeaconRound) -> bool | None:
        """Return whether a round is its chain's; None if the chain is not the configured one."""
        if not self.settings.beacon_chain or self.beacon_chain.chain_hash != chain_hash:
            return None
        from redpacket.fairness.bls import PublicKey

        key = PublicKey(self.settings.beacon_public_key)
        return key.has_signed(found.round_no, found.signature)

    @cached_property
    def beacon_chain(self) -> BeaconChain:
        from redpacket.fairness.model.beacon import BeaconChain

        return BeaconChain.parse(self.settings.beacon_chain)

    @cached_property
    def new_beacon(self) -> NewBeacon | None:
        """Choice of rounds for a new campaign, or None without a configured beacon."""
        if not self.settings.beacon_chain:
            return None
        from redpacket.fairness.use_cases.new_beacon import new_beacon

        chain, rounds = self.beacon_chain, self.rounds
        return partial(new_beacon, chain=chain, rounds=rounds, clock=self.clock)

    @cached_property
    def beacon(self) -> Beacon:
        from redpacket.fairness.clients.drand import DrandBeacon

        return DrandBeacon(
            self.settings.beacon_urls,
            self.beacon_chain,
            self.settings.beacon_public_key,
            journal=self.journal,
            call_ms_max=_CALL_MS_MAX,
            allows_private=bool(self.settings.simulator_url),
        )

    def fetch_rounds(self, time_left_ms: int, wait_s: int | None = None) -> FetchReport:
        """Fetch, verify and store the rounds that become due in the time left, or in *wait_s*."""
        from redpacket.fairness.use_cases.fetch_rounds import fetch_rounds

        return fetch_rounds(
            time_left_ms - ROUNDS_RESERVE_MS if wait_s is None else wait_s * 1000,
            chain=self.beacon_chain,
            beacon=self.beacon,
            rounds=self.rounds,
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def log_book(self) -> LogBook:
        """Read-only log; only the log function may append."""
        from redpacket.fairness.dynamodb.log import DynamoLog

        return DynamoLog(self.dynamo, self.settings.log_table)

    @cached_property
    def noted_commitments(self) -> Commitments:
        from redpacket.fairness.dynamodb.commitments import DynamoCommitments

        return DynamoCommitments(self.dynamo, self.settings.commitments_table)

    @cached_property
    def head_signer(self) -> HeadSigner:
        from redpacket.fairness.clients.kms_signer import KmsSigner

        return KmsSigner(lambda: self.platform.aws("kms"), self.settings.log_key_id)

    @cached_property
    def log_in_parallel(self) -> InParallel:
        from redpacket.platform.threads import in_threads

        return partial(in_threads, threads=LOG_THREADS)

    def extend_log(self, named: Sequence[str], time_left_ms: int) -> LogReport:
        """Append the named commitments and all other waiting ones, and sign the head."""
        from redpacket.fairness.dynamodb.log import DynamoLog
        from redpacket.fairness.use_cases.extend_log import LogPorts, extend_log

        ports = LogPorts(
            book=DynamoLog(
                self.dynamo,
                self.settings.log_table,
                self.settings.commitments_table,
            ),
            commitments=self.noted_commitments,
            signer=self.head_signer,
            clock=self.clock,
            journal=self.journal,
            in_parallel=self.log_in_parallel,
        )
        return extend_log(named, self.clock.now_ms() + time_left_ms - LOG_RESERVE_MS, ports=ports)

    @cached_property
    def read_log(self) -> partial[LogPage]:
        from redpacket.fairness.use_cases.read_log import read_entries

        return partial(read_entries, book=self.log_book)

    @cached_property
    def prove_inclusion(self) -> partial[InclusionProof]:
        from redpacket.fairness.use_cases.read_log import prove_inclusion

        return partial(prove_inclusion, book=self.log_book)

    @cached_property
    def prove_consistency(self) -> partial[tuple[int, Sequence[bytes]]]:
        from redpacket.fairness.use_cases.read_log import prove_consistency

        return partial(prove_consistency, book=self.log_book)
