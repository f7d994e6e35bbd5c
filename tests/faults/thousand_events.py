"""Events of a thousand claims, to receivers that are down, refuse events, or lose answers.

Functions crash before and after their table calls, streams are read twice, messages are repeated,
and one receiver is down for a while. Then each receiver's own list is compared with the claims. The
naive control posts each event to each receiver once, and never retries.

python -m tests.faults.thousand_events --count 1000 --seed 7
"""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from redpacket.events.messages import read_delivery
from redpacket.events.model.events import Event, EventType
from redpacket.platform.errors import RedPacketError
from testing.events.event_system import FAILED, OK, EventSystem, FakeReceiver
from testing.faulty import Killed
from tests.faults.thousand import Failing, run_command

PER_PACKET = 100
DIES = 0.01
REFUSES, LOSES_ITS_ANSWER = 0.05, 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of the events: at both receivers in the end, and at the working one before that."""

    claims: int
    events: int
    lost: int
    repeated: int
    changed_repeats: int
    live_late: int
    dead: int


class Town:
    """Users who claim, our functions, and a host's two receivers."""

    def __init__(self, count: int, seed: int) -> None:
        self.count, self.chance = count, random.Random(seed)
        self.events = EventSystem()
        self.down, self.live = self.events.receiver("down"), self.events.receiver("live")
        self.died_count = 0
        self.is_over = False
        self._unread: list[Any] = []

    def fail(self, receiver: FakeReceiver) -> None:
        """Make a receiver refuse some events, and store a few of the refused ones anyway."""

        def answers(_: Event) -> int:
            left = self.chance.random()
            return FAILED if left < REFUSES + LOSES_ITS_ANSWER else OK

        receiver.answers = answers
        receiver.keeps = lambda _, status: status == OK or self.chance.random() < LOSES_ITS_ANSWER

    def claim(self) -> None:
        """Let all users claim; the announcer and the deliverer run in between, and
        sometimes crash.
        """
        self.down.answers = lambda _: FAILED
        self.fail(self.live)
        for first in range(0, self.count, PER_PACKET):
            size = min(PER_PACKET, self.count - first)
            packet = self.events.system.send("ann", count=size, total_fen=100 * size)
            for number in range(size):
                self.events.system.grab(packet, f"user-{first + number}")
            self.events.system.settle()
            self.run_functions()

    def run_functions(self) -> None:
        """Read the stream, part of it twice, and deliver; retry the records and messages of killed
        functions.
        """
        taken = self.events.stream.take()
        self._unread += taken
        batch, self._unread = self._unread, []
        for start in range(0, len(batch), 100):
            records = batch[start : start + 100]
            if not self._dies(partial(self.events.announce, records)):
                self._unread += records if self.chance.random() < DIES else []
            else:
                self._unread += records
        # SQS redelivers the batch of a crashed function; here, the test puts the messages back.
        while self.events.queue.take(0) or self._ready():
            messages = list(self.events.queue.messages)
            if self._dies(lambda: self.events.deliver(batches=1)):
                left = {id(message) for message in self.events.queue.messages}
                self.events.queue.messages += [
                    message for message in messages if id(message) not in left
                ]
        self.events.system.pass_time(60_000)
        self._dies(self.events.retry)

    def _ready(self) -> bool:
        now_ms = self.events.clock.now_ms()
        return any(due_ms <= now_ms for due_ms, _ in self.events.queue.messages)

    def _dies(self, do: Callable[[], Any]) -> bool:
        if self.is_over:
            do()
            return False
        dying = Failing(self.events.system.dynamo, self.chance, dies=DIES)
        self.events.client = dying
        try:
            with suppress(RedPacketError):
                do()
        except Killed:
            return True
        finally:
            self.died_count += dying.failed_count
            self.events.client = self.events.system.dynamo
        return False

    def post_once(self) -> int:
        """Post each event once, as the naive control does; return the number of lost events."""
        messages = self.events.queue.take(10**9)
        for body in messages:
            delivery = read_delivery(body)
            webhook = self.events.process().find_webhook(delivery.webhook)
            self.events.sender.send(webhook, delivery.event, {})
        return len(messages) - len(self.down.seen) - len(self.live.seen)

    def heal(self) -> None:
        """Let the receiver recover, and advance the clock by more than 12 hours."""
        self.fail(self.down)
        for _ in range(30):
            self.run_functions()
        self.is_over = True
        self.down.answers = self.live.answers = lambda _: OK
        for _ in range(12):
            self.events.system.pass_time(3_600_000)
            self.run_functions()

    def figures(self, live_late: int) -> Figures:
        claims = {
            (told["subject"], told["data"]["share_no"])
            for told in self.down.of(EventType.PACKET_CLAIMED)
        }
        by_id: dict[str, set[str]] = {}
        for told in [*self.down.told, *self.live.told]:
            by_id.setdefault(told["id"], set()).add(json.dumps(told, sort_keys=True))
        packets = -(-self.count // PER_PACKET)
        expected = 2 * self.count + 3 * packets
        return Figures(
            claims=len(claims),
            events=len(self.down.seen),
            lost=2 * expected - len(self.down.seen) - len(self.live.seen),
            repeated=sum(times - 1 for times in self.down.seen.values()),
            changed_repeats=sum(len(forms) > 1 for forms in by_id.values()),
            live_late=live_late,
            dead=sum(
                self.events.process().waiting_list.count(name)[1] for name in ("down", "live")
            ),
        )


def run(count: int, seed: int) -> tuple[Town, Figures]:
    """Deliver the events of *count* claims; return the town, and the figures of both receivers."""
    town = Town(count, seed)
    town.claim()
    for _ in range(5):
        town.run_functions()
    packets = -(-count // PER_PACKET)
    live_late = 2 * count + 3 * packets - len(town.live.seen)
    town.heal()
    return town, town.figures(live_late)


def run_naively(count: int, seed: int) -> int:
    """Return the number of lost events if each is posted once."""
    town = Town(count, seed)
    packet = town.events.system.send("ann", count=count, total_fen=100 * count)
    for number in range(count):
        town.events.system.grab(packet, f"user-{number}")
    town.events.system.settle()
    town.fail(town.down)
    town.fail(town.live)
    town.events.announce()
    return town.post_once()


def figures_of(count: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Return the figures of both runs, and the violations."""
    town, figures = run(count, seed)
    print(f"Functions died at {town.died_count:,} calls.")
    naive_lost = run_naively(PER_PACKET, seed)
    wrong = []
    if figures.lost or figures.changed_repeats or figures.dead or figures.claims != count:
        wrong.append("an event was lost or changed")
    if town.died_count <= count // 20:
        wrong.append("too few functions died: this proves nothing")
    if not naive_lost:
        wrong.append("the control holds: this proves nothing")
    return {**asdict(figures), "naive_lost": naive_lost}, wrong


if __name__ == "__main__":
    run_command(figures_of)
