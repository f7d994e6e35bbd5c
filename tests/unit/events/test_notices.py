"""Notices to users about their packets, prizes and withdrawals."""

from collections.abc import Iterable
from typing import Any

import pytest

from redpacket.lottery.model.lottery import PrizeKind
from redpacket.lottery.model.winners import Winner, WinnerStatus
from redpacket.platform.dynamodb.client import to_wire
from redpacket.users.dynamodb.notices import DynamoNotices, partition
from redpacket.users.model import KEPT_S, PAGE, NoticeKind, UserNotice
from testing.builders import a_campaign, a_prize
from testing.events.event_system import EventSystem
from testing.in_memory_system import LIFE_MS, an_operator
from testing.payments.payment_system import PaymentSystem


@pytest.fixture
def events() -> EventSystem:
    return EventSystem()


def notices_of(events: EventSystem, user_id: str) -> list[tuple[NoticeKind, str, int | None]]:
    page, _, _ = _repository(events).list_newest(user_id, None, events.clock.now_ms())
    return [(notice.kind, notice.subject, notice.amount_fen) for notice in page]


def _repository(events: EventSystem) -> DynamoNotices:
    repository: DynamoNotices = events.process().notices
    return repository


def _written(events: EventSystem) -> dict[str, object]:
    rows = events.system.dynamo.tables["audience"]
    return {str(key): dict(row) for key, row in rows.items() if "notices#" in str(key)}


# ---------------------------------------------------------------- notices


def test_an_emptied_packet_notifies_its_sender_and_the_luckiest_user_without_a_webhook(
    events: EventSystem,
) -> None:
    system = events.system
    packet = system.send("ann", count=3, total_fen=300)
    shares = system.grab_all(packet, "bob", "cat", "dan")
    system.settle()

    assert events.announce() == 0

    best = max(shares, key=lambda share: share.amount_fen)
    assert best.claimer
    assert notices_of(events, "ann") == [(NoticeKind.PACKET_EMPTIED, packet.packet_id, 300)]
    told = [(NoticeKind.BEST_LUCK, packet.packet_id, best.amount_fen)]
    lucky = {user: notices_of(events, user) for user in ("bob", "cat", "dan")}
    assert lucky == {user: told if user == best.claimer.user_id else [] for user in lucky}


def test_no_claim_writes_a_notice(events: EventSystem) -> None:
    packet = events.system.send("ann", count=3, total_fen=300)
    events.system.grab_all(packet, "bob", "cat")
    events.system.settle()

    events.announce()

    assert _written(events) == {}


def test_a_packet_that_ends_notifies_its_sender_of_the_refund(events: EventSystem) -> None:
    system = events.system
    packet = system.send("ann", count=4, total_fen=400)
    share = system.grab(packet, "bob").share
    system.settle()
    system.pass_time(LIFE_MS)
    for _ in range(2):
        system.sweep()

    events.announce()

    assert notices_of(events, "ann") == [
        (NoticeKind.PACKET_REFUNDED, packet.packet_id, 400 - share.amount_fen)
    ]
    assert notices_of(events, "bob") == []


def test_a_campaign_has_no_sender_to_notify(events: EventSystem) -> None:
    packet = events.system.send_in_shards(1, 2, 200)
    events.system.grab_all(packet, "bob", "cat")
    events.system.settle()

    events.announce()

    assert notices_of(events, packet.sender.user_id) == []
    kinds = {kind for user in ("bob", "cat") for kind, _, _ in notices_of(events, user)}
    assert kinds == {NoticeKind.BEST_LUCK}


def test_a_winner_is_notified_once_that_the_prize_was_sent(events: EventSystem) -> None:
    system = events.system
    system.campaigns.create(a_campaign(campaign_id="party"))
    system.put_prize(a_prize("party", "tea", kind=PrizeKind.GOODS, total=2))
    for user in ("bob", "cat"):
        assert system.draw("party", user, "key").draw.prize
    events.announce()
    assert notices_of(events, "bob") == []

    handed_over = _decide(events, 1, WinnerStatus.HANDED_OVER)
    forfeited = _decide(events, 2, WinnerStatus.FORFEITED)
    events.announce()

    assert notices_of(events, handed_over) == [(NoticeKind.PRIZE_SENT, "party", None)]
    assert notices_of(events, forfeited) == []
    assert events.aside == []


def _decide(events: EventSystem, unit_no: int, status: WinnerStatus) -> str:
    """Decide on a unit, and return its winner."""
    decide = events.system.process().decide_winner
    winner: Winner = decide("party", "tea", unit_no, status, "", an_operator())
    return winner.user_id


def test_users_are_notified_when_a_withdrawal_is_paid_or_returned(events: EventSystem) -> None:
    payments = PaymentSystem(events.system)
    for user in ("user", "poor"):
        events.system.deposit(user, 100)
    paid, unpaid = payments.withdraw("user", 100), payments.withdraw("poor", 100)
    events.announce()
    assert notices_of(events, "user") == []

    payments.cancel(unpaid)
    payments.dispatch()
    for _ in range(3):
        payments.system.pass_time(60_000)
        payments.sweep(60_000)
    events.announce()

    assert notices_of(events, "user") == [(NoticeKind.WITHDRAWAL_PAID, paid.withdrawal_id, 100)]
    assert notices_of(events, "poor") == [(NoticeKind.WITHDRAWAL_FAILED, unpaid.withdrawal_id, 100)]


def test_reading_a_stream_twice_writes_the_same_rows(events: EventSystem) -> None:
    packet = events.system.send("ann", count=2, total_fen=200)
    events.system.crowd(packet, 2)
    events.system.settle()
    records = events.stream.take()

    events.announce(records)
    first = _written(events)
    events.system.pass_time(60_000)
    events.announce(records)

    assert len(first) == 2
    assert _written(events) == first


# ---------------------------------------------------------------- reading


def _noted(events: EventSystem, at_ms: Iterable[int]) -> DynamoNotices:
    repository = _repository(events)
    for each in at_ms:
        repository.put(UserNotice("ann", NoticeKind.BEST_LUCK, each, "packet-1", 1))
    return repository


def test_all_notices_are_paged_and_only_the_newest_count_as_unread(events: EventSystem) -> None:
    now_ms, cursor, seen = events.clock.now_ms(), None, list[int]()
    repository = _noted(events, range(now_ms, now_ms + 45))

    unread_counts = []
    while True:
        page, unread, cursor = repository.list_newest("ann", cursor, now_ms)
        seen += [notice.at_ms for notice in page]
        unread_counts.append(unread)
        if cursor is None:
            break

    assert seen == [*reversed(range(now_ms, now_ms + 45))]
    assert unread_counts == [PAGE, 0, 0]


def test_notices_since_the_last_visit_are_unread(events: EventSystem) -> None:
    now_ms = events.clock.now_ms()
    repository = _noted(events, [now_ms, now_ms + 1])
    repository.mark_read("ann", now_ms + 1)
    before = repository.list_newest("ann", None, now_ms)

    _noted(events, [now_ms + 2])

    page, unread, more = repository.list_newest("ann", None, now_ms)
    assert (len(before[0]), before[1]) == (2, 0)
    assert ([notice.at_ms - now_ms for notice in page], unread, more) == ([2, 1, 0], 1, None)


def test_a_notice_is_shown_for_thirty_days(events: EventSystem) -> None:
    now_ms = events.clock.now_ms()
    repository = _noted(events, [now_ms])

    def shown(age_s: int) -> int:
        page, unread, _ = repository.list_newest("ann", None, now_ms + age_s * 1000)
        assert len(page) == unread
        return unread

    assert (shown(KEPT_S - 1), shown(KEPT_S + 1)) == (1, 0)


def test_an_erased_user_has_no_notices_and_their_rows_expire(events: EventSystem) -> None:
    now_ms = events.clock.now_ms()
    repository = _noted(events, [now_ms, now_ms + 1])
    repository.mark_read("ann", now_ms)

    repository.erase("ann", now_ms, events.system.in_parallel)

    assert repository.list_newest("ann", None, now_ms) == ([], 0, None)
    rows = _written(events).values()
    assert [set(row) for row in rows] == [{"pk", "sk", "expires_at_s"}] * 3  # type: ignore[call-overload]
    assert partition("ann")["pk"] in str(rows)


@pytest.mark.parametrize(
    "row",
    [
        {"sk": "1#thanked", "expires_at_s": 10**10},
        {"sk": "1#unknown#p#", "expires_at_s": 10**10},
        {"sk": "1#thanked#p#"},
        {"sk": "1#thanked#p#", "expires_at_s": "never"},
    ],
)
def test_a_notice_that_can_not_be_read_hides_no_other(
    events: EventSystem, row: dict[str, Any]
) -> None:
    """The grab and event roles may write any notice for any user."""
    now_ms = events.clock.now_ms()
    repository = _noted(events, [now_ms])
    wire = to_wire({**partition("ann"), **row})
    events.system.dynamo.put_item(TableName="audience", Item=wire)

    (notice,), unread, _ = repository.list_newest("ann", None, now_ms)

    assert (notice.at_ms, unread) == (now_ms, 1)
