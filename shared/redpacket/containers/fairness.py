"""Rounds of the public beacon, and the public log of commitments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container
from redpacket.fairness.use_cases.cached_rounds import CachedRounds

if TYPE_CHECKING:
    from redpacket.fairness.beacon_ports import Beacon, Rounds
    from redpacket.fairness.log_ports import HeadSigner, PublicLog
    from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
    from redpacket.fairness.use_cases.extend_log import LogPorts
    from redpacket.lottery.use_cases.edit_campaign import NewBeacon
    from redpacket.platform.runtime import InParallel

LOG_THREADS = 32
"""Concurrent reads and transactions of one append's places."""
_CALL_MS_MAX = 2_000
"""Timeout of a call to an endpoint; most answer within 100 ms."""


@dataclass(eq=False)
class FairnessContainer(Container):
    @cached_property
    def rounds(self) -> Rounds:
        from redpacket.fairness.dynamodb.rounds import DynamoRounds

        return DynamoRounds(self.dynamo)

    @cached_property
    def cached_rounds(self) -> CachedRounds:
        is_signed = self.is_round_signed
        return CachedRounds(lambda: self.rounds, clock=self.clock, is_signed=is_signed)

    def is_round_signed(self, chain_hash: str, beacon_round: BeaconRound) -> bool | None:
        """Return whether a round is its chain's; None if the chain is not the configured one."""
        if not self.settings.beacon_chain or self.beacon_chain.chain_hash != chain_hash:
            return None
        from redpacket.fairness.bls import PublicKey

        key = PublicKey(self.settings.beacon_public_key)
        return key.has_signed(beacon_round.round_no, beacon_round.signature)

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

        return partial(new_beacon, chain=self.beacon_chain, rounds=self.rounds, clock=self.clock)

    @cached_property
    def beacon(self) -> Beacon:
        from redpacket.fairness.clients.drand import DrandBeacon

        return DrandBeacon(
            self.settings.beacon_urls,
            self.beacon_chain,
            self.settings.beacon_public_key,
            logger=self.logger,
            call_ms_max=_CALL_MS_MAX,
            allows_private=bool(self.settings.simulator_url),
        )

    @cached_property
    def public_log(self) -> PublicLog:
        """Log, to which only the log function's role may append."""
        from redpacket.fairness.dynamodb.log import DynamoLog

        return DynamoLog(self.dynamo)

    @cached_property
    def head_signer(self) -> HeadSigner:
        from redpacket.fairness.clients.kms_signer import KmsSigner

        return KmsSigner(lambda: self.platform.aws("kms"), self.settings.log_key_id)

    @cached_property
    def log_in_parallel(self) -> InParallel:
        from redpacket.platform.threads import in_threads

        return partial(in_threads, threads=LOG_THREADS)

    @cached_property
    def log_ports(self) -> LogPorts:
        from redpacket.fairness.dynamodb.commitments import DynamoCommitments
        from redpacket.fairness.use_cases.extend_log import LogPorts

        return LogPorts(
            log=self.public_log,
            commitments=DynamoCommitments(self.dynamo),
            signer=self.head_signer,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.log_in_parallel,
        )
