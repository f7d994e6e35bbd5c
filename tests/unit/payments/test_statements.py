from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from local.gateways.records import Line
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.model.provider import (
    StatementKind,
    StatementLine,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import LEASE_MS
from redpacket.payments.use_cases.compare_statements import EDGE_MS
from redpacket.platform.errors import InvalidRequest, InvariantViolated, RedPacketError, Unavailable
from testing.payments.fake_gateway import FakePaymentsIn
from testing.payments.payment_system import PaymentSystem
from testing.reconciliation.checks import check_outside

DAY_MS = 86_400_000
HOST, WECHAT = ProviderName.HOST, ProviderName.WECHAT


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    # Noon in China, so that no line is near midnight.
    start_ms = statement_day_start_ms(statement_day(town.clock.now_ms()))
    town.clock.at_ms = start_ms + DAY_MS // 2
    return town


@pytest.fixture
def day(town: PaymentSystem) -> str:
    return statement_day(town.clock.now_ms())


def _move(town: PaymentSystem) -> None:
    """Make payments, a refund and a transfer."""
    town.pay_in("user", 500)
    second = town.pay_in("other", 70)
    town.pay_again(second)
    town.withdraw("user", 100)
    town.dispatch(1_000)
    town.sweep_after(LEASE_MS)


def test_a_day_that_agrees_has_no_differences(town: PaymentSystem, day: str) -> None:
    _move(town)
    town.system.pass_time(DAY_MS)

    report = town.compare_statement(day)

    assert report
    assert (report.line_count, report.followed_count) == (5, 0)
    assert report.differences == ()


def test_a_day_without_a_statement_is_not_compared(town: PaymentSystem, day: str) -> None:
    assert town.compare_statement(day) is None


@pytest.mark.parametrize("failing", [HOST, WECHAT])
@pytest.mark.parametrize("error", [Unavailable, InvalidRequest, None])
def test_an_unavailable_gateway_does_not_delay_comparisons_of_others(
    town: PaymentSystem, failing: ProviderName, error: type[RedPacketError] | None
) -> None:
    class Away(FakePaymentsIn):
        def read_statement(self, day: str) -> list[StatementLine] | None:
            if error is None:
                return None
            raise error([]) if error is InvalidRequest else error("away")

    working = WECHAT if failing is HOST else HOST
    town.gates_in = {
        channel: (Away if channel is failing else FakePaymentsIn)(town.gateway)
        for channel in (HOST, WECHAT)
    }
    town.gates_out = {}
    town.gateway.book.append(Line("payment", "x" * 32, "outside", 777, town.clock.now_ms()))
    process = town.system.process(
        payment_ports=town.payments,
        withdrawal_ports=town.transfers,
    )
    town.system.pass_time(DAY_MS)

    reports = process.compare_statements(stop_at_ms=town.clock.now_ms() + 60_000)

    assert list(reports) == [HOST, WECHAT]
    assert reports[failing] == []
    (compared,) = reports[working]
    assert [difference.expected for difference in compared.differences] == [777]
    events = town.system.logger.events
    assert [events.count(name) for name in ("bill_not_compared", "bill_differs")] == [1, 1]
    assert ("bill_not_read" in [name for name, _ in town.system.logger.errors]) == bool(error)


class _Schedule:
    """Comparison runs for two providers; *away* names the days whose statement cannot be read."""

    def __init__(self, town: PaymentSystem) -> None:
        self.town = town
        self.away: dict[tuple[ProviderName, str], Exception | None] = {}
        schedule = self

        class Bill(FakePaymentsIn):
            def read_statement(self, day: str) -> list[StatementLine] | None:
                (channel,) = [name for name, gate in town.gates_in.items() if gate is self]
                if (channel, day) not in schedule.away:
                    return super().read_statement(day)
                error = schedule.away[channel, day]
                if error:
                    raise error
                return None

        town.gates_in = {channel: Bill(town.gateway) for channel in (HOST, WECHAT)}
        town.gates_out = {}
        self.process = town.system.process(
            payment_ports=town.payments,
            withdrawal_ports=town.transfers,
        )

    def run(self, hour: int, days: int = 0, **event: Any) -> dict[ProviderName, list[str]]:
        """Advance *days*, and run at *hour*; return the compared days, keyed by provider."""
        clock = self.town.clock
        start_ms = statement_day_start_ms(statement_day(clock.now_ms())) + days * DAY_MS
        clock.at_ms = start_ms + hour * 3_600_000
        by_channel = self.process.compare_statements(stop_at_ms=clock.now_ms() + 60_000, **event)
        return {
            channel: [report.day for report in reports] for channel, reports in by_channel.items()
        }

    def late(self) -> list[str]:
        """Return the late providers, and reset the log."""
        lines = self.town.system.logger.lines
        told = [line for line in lines if line.startswith("bill_differs")]
        lines.clear()
        return [name for line in told for name in ProviderName if f"'{name}'" in line]


@pytest.fixture
def schedule(town: PaymentSystem) -> _Schedule:
    return _Schedule(town)


def _days(day: str, *offsets: int) -> list[str]:
    return [statement_day(statement_day_start_ms(day) + offset * DAY_MS) for offset in offsets]


def test_the_first_run_starts_with_yesterday_and_each_run_of_a_day_compares_it(
    schedule: _Schedule, day: str
) -> None:
    assert schedule.run(11, 1) == {HOST: [day], WECHAT: [day]}
    assert schedule.run(15) == {HOST: [day], WECHAT: [day]}
    assert schedule.run(11, 1) == {HOST: _days(day, 1), WECHAT: _days(day, 1)}
    assert schedule.run(15, 4)[HOST] == _days(day, 2, 3, 4, 5)
    assert schedule.run(15, day=day)[HOST] == [day]
    assert schedule.late() == []


@pytest.mark.parametrize("error", [Unavailable("away"), None])
def test_days_of_an_unavailable_provider_are_compared_later_and_are_late_until_then(
    schedule: _Schedule, day: str, error: Exception | None
) -> None:
    first, second, third = _days(day, 0, 1, 2)
    schedule.away = {(WECHAT, name): error for name in (first, second)}

    assert schedule.run(11, 1) == {HOST: [first], WECHAT: []}
    assert schedule.late() == []
    assert schedule.run(14) == {HOST: [first], WECHAT: []}
    assert schedule.late() == [WECHAT]
    assert schedule.run(11, 1) == {HOST: [second], WECHAT: []}
    # The first day now counts as late at any hour.
    assert schedule.late() == [WECHAT]
    del schedule.away[WECHAT, second]
    assert schedule.run(11, 1) == {HOST: [third], WECHAT: [second, third]}
    assert schedule.late() == [WECHAT]
    schedule.away = {}
    assert schedule.run(15) == {HOST: [third], WECHAT: [first, second, third]}
    assert schedule.late() == []


def test_a_provider_that_is_far_behind_catches_up_by_seven_days_and_yesterday_is_always_compared(
    schedule: _Schedule, day: str
) -> None:
    schedule.run(11, 1)

    assert schedule.run(11, 10)[HOST] == [*_days(day, 1, 2, 3, 4, 5, 6), *_days(day, 10)]
    assert schedule.late() == [HOST, WECHAT]
    assert schedule.run(15)[HOST] == _days(day, 7, 8, 9, 10)
    assert schedule.late() == []


def test_a_compared_day_in_the_future_is_reported_and_ends_no_comparison(
    schedule: _Schedule, day: str
) -> None:
    schedule.run(11, 1)
    row = schedule.town.system.row("payments", payment_keys.provider_row(WECHAT, "statements"))
    row["compared_day"] = {"S": "2099-01-01"}

    assert schedule.run(11, 1)[WECHAT] == _days(day, 1)
    assert schedule.late() == [WECHAT]
    assert schedule.run(11, 1)[WECHAT] == _days(day, 2)
    assert schedule.late() == []


def test_a_row_that_marks_yesterday_as_compared_does_not_stop_a_run_from_comparing_it(
    schedule: _Schedule, day: str
) -> None:
    schedule.run(15, 1)
    for number in (1, 2, 3):
        row = schedule.town.system.row("payments", payment_keys.provider_row(WECHAT, "statements"))
        (yesterday,) = _days(day, number)
        row["compared_day"] = {"S": yesterday}

        assert schedule.run(11, 1)[WECHAT] == [yesterday]


def test_a_run_without_time_compares_nothing_and_skips_nothing(
    schedule: _Schedule, day: str
) -> None:
    schedule.run(11, 1)
    schedule.town.system.pass_time(DAY_MS)

    assert schedule.process.compare_statements(stop_at_ms=0) == {HOST: [], WECHAT: []}
    assert schedule.run(15)[HOST] == _days(day, 1)


def test_an_operator_skips_a_day_whose_statement_is_missing(schedule: _Schedule, day: str) -> None:
    schedule.away = {(WECHAT, day): Unavailable("gone")}
    schedule.run(15, 1)
    schedule.late()
    assert schedule.run(15, day=day)[WECHAT] == []
    assert schedule.late() == []
    assert schedule.run(15)[WECHAT] == []
    assert schedule.late() == [WECHAT]

    schedule.run(15, day=day, may_skip=True)

    assert schedule.run(15) == {HOST: [day], WECHAT: []}
    assert schedule.late() == []


@pytest.mark.parametrize("error", [InvariantViolated("contradicts"), KeyError("bug")])
def test_a_contradiction_is_reported_at_once_and_raised_after_all_providers(
    schedule: _Schedule, day: str, error: Exception
) -> None:
    schedule.away = {(HOST, day): error}

    with pytest.raises(type(error)):
        schedule.run(11, 1)

    assert schedule.late() == [HOST]
    schedule.away = {}
    assert schedule.run(11) == {HOST: [day], WECHAT: [day]}


@pytest.mark.parametrize("kind", ["payment", "refund", "transfer"])
@pytest.mark.parametrize("hours", [11, 13, 24, 35, 48, -13, -24])
def test_a_line_in_the_statements_of_two_days_is_reported(
    town: PaymentSystem, day: str, kind: str, hours: int
) -> None:
    _move(town)
    line = next(line for line in town.gateway.book if line.kind == kind)
    moved_at_ms = line.moved_at_ms + hours * 3_600_000
    town.gateway.book.append(replace(line, moved_at_ms=moved_at_ms))
    told = []
    for offset in range(-2, 4):
        at_ms = statement_day_start_ms(day) + offset * DAY_MS
        town.clock.at_ms = max(town.clock.at_ms, at_ms + DAY_MS + DAY_MS // 2)
        report = town.compare_statement(statement_day(at_ms))
        assert report
        told += [
            (difference.subject.split()[0], difference.expected, difference.actual)
            for difference in report.differences
        ]

    assert told.count((line.number, 2 * line.amount_fen, line.amount_fen)) == 1


def test_a_missing_earlier_statement_does_not_prevent_a_comparison(
    town: PaymentSystem, day: str
) -> None:
    class Forgetful(FakePaymentsIn):
        def read_statement(self, requested: str) -> list[StatementLine] | None:
            if requested != day:
                raise Unavailable("gone")
            return super().read_statement(requested)

    town.gates_in = {WECHAT: Forgetful(town.gateway)}
    _move(town)
    town.system.pass_time(DAY_MS)

    report = town.compare_statement(day)

    assert report
    assert report.differences == ()
    assert [name for name, _ in town.system.logger.errors] == ["bill_not_read"] * 2


STRAY = Line("transfer", "wdsomebodyelses", "bill", 33, 0)

Lines = list[tuple[str, int, int]]
"""Subjects of differences, with the provider's value and ours."""


def _loses(book: list[Line], line: Line) -> Lines:
    book.remove(line)
    # For a refund, we store the refunded transaction, but not the provider's refund number.
    paid = [paid_line.outside_no for paid_line in book if paid_line.number == line.of_number]
    return [(f"{line.number} {[line.outside_no, *paid][-1]}", 0, line.amount_fen)]


def _changes(book: list[Line], line: Line) -> Lines:
    book[book.index(line)] = replace(line, amount_fen=line.amount_fen + 1)
    return [(f"{line.number} {line.outside_no}", line.amount_fen + 1, line.amount_fen)]


def _doubles(book: list[Line], line: Line) -> Lines:
    book.append(line)
    return [(f"{line.number} {line.outside_no}", 2 * line.amount_fen, line.amount_fen)]


def _invents(book: list[Line], line: Line) -> Lines:
    book.append(replace(STRAY, moved_at_ms=line.moved_at_ms))
    return [("wdsomebodyelses bill", 33, 0)]


@pytest.mark.parametrize(
    ("forge", "kind"),
    [
        *((forge, kind) for forge in (_loses, _changes) for kind in StatementKind),
        (_doubles, StatementKind.TRANSFER),
        (_invents, StatementKind.TRANSFER),
    ],
)
def test_a_different_line_is_reported_with_both_amounts(
    town: PaymentSystem, day: str, forge: Callable[[list[Line], Line], Lines], kind: StatementKind
) -> None:
    _move(town)
    expected = forge(town.gateway.book, town.gateway.lines(kind)[0])
    town.system.pass_time(DAY_MS)

    report = town.compare_statement(day)

    assert report
    told = [
        (difference.subject, difference.expected, difference.actual)
        for difference in report.differences
    ]
    assert told == expected
    assert "bill_differs" in town.system.logger.events


def test_a_movement_that_only_the_statement_has_is_queried_first(
    town: PaymentSystem, day: str
) -> None:
    """Movements: a manual refund, a payment without a callback, and its second transaction."""
    payment = town.pay_in("user", 100)
    town.gateway.refund_outside(payment.number, 30)
    unheard = town.start("other", 50)
    for _ in range(2):
        town.gateway.pay(unheard.number, is_forced=True)
    town.system.pass_time(DAY_MS)

    report = town.compare_statement(day)
    town.sweep()

    assert report
    assert report.followed_count == 3
    assert report.differences == ()
    assert town.balance_fen("user") == 70
    assert town.balance_fen("other") == 50
    assert town.differences(bound_ms=DAY_MS) == []


def test_a_movement_near_midnight_can_be_in_the_other_statement(
    town: PaymentSystem, day: str
) -> None:
    end_ms = statement_day_start_ms(day) + DAY_MS
    town.clock.at_ms = end_ms - 1_000
    payment = town.pay_in("user", 100)
    # The provider's line has a slightly later time.
    (line,) = town.gateway.book
    town.gateway.book[0] = replace(line, moved_at_ms=end_ms + 1_000)
    town.clock.at_ms = end_ms + 2 * DAY_MS

    reports = [town.compare_statement(each) for each in (day, statement_day(end_ms))]

    assert payment.transaction_id
    assert [report and report.differences for report in reports] == [(), ()]


def test_a_wrong_amount_of_a_line_that_we_book_on_the_next_day_is_reported_with_ours(
    town: PaymentSystem, day: str
) -> None:
    end_ms = statement_day_start_ms(day) + DAY_MS
    town.clock.at_ms = end_ms + 1_000
    town.pay_in("user", 100)
    # The provider's line has a slightly earlier time and other values.
    (line,) = town.gateway.book
    town.gateway.book[0] = replace(line, moved_at_ms=end_ms - 1_000, amount_fen=101)
    town.clock.at_ms = end_ms + 2 * DAY_MS

    report = town.compare_statement(day)

    assert report
    assert [(difference.expected, difference.actual) for difference in report.differences] == [
        (101, 100)
    ]


@pytest.mark.parametrize(
    ("edge_ms", "told_on"),
    [(-EDGE_MS - 1, 0), (-EDGE_MS, 1), (EDGE_MS - 1, 1), (EDGE_MS, 1)],
)
def test_a_movement_in_no_statement_is_reported_twice_even_near_midnight(
    town: PaymentSystem, day: str, edge_ms: int, told_on: int
) -> None:
    end_ms = statement_day_start_ms(day) + DAY_MS
    town.clock.at_ms = end_ms + edge_ms
    town.pay_in("user", 1)
    town.gateway.book.clear()
    town.clock.at_ms = end_ms + 4 * DAY_MS

    days = (day, *(statement_day(end_ms + later * DAY_MS) for later in range(3)))
    reports = [town.compare_statement(each) for each in days]

    told = [
        [(difference.expected, difference.actual) for difference in report.differences]
        for report in reports
        if report
    ]
    assert told == [[(0, 1)] if at in (told_on, told_on + 1) else [] for at in range(4)]


@pytest.mark.parametrize(("after_ms", "is_told"), [(EDGE_MS - 1, False), (EDGE_MS, True)])
def test_the_statement_of_the_previous_day_only_covers_movements_near_midnight(
    town: PaymentSystem, day: str, after_ms: int, *, is_told: bool
) -> None:
    begin_ms = statement_day_start_ms(day)
    town.clock.at_ms = begin_ms + after_ms
    town.pay_in("user", 100)
    (line,) = town.gateway.book
    town.gateway.book[0] = replace(line, moved_at_ms=begin_ms - 1)
    # The next payment is so near midnight that the previous day's statement is also read.
    town.clock.at_ms = begin_ms + EDGE_MS - 2
    town.pay_in("other", 7)
    town.gateway.book[1] = replace(town.gateway.book[1], moved_at_ms=begin_ms - 1)
    town.clock.at_ms = begin_ms + 2 * DAY_MS

    report = town.compare_statement(day)

    assert report
    assert [difference.actual for difference in report.differences] == ([100] if is_told else [])


def test_a_fen_that_only_the_statement_has_is_reported(town: PaymentSystem, day: str) -> None:
    town.gateway.book.append(replace(STRAY, amount_fen=1, moved_at_ms=town.clock.now_ms()))
    town.system.pass_time(DAY_MS)

    report = town.compare_statement(day)

    assert report
    assert [(difference.expected, difference.actual) for difference in report.differences] == [
        (1, 0)
    ]


# The provider's whole book, compared by tests.


def test_a_withdrawal_that_was_paid_and_returned_is_found(town: PaymentSystem) -> None:
    town.system.deposit("user", 100)
    withdrawal = town.withdraw("user", 100)
    town.cancel(withdrawal)
    moved = StatementLine(
        StatementKind.TRANSFER, withdrawal.transfer_no, "bill", 100, town.clock.now_ms()
    )

    facts = town.system.ledger_state().outside

    assert [difference.rule for difference in check_outside(facts, [moved])] == ["I6"]
    assert check_outside(facts, []) == []


def test_money_that_a_gateway_received_and_no_account_got_is_found(town: PaymentSystem) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)

    (line,) = town.gateway.book
    assert [difference.what for difference in town.differences()] == [
        f"outcome of transaction {line.outside_no}"
    ]


# Planted errors, and the checks that find them.


def _reconciled(town: PaymentSystem) -> set[tuple[str, str]]:
    town.system.moving_ms = 0
    town.system.pass_time(1)
    reconciliation = town.system.reconcile()
    return {
        (difference.rule, difference.subject.partition(":")[0])
        for difference in reconciliation.differences
    }


def _forge(town: PaymentSystem, table: str, key: str, kind: str, **forged: str | int) -> None:
    row = town.system.row(table, {"pk": f"{kind}#{key}", "sk": kind})
    for name, value in forged.items():
        row[name] = {"S" if isinstance(value, str) else "N": str(value)}


def _check_found(town: PaymentSystem, subject: str, *rules: str) -> None:
    """Check that the tests' own checks and reconciliation both report the error."""
    assert {difference.rule for difference in town.differences()} >= {"I1", *rules}
    assert ("I1", subject) in _reconciled(town)


def test_a_withdrawal_that_is_wrongly_marked_as_returned_is_found(town: PaymentSystem) -> None:
    town.system.deposit("user", 100)
    withdrawal = town.withdraw("user", 100)
    forged: dict[str, Any] = {"withdrawal_status": "failed", "ended_at_ms": town.clock.now_ms()}
    _forge(town, "payments", withdrawal.withdrawal_id, "withdrawal", **forged)

    _check_found(town, "withdrawal", "I9")


def test_an_unpaid_packet_that_is_wrongly_marked_as_open_is_found(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    _forge(town, "packets", packet.packet_id, "packet", status="open", paid_at_ms=1)

    _check_found(town, packet.packet_id)
