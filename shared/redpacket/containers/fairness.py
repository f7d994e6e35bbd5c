"""Container for the public log of commitments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container, on_dynamo
from redpacket.fairness.dynamodb.commitments import DynamoCommitments
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.use_cases.extend_log import LogPorts
from redpacket.platform.runtime import InParallel, in_threads

if TYPE_CHECKING:
    from redpacket.fairness.ports import HeadSigner

LOG_THREADS = 32
"""Maximum concurrent reads and transactions while the log is extended."""


@dataclass(eq=False)
class FairnessContainer(Container):
    public_log = on_dynamo(DynamoLog)
    """Repository of the public log; only the log function's role may append entries."""

    @cached_property
    def head_signer(self) -> HeadSigner:
        from redpacket.fairness.clients.kms_signer import KmsSigner

        return KmsSigner(lambda: self.platform.aws("kms"), self.settings.log_key_id)

    @cached_property
    def log_in_parallel(self) -> InParallel:
        return partial(in_threads, threads=LOG_THREADS)

    @cached_property
    def log_ports(self) -> LogPorts:
        return LogPorts(
            log=self.public_log,
            commitments=DynamoCommitments(self.dynamo),
            signer=self.head_signer,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.log_in_parallel,
        )
