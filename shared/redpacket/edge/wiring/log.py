"""Wiring of the public log, which one function extends and others read."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.packets import PacketRoom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.flows.log.extend_log import LogReport
    from redpacket.flows.log.read_log import InclusionProof, LogPage
    from redpacket.ports.log import Commitments, HeadSigner, LogBook

RESERVE_MS = 15_000
"""Milliseconds left to finish one transaction with retries, and one signature."""


class LogRoom(PacketRoom):
    """Wiring of flows/log."""

    @cached_property
    def log_book(self) -> LogBook:
        """Read-only log; only the log function may append."""
        from redpacket.adapters.dynamo.log import DynamoLog

        return DynamoLog(self.dynamo, self.settings.log_table)

    @cached_property
    def noted_commitments(self) -> Commitments:
        from redpacket.adapters.dynamo.commitments import DynamoCommitments

        return DynamoCommitments(self.dynamo, self.settings.commitments_table)

    @cached_property
    def head_signer(self) -> HeadSigner:
        from redpacket.adapters.aws.kms_signer import KmsSigner

        return KmsSigner(lambda: self.aws("kms"), self.settings.log_key_id)

    def extend_log(self, named: Sequence[str], time_left_ms: int) -> LogReport:
        """Append the named commitments and all other waiting ones, and sign the head."""
        from redpacket.adapters.dynamo.log import DynamoLog
        from redpacket.flows.log.extend_log import LogPorts, extend_log

        ports = LogPorts(
            book=DynamoLog(self.dynamo, self.settings.log_table, self.settings.commitments_table),
            commitments=self.noted_commitments,
            signer=self.head_signer,
            clock=self.clock,
            journal=self.journal,
        )
        return extend_log(named, self.clock.now_ms() + time_left_ms - RESERVE_MS, ports=ports)

    @cached_property
    def read_log(self) -> partial[LogPage]:
        from redpacket.flows.log.read_log import read_entries

        return partial(read_entries, book=self.log_book)

    @cached_property
    def prove_inclusion(self) -> partial[InclusionProof]:
        from redpacket.flows.log.read_log import prove_inclusion

        return partial(prove_inclusion, book=self.log_book)

    @cached_property
    def prove_consistency(self) -> partial[tuple[int, Sequence[bytes]]]:
        from redpacket.flows.log.read_log import prove_consistency

        return partial(prove_consistency, book=self.log_book)
