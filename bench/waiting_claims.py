"""Payout queue and Lambda's pollers in virtual time, with the settings of template.yaml."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Self, TypeAlias

from bench.virtual import VirtualTime
from redpacket.packets.model.claim import ShareRef

Invoke: TypeAlias = Callable[[list[ShareRef]], set[ShareRef]]
"""Function that settles a batch and returns the claims that failed."""


@dataclass(frozen=True, slots=True)
class QueueTerms:
    """Settings of the queue and its event source mapping."""

    visibility_s: int
    receives_max: int
    batch_size: int

    @classmethod
    def of(cls, template: Mapping[str, Any]) -> Self:
        """Read the settings from the template."""
        resources = template["Resources"]
        queue = resources["PayoutQueue"]["Properties"]
        mapping = resources["PayoutFunctionClaims"]["Properties"]
        return cls(
            queue["VisibilityTimeout"],
            queue["RedrivePolicy"]["maxReceiveCount"],
            mapping["BatchSize"],
        )


@dataclass(slots=True)
class _Message:
    ref: ShareRef
    receive_count: int = 0


class PayoutQueue:
    """Model of PayoutQueue with visible, hidden, and dead messages."""

    def __init__(self, refs: Iterable[ShareRef], terms: QueueTerms, time: VirtualTime) -> None:
        self.dead: list[ShareRef] = []
        self.busy_s = 0.0
        self._terms = terms
        self._time = time
        self._visible = deque(_Message(ref) for ref in refs)
        self.claim_count = len({message.ref for message in self._visible})
        self._hidden: list[tuple[float, int, list[_Message]]] = []
        self._busy_count = 0
        self._busy_since_s = 0.0
        self._hidden_count = 0

    def work(self, invoke: Invoke, pause_s: Callable[[], float]) -> None:
        """Pass batches to *invoke* until the queue is empty, like one of Lambda's pollers."""
        while True:
            batch = self._receive()
            if batch:
                self._begin()
                self._time.sleep_s(pause_s())
                failed = invoke([message.ref for message in batch])
                # SQS hides messages from the time of receipt.
                # This model hides them from the end of the batch.
                again = [message for message in batch if message.ref in failed]
                self._hide(again, self._terms.visibility_s)
                self._end()
            elif self._hidden or self._busy_count:
                # Other batches may still fail, so sleep until their messages become visible.
                until_s = self._hidden[0][0] if self._hidden else self._time.now_s
                self._time.sleep_s(max(1.0, until_s - self._time.now_s))
            else:
                return

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims that become visible after *delay_s*."""
        self._hide([_Message(ref) for ref in refs], delay_s)

    def _receive(self) -> list[_Message]:
        while self._hidden and self._hidden[0][0] <= self._time.now_s:
            for message in heappop(self._hidden)[2]:
                if message.receive_count >= self._terms.receives_max:
                    self.dead.append(message.ref)
                else:
                    self._visible.append(message)
        count = min(self._terms.batch_size, len(self._visible))
        batch = [self._visible.popleft() for _ in range(count)]
        for message in batch:
            message.receive_count += 1
        return batch

    def _hide(self, messages: list[_Message], for_s: float) -> None:
        if messages:
            self._hidden_count += 1
            heappush(self._hidden, (self._time.now_s + for_s, self._hidden_count, messages))

    def _begin(self) -> None:
        if not self._busy_count:
            self._busy_since_s = self._time.now_s
        self._busy_count += 1

    def _end(self) -> None:
        self._busy_count -= 1
        if not self._busy_count:
            self.busy_s += self._time.now_s - self._busy_since_s
