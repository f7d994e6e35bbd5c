"""Outgoing events of the in-memory system: streams, the queue, and receivers that may fail."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redpacket.events.api.deliveries import announce_batch, deliver_batch
from redpacket.events.messages import delivery_message, read_delivery
from redpacket.events.model.events import SUBSCRIBED, Event, EventType, cloud_event
from redpacket.events.model.webhooks import Delivery, DeliveryAttempt, SealedSecret, Webhook
from redpacket.events.use_cases.deliver import RetryReport
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvalidRequest
from testing.fakes import FakeClock
from testing.in_memory_system import InMemorySystem, one_by_one
from testing.platform.fake_tables import TABLE_NAMES, FakeStream
from testing.platform.process import Process

OK, FAILED = 204, 503


class FakeReceiver:
    """Endpoint of a host: *answers* returns the status for an event, and *keeps* whether the host
    stores the event.
    """

    def __init__(self) -> None:
        self.answers: Callable[[Event], int] = lambda _: OK
        self.keeps: Callable[[Event, int], bool] = lambda _, status: status == OK
        self.duration_ms = 10
        self.seen: Counter[str] = Counter()
        self.asked_count = 0
        self.told: list[dict[str, Any]] = []

    def take(self, event: Event, told: dict[str, Any]) -> int:
        self.asked_count += 1
        status = self.answers(event)
        if self.keeps(event, status):
            self.seen[event.event_id] += 1
            self.told.append(told)
        return status

    def of(self, kind: EventType) -> list[dict[str, Any]]:
        return [message for message in self.told if message["type"] == kind]


class FakeSender:
    """Sender that uses no network and does not encrypt secrets."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.receivers: dict[str, FakeReceiver] = {}
        self._made = 0

    def check(self, url: str) -> None:
        if not url.startswith("https://"):
            raise InvalidRequest([{"field": "url", "message": "is not https"}])

    def new_secret(self, name: str, url: str) -> tuple[str, SealedSecret]:
        self._made += 1
        return f"whsec_{self._made}", SealedSecret(f"sealed-{self._made}", "hash")

    def sealed_for(self, webhook: Webhook, url: str) -> tuple[SealedSecret, ...]:
        return webhook.secrets

    def send(self, webhook: Webhook, event: Event, host_ids: Mapping[str, str]) -> DeliveryAttempt:
        receiver = self.receivers[webhook.url]
        status = receiver.take(event, cloud_event(event, "https://api.example", host_ids))
        now_ms = self._clock.now_ms()
        return DeliveryAttempt(event.event_id, event.kind, now_ms, status, receiver.duration_ms)


class FakeDeliveryQueue:
    """In-memory DeliveryQueue of texts, each of which becomes visible after a delay."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.messages: list[tuple[int, str]] = []

    def put(self, deliveries: Iterable[Delivery], *, delay_s: int = 0) -> None:
        due_ms = self._clock.now_ms() + delay_s * 1_000
        self.messages += [(due_ms, delivery_message(delivery)) for delivery in deliveries]

    def take(self, limit: int) -> list[str]:
        now_ms = self._clock.now_ms()
        ready = [message for message in self.messages if message[0] <= now_ms][:limit]
        for message in ready:
            self.messages.remove(message)
        return [body for _, body in ready]


class EventSystem:
    """Streams, announcer, queue, deliverer and sweep; *system* has the users and the money."""

    def __init__(self, system: InMemorySystem | None = None) -> None:
        self.system = system or InMemorySystem()
        self.clock = self.system.clock
        self.stream = FakeStream()
        self.system.dynamo.stream = self.stream
        self.queue = FakeDeliveryQueue(self.clock)
        self.sender = FakeSender(self.clock)
        self.aside: list[Mapping[str, Any]] = []
        # DynamoDB client that the functions use; a suite may replace it.
        self.client: Any = self.system.dynamo

    def process(self, **given: Any) -> Process:
        """Return a process that has just started; *given* replaces members."""
        return self.system.process(
            dynamo=Dynamo(lambda: self.client, TABLE_NAMES, pause_s=lambda _: None),
            delivery_queue=self.queue,
            event_sender=self.sender,
            dead_letter=self.aside.append,
            many_receivers=one_by_one,
            **given,
        )

    def receiver(self, name: str, *kinds: EventType) -> FakeReceiver:
        """Make a webhook with its receiver, for all events or for *kinds*."""
        url = f"https://{name}.example/events"
        self.sender.receivers[url] = receiver = FakeReceiver()
        self.process().put_webhook(name, url, kinds or SUBSCRIBED, bool, is_on=True)
        return receiver

    def announce(self, records: list[Any] | None = None) -> int:
        """Announce the stream's records, or *records*; return the number of queued deliveries."""
        process = self.process()
        return announce_batch(
            self.stream.take() if records is None else records,
            read=process.read_change,
            announce=process.announce,
            dead_letter=process.dead_letter,
            logger=process.logger,
        )["queued_count"]

    def deliver(self, batches: int = 1_000) -> None:
        """Deliver the visible messages; failed ones are queued again."""
        for _ in range(batches):
            bodies = self.queue.take(10)
            if not bodies:
                return
            process = self.process()
            records = [
                {"messageId": str(number), "body": body} for number, body in enumerate(bodies)
            ]
            answer = deliver_batch(
                records, read=read_delivery, deliver=process.deliver, logger=process.logger
            )
            failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
            again_ms = self.clock.now_ms() + 360_000
            self.queue.messages += [(again_ms, bodies[int(number)]) for number in failed]

    def run(self) -> None:
        """Announce and deliver once."""
        self.announce()
        self.deliver()

    def retry(self, for_ms: int = 50_000) -> RetryReport:
        """Retry deliveries once, as the one-minute schedule does."""
        stop_at_ms = self.clock.now_ms() + for_ms
        retried: RetryReport = self.process().retry_deliveries(stop_at_ms=stop_at_ms)
        return retried
