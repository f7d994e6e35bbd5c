"""Outgoing events: each one reaches its host, waits, or becomes a dead letter."""

import dataclasses
from collections.abc import Sequence

import pytest

from redpacket.events.errors import WebhookNotFound
from redpacket.events.model import webhooks
from redpacket.events.model.events import EventType
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.dynamodb import keys
from redpacket.platform.errors import InvalidRequest, Unavailable, VersionConflict
from redpacket.platform.restored import RESTORED
from testing.builders import a_campaign, a_prize
from testing.events.event_system import FAILED, OK, EventSystem, FakeReceiver
from testing.fakes import Away
from testing.in_memory_system import LIFE_MS, an_order
from testing.payments.payment_system import PaymentSystem


def a_scenario(count: int = 3) -> tuple[EventSystem, FakeReceiver]:
    """Send, empty and settle a packet; return the system and the receiver of its events."""
    events = EventSystem()
    receiver = events.receiver("shop")
    packet = events.system.send("ann", count=count, total_fen=100 * count)
    events.system.crowd(packet, count)
    events.system.settle()
    return events, receiver


def types(receiver: FakeReceiver) -> list[str]:
    return [event["type"].removeprefix("redpacket.") for event in receiver.told]


# ---------------------------------------------------------------- events


def test_events_of_a_packet_have_the_order_of_its_sequence() -> None:
    events, receiver = a_scenario(count=2)

    events.run()

    told = sorted(receiver.told, key=lambda event: event["sequence"])
    assert [event["type"].removeprefix("redpacket.") for event in told] == [
        "packet.sent",
        *["packet.claimed"] * 2,
        *["claim.settled"] * 2,
        "packet.emptied",
        "packet.closed",
    ]
    assert len({event["id"] for event in told}) == len(told)
    assert len({event["sequence"] for event in told}) == len(told)
    assert all(event["data"]["sender"] == "ann@host" for event in told)
    # The format is CloudEvents.
    sent = told[0]
    assert (sent["specversion"], sent["source"]) == ("1.0", "https://api.example")
    assert sent["subject"] == sent["data"]["packet_id"]
    assert sent["datacontenttype"] == "application/json"
    assert (sent["time"][-1], sent["sequence"]) == ("Z", "00000000")
    claimed = receiver.of(EventType.PACKET_CLAIMED)
    assert {event["data"]["user"] for event in claimed} == {"user-0@host", "user-1@host"}
    assert sum(event["data"]["amount_fen"] for event in claimed) == 200
    assert told[-1]["data"]["claimed_fen"] == 200
    assert events.aside == []


def test_a_restored_row_causes_no_events_until_it_changes() -> None:
    events = EventSystem()
    receiver = events.receiver("shop")
    packet = events.system.send(count=2, total_fen=200)
    events.system.grab(packet, "bob")
    events.run()
    shares = events.system.dynamo.tables["shares"]
    rows = {key: row for key, row in shares.items() if key[1].startswith(keys.SHARE_PREFIX)}

    def restore(mark: dict[str, dict[str, str]]) -> int:
        for key, row in rows.items():
            del shares[key]
            shares[key] = row | mark
        return events.announce()

    assert restore({}) == 1
    assert restore({RESTORED: {"N": "1"}}) == 0
    events.system.settle()
    events.run()
    assert types(receiver) == ["packet.sent", "packet.claimed", "claim.settled"]


def test_a_packet_that_ends_early_is_closed_and_not_emptied() -> None:
    events = EventSystem()
    receiver = events.receiver("shop")
    packet = events.system.send(count=4, total_fen=400)
    events.system.grab(packet, "bob")
    events.system.settle()
    events.system.pass_time(LIFE_MS)
    events.system.sweep()
    events.system.sweep()

    events.run()

    assert types(receiver).count("packet.emptied") == 0
    (closed,) = receiver.of(EventType.PACKET_CLOSED)
    assert closed["data"]["claimed_count"] == 1
    assert closed["data"]["refunded_count"] == 3
    assert closed["data"]["claimed_fen"] + closed["data"]["refunded_fen"] == 400


def test_reading_a_stream_twice_makes_the_same_ids() -> None:
    events, receiver = a_scenario()
    records = events.stream.take()

    for _ in range(2):
        events.announce(records)
        events.deliver()

    assert len(receiver.seen) == 1 + 3 + 3 + 2
    assert set(receiver.seen.values()) == {2}


def test_a_failing_queue_of_cards_does_not_block_webhooks() -> None:
    events = EventSystem()
    events.receiver("shop")
    order = an_order("ann")
    events.system.deposit("ann", order.total_fen)
    sender = dataclasses.replace(order.sender, chat_id="pigeon:g-1")
    packet = events.system.send_order(dataclasses.replace(order, sender=sender))
    events.system.grab(packet, "bob")
    refused: list[Sequence[str]] = []

    def fail(packet_ids: Sequence[str], _at_ms: int) -> None:
        refused.append(packet_ids)
        raise Unavailable("the queue of cards")

    process = events.process(edit_cards=fail)
    changes = [process.read_change(record) for record in events.stream.take()]
    with pytest.raises(Unavailable):
        process.announce([change for change in changes if change])

    assert refused == [[packet.packet_id]]
    assert len(events.queue.messages) == 2


def test_without_a_webhook_nothing_is_read_or_queued() -> None:
    events = EventSystem()
    events.system.grab(events.system.send(count=1), "bob")

    assert events.announce() == 0
    assert events.queue.messages == []


def test_a_win_is_reported_by_its_draw_and_its_money_by_the_settlement() -> None:
    events = EventSystem()
    system = events.system
    receiver = events.receiver("shop")
    system.campaigns.create(a_campaign(campaign_id="party"))
    system.deposit("operator", 1_000)
    system.put_prize(a_prize("party", "cash", kind=PrizeKind.PACKET, amount_fen=88, total=1))
    assert system.draw("party", "bob", "key").draw.prize
    system.settle()

    events.run()

    assert sorted(types(receiver)) == ["claim.settled", "draw.won"]
    (won,) = receiver.of(EventType.DRAW_WON)
    assert won["data"]["user"] == "bob@host"
    assert won["data"]["amount_fen"] == 88


def test_payments_and_withdrawals_are_reported_once_they_are_final() -> None:
    events = EventSystem()
    payments = PaymentSystem(events.system)
    receiver = events.receiver("shop")
    for user in ("user", "poor"):
        events.system.deposit(user, 100)
    payments.pay_in("user", 500)
    paid = payments.withdraw("user", 100)
    events.run()
    assert types(receiver) == ["payment.paid"]

    payments.dispatch()
    payments.system.pass_time(60_000)
    payments.sweep(60_000)
    events.run()

    (payment,) = receiver.of(EventType.PAYMENT_PAID)
    assert payment["data"]["user"] == "user@host"
    (withdrawal,) = receiver.of(EventType.WITHDRAWAL_PAID)
    assert withdrawal["data"]["amount_fen"] == 100
    assert withdrawal["subject"] == paid.withdrawal_id


def test_an_unreadable_record_is_set_aside_and_delays_no_other() -> None:
    events, receiver = a_scenario(count=1)
    records = events.stream.take()
    broken = next(
        record for record in records if record["dynamodb"]["Keys"].get("sk") == {"S": "packet"}
    )
    image = {
        name: value for name, value in broken["dynamodb"]["NewImage"].items() if name != "terms"
    }
    records.insert(0, {**broken, "dynamodb": {**broken["dynamodb"], "NewImage": image}})

    events.announce(records)
    events.deliver()

    assert len(events.aside) == 1
    assert len(receiver.seen) == 5


def test_an_unreadable_packet_does_not_delay_events_of_others() -> None:
    events, receiver = a_scenario(count=1)
    records = events.stream.take()
    claims = [record for record in records if "fate" in record["dynamodb"].get("NewImage", {})]
    other = events.system.send(count=1)
    events.system.grab(other, "bob")
    claims += [
        record for record in events.stream.take() if "fate" in record["dynamodb"]["NewImage"]
    ]
    row = events.system.row("packets", keys.packet(other.packet_id))
    terms = row.pop("terms")

    events.announce(claims)
    events.deliver()

    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in events.aside] == [
        keys.share(other.packet_id, 1)["pk"]
    ]
    assert {event["data"]["packet_id"] for event in receiver.told} != {other.packet_id}
    assert len(receiver.told) == 2
    row["terms"] = terms


def test_a_claim_with_an_impossible_time_delays_no_other_event() -> None:
    events, receiver = a_scenario(count=1)
    records = events.stream.take()
    claim = next(record for record in records if "fate" in record["dynamodb"].get("NewImage", {}))
    image = claim["dynamodb"]["NewImage"] | {"decided_at_ms": {"N": str(10**30)}}
    image |= {"sk": {"S": keys.share("p", 2)["sk"]}}
    forged = {**claim, "dynamodb": {**claim["dynamodb"], "NewImage": image}}

    events.announce([forged, *records])
    events.deliver()

    assert events.aside == [forged]
    assert len(receiver.seen) == 5


# ---------------------------------------------------------------- users


def test_an_event_waits_until_the_host_id_of_its_user_is_available() -> None:
    events = EventSystem()
    receiver = events.receiver("shop", EventType.PACKET_CLAIMED)
    packet = events.system.send(count=2)
    events.system.grab(packet, "new")
    events.run()
    assert receiver.asked_count == 0

    events.system.settle()
    events.system.pass_time(2_000)
    events.deliver()

    (claimed,) = receiver.told
    assert claimed["data"]["user"] == "new@host"
    assert claimed["data"]["user_token"] == "new"


def test_a_user_who_stays_unknown_is_null() -> None:
    events = EventSystem()
    receiver = events.receiver("shop", EventType.PACKET_CLAIMED)
    events.system.grab(events.system.send(count=2), "new")
    events.announce()
    events.system.pass_time(webhooks.PERSON_MS_MAX)

    events.deliver()

    assert receiver.told[0]["data"]["user"] is None


def test_queue_and_list_hold_no_host_id_and_an_erased_user_stays_erased() -> None:
    events, receiver = a_scenario(count=1)
    receiver.answers = lambda _: FAILED
    events.announce()
    assert "@host" not in str(events.queue.messages)
    events.deliver()
    assert "@host" not in str(dict(events.system.dynamo.tables["webhooks"]))

    del events.system.dynamo.tables["profiles"]["user-0", ""]
    receiver.answers = lambda _: OK
    events.system.pass_time(3_600_000)
    events.retry()

    assert len(receiver.seen) == 5
    assert "user-0@host" not in str(receiver.told)
    assert "ann@host" in str(receiver.told)


# ---------------------------------------------------------------- failing receivers


def test_rejected_events_wait_and_arrive_when_the_receiver_recovers() -> None:
    events, receiver = a_scenario(count=20)
    receiver.answers = lambda _: FAILED
    events.run()
    assert receiver.seen == {}
    assert events.queue.messages == []

    receiver.answers = lambda _: OK
    events.system.pass_time(3_600_000)
    report = events.retry()

    assert report.delivered_count == len(receiver.seen) == 1 + 20 + 20 + 2
    assert set(receiver.seen.values()) == {1}
    assert events.retry().delivered_count == 0


def test_a_failing_receiver_is_paused_and_others_are_not_affected() -> None:
    events = EventSystem()
    dead, live = events.receiver("dead"), events.receiver("live")
    dead.answers = lambda _: 0
    packet = events.system.send(count=100, total_fen=10_000)
    events.system.crowd(packet, 100)
    events.system.settle()

    events.run()

    assert len(live.seen) == 1 + 100 + 100 + 2
    # Only batches that started before the pause called the receiver.
    assert dead.asked_count <= webhooks.FAILURES_MAX * 10
    assert events.process().find_webhook("dead").paused_until_ms > events.clock.now_ms()
    assert events.system.logger.events.count("webhook_paused") == 1


def test_one_delivery_must_succeed_before_all_others_are_sent() -> None:
    events, receiver = a_scenario(count=20)
    receiver.answers = lambda _: FAILED
    packet = events.system.send(count=50, total_fen=5_000)
    events.system.crowd(packet, 50)
    events.system.settle()
    events.run()
    asked_before = receiver.asked_count

    events.system.pass_time(3_600_000)
    events.retry()

    assert receiver.asked_count == asked_before + 1


def test_a_slow_receiver_is_called_only_by_the_sweep() -> None:
    events = EventSystem()
    slow = events.receiver("slow")
    slow.duration_ms = 4_000
    first = events.system.send(count=1)
    events.run()
    assert slow.asked_count == 1

    events.system.grab(first, "bob")
    events.system.settle()
    events.run()
    assert slow.asked_count == 1

    events.retry()
    assert len(slow.seen) == 5


def test_a_single_refused_event_does_not_pause_its_receiver() -> None:
    events, receiver = a_scenario(count=30)
    receiver.answers = lambda event: 422 if event.kind is EventType.PACKET_SENT else OK

    events.run()

    assert len(receiver.seen) == 30 + 30 + 2
    assert not events.process().find_webhook("shop").paused_until_ms


def test_after_a_day_a_delivery_is_a_dead_letter_and_a_replay_sends_it_under_its_id() -> None:
    events, receiver = a_scenario(count=1)
    receiver.answers = lambda _: FAILED
    events.run()
    for _ in range(30):
        events.system.pass_time(3_600_000)
        for _ in range(10):
            events.retry()
    process = events.process()
    assert process.waiting_list.count("shop") == (0, 5)
    assert events.system.logger.events.count("delivery_given_up") == 5
    dead = {delivery.event.event_id for delivery in process.waiting_list.list_dead("shop", 10)}

    receiver.answers = lambda _: OK
    asked_before = receiver.asked_count
    events.retry()
    assert receiver.asked_count == asked_before, "a dead letter is for an operator"
    assert process.replay_dead("shop", bool) == (5, True)
    for _ in range(2):
        events.system.pass_time(900_000)
        events.retry()

    assert set(receiver.seen) == dead
    assert events.process().waiting_list.count("shop") == (0, 0)


@pytest.fixture
def off() -> tuple[EventSystem, FakeReceiver]:
    """Return a disabled webhook that has five pending events."""
    events, receiver = a_scenario(count=1)
    events.announce()
    _turn(events, is_on=False)
    events.deliver()
    return events, receiver


def _turn(events: EventSystem, *, is_on: bool) -> None:
    url = "https://shop.example/events"
    events.process().put_webhook("shop", url, list(EventType), bool, is_on=is_on)


def test_events_of_a_disabled_webhook_are_sent_after_it_is_enabled(
    off: tuple[EventSystem, FakeReceiver],
) -> None:
    events, receiver = off
    events.system.send(count=1)
    events.run()
    assert receiver.asked_count == 0
    assert events.process().waiting_list.count("shop") == (5, 0)

    _turn(events, is_on=True)
    events.retry()

    # Events that were created while the webhook was disabled are not sent.
    assert len(receiver.seen) == 5


def test_events_of_a_disabled_webhook_become_dead_letters_after_a_day(
    off: tuple[EventSystem, FakeReceiver],
) -> None:
    events, _ = off
    events.system.pass_time(webhooks.GIVEN_UP_AFTER_MS)

    assert events.retry().dead_count == 5
    assert events.process().waiting_list.count("shop") == (0, 5)


def test_a_delivery_whose_row_can_t_be_written_is_retried() -> None:
    events, receiver = a_scenario(count=1)
    events.announce()
    client = events.system.dynamo
    events.client = Away(client, "update_item")
    receiver.answers = lambda _: FAILED
    events.deliver(batches=1)
    events.client = client
    receiver.answers = lambda _: OK
    events.system.pass_time(360_000)
    events.deliver()

    assert len(receiver.seen) == 5


# ---------------------------------------------------------------- edits


def test_a_secret_is_shown_once_and_an_edit_resets_failures() -> None:
    events = EventSystem()
    process = events.process()
    url = "https://shop.example"

    made, secret = process.put_webhook("shop", url, [EventType.DRAW_WON], bool, is_on=True)
    edited, again = process.put_webhook("shop", url + "/2", [EventType.DRAW_WON], bool, is_on=True)

    assert secret
    assert again is None
    assert edited.secrets == made.secrets
    assert edited.version == made.version + 1


def test_both_secrets_sign_for_a_day() -> None:
    events = EventSystem()
    events.receiver("shop")
    process = events.process()
    process.rotate_secret("shop", bool)
    webhook = process.find_webhook("shop")
    now_ms = events.clock.now_ms()

    assert len(webhook.signing(now_ms)) == 2
    assert len(webhook.signing(now_ms + webhooks.BOTH_SIGN_MS)) == 1
    assert webhook.signing(now_ms + webhooks.BOTH_SIGN_MS)[0].until_ms is None


def test_one_of_two_concurrent_edits_is_refused() -> None:
    events = EventSystem()
    events.receiver("shop")
    process = events.process()
    seen = process.find_webhook("shop")
    process.rotate_secret("shop", bool)

    assert not process.webhook_repository.put(dataclasses.replace(seen, version=2), seen)
    assert not process.webhook_repository.put(seen, None)


def test_errors_of_an_edit_are_reported_and_not_stored() -> None:
    events = EventSystem()
    process = events.process()
    noted: list[str] = []

    def note() -> None:
        noted.append("noted")

    def put(name: str, url: str) -> None:
        process.put_webhook(name, url, [EventType.DRAW_WON], note, is_on=True)

    with pytest.raises(InvalidRequest):
        put("shop", "http://shop.example")
    for act in (process.find_webhook, process.test_webhook):
        with pytest.raises(WebhookNotFound):
            act("shop")
    for edit in (process.rotate_secret, process.replay_dead):
        with pytest.raises(WebhookNotFound):
            edit("shop", note)
    for number in range(webhooks.WEBHOOKS_MAX):
        events.receiver(f"shop-{number}")
    with pytest.raises(InvalidRequest):
        put("more", "https://more.example")
    assert VersionConflict.code == "version_conflict"
    assert noted == []
    put("shop-1", "https://shop.example")
    process.rotate_secret("shop-1", note)
    process.replay_dead("shop-1", note)
    assert len(noted) == 3


def test_a_test_event_is_sent_at_once_and_is_not_counted() -> None:
    events = EventSystem()
    receiver = events.receiver("shop")
    receiver.answers = lambda _: FAILED

    made = events.process().test_webhook("shop")

    assert not made.is_ok
    assert events.process().find_webhook("shop").failure_count == 0
