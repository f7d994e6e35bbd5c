"""Public log of commitments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.containers.container import Container
from redpacket.fairness.clients.kms_signer import KmsSigner
from redpacket.fairness.dynamodb.commitments import DynamoCommitments
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.log_ports import HeadSigner, LogBook
from redpacket.fairness.use_cases.extend_log import LogPorts
from redpacket.platform.runtime import InParallel
from redpacket.platform.threads import in_threads

LOG_THREADS = 32
"""Concurrent reads and transactions of one append's places."""


@dataclass(eq=False)
class PublicLogContainer(Container):
    """Public log of commitments."""

    @cached_property
    def log_book(self) -> LogBook:
        """Log, to which only the log function's role may append."""
        return DynamoLog(self.dynamo)

    @cached_property
    def head_signer(self) -> HeadSigner:
        return KmsSigner(lambda: self.platform.aws("kms"), self.settings.log_key_id)

    @cached_property
    def log_in_parallel(self) -> InParallel:
        return partial(in_threads, threads=LOG_THREADS)

    @cached_property
    def log_ports(self) -> LogPorts:
        """Ports of the log function, which alone may append."""
        return LogPorts(
            book=self.log_book,
            commitments=DynamoCommitments(self.dynamo),
            signer=self.head_signer,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.log_in_parallel,
        )
