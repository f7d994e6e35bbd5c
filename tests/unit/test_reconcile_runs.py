"""A reconciliation goes on where it was: over invocations, kills, and while money moves."""

from collections.abc import Callable
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.ledger.dynamodb import keys
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from redpacket.reconciliation.dynamodb.tables import DynamoTables
from redpacket.reconciliation.ports import SavedRun, Table
from redpacket.reconciliation.scanned import Scanned
from redpacket.reconciliation.use_cases.reconcile import (
    LEASE_MS,
    MOVING_MS,
    RUN_MAX_MS,
    Reconciliation,
)
from redpacket.reconciliation.use_cases.run_state import read_state
from testing.in_memory_system import InMemorySystem

LIFE_MS = 10 * 3_600_000


class Pages(DynamoTables):
    """Reads tables of a system a few rows at a time; each page takes a second."""

    def __init__(self, system: InMemorySystem, rows: int = 3) -> None:
        names = {table: table.value for table in Table}
        super().__init__(Dynamo(lambda: system.dynamo), names, PUBLISHED_SEEDS)
        system.dynamo.page_size = rows
        self.system = system
        self.read_from: list[tuple[Table, str | None]] = []
        self.before_page: Callable[[Table], None] = lambda _: None

    def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
        self.before_page(table)
        self.read_from.append((table, place))
        self.system.pass_time(1_000)
        return super().read(table, place)


@pytest.fixture
def pages() -> Pages:
    return Pages(InMemorySystem())


@pytest.fixture
def system(pages: Pages) -> InMemorySystem:
    """A system of four packets that are settled, whose tables are read page by page."""
    system = pages.system
    for number in range(4):
        packet = system.send(f"sender-{number}", count=3, life_ms=LIFE_MS)
        for user in ("ann", "bob", "cat"):
            system.grab(packet, user)
    system.settle()
    system.pass_time(MOVING_MS + 1)
    system.scans = pages
    return system


def _until_over(system: InMemorySystem, stop_in_ms: int = 4_000) -> list[Reconciliation]:
    found = [system.reconcile(stop_in_ms=stop_in_ms)]
    while not found[-1].is_over:
        assert len(found) < 100
        found.append(system.reconcile(stop_in_ms=stop_in_ms, may_begin=False))
    return found


def test_a_run_reads_each_page_once_over_many_invocations(
    system: InMemorySystem, pages: Pages
) -> None:
    found = _until_over(system)

    assert len(found) > 3
    assert len(set(pages.read_from)) == len(pages.read_from)
    assert found[-1].is_complete
    assert found[-1].differences == []
    assert (found[-1].packet_count, found[-1].account_count) == (4, 8)
    assert found[-1].started_at_ms == found[0].started_at_ms
    assert system.journal.events == ["reconcile_advanced"] * len(found) + ["reconcile_complete"]


def test_a_run_that_is_not_over_says_how_far_it_is(system: InMemorySystem) -> None:
    found = system.reconcile(stop_in_ms=4_000)

    assert (found.is_over, found.is_complete, found.differences) == (False, False, [])
    assert found.reading == "accounts"
    assert found.row_count > 0


def test_what_an_earlier_invocation_found_is_told_at_the_end(system: InMemorySystem) -> None:
    system.dynamo.tables["accounts"]["user:ann", "balance"]["balance_fen"] = {"N": "1"}

    found = _until_over(system)

    assert [one.subject for one in found[-1].differences] == ["user:ann"]
    assert system.journal.events.count("difference_found") == 1


def test_a_forgery_that_two_invocations_saw_a_half_of_is_found(system: InMemorySystem) -> None:
    (share, *_) = system.ledger_state().shares
    receipt = system.row("accounts", keys.receipt(share.packet_id, share.share_no))
    receipt["amount_fen"] = {"N": "1"}

    found = _until_over(system)

    assert {(one.rule, one.subject) for one in found[-1].differences} == {("I2", share.packet_id)}


class Killed(BaseException):
    """As a Lambda that is cut off: nothing of ours runs any more."""


def test_a_run_that_is_killed_is_taken_up_at_its_place(
    system: InMemorySystem, pages: Pages
) -> None:
    def kill(_: Table) -> None:
        if len(pages.read_from) == 25:
            raise Killed

    pages.before_page = kill
    with pytest.raises(Killed):
        system.reconcile()
    kept = system.runs.find()
    state = read_state(kept)
    assert state
    assert state.progress.row_count > 0
    pages.before_page = lambda _: None
    read_before = len(pages.read_from)

    # The lease still hides that it was killed.
    assert system.reconcile(may_begin=False).is_idle
    system.pass_time(LEASE_MS + 1)
    found = system.reconcile(may_begin=False)

    assert found.is_complete
    assert found.differences == []
    assert found.packet_count == 4
    # It was saved twenty seconds before at most, of a second a page.
    again = [one for one in pages.read_from[read_before:] if one in pages.read_from[:read_before]]
    assert 0 < len(again) <= 20


def test_a_run_that_failed_is_taken_up_at_once(system: InMemorySystem, pages: Pages) -> None:
    failures = [Unavailable("throttled")]

    def fail(table: Table) -> None:
        if table is Table.SHARES and failures:
            raise failures.pop()

    pages.before_page = fail
    with pytest.raises(Unavailable):
        system.reconcile()
    found = system.reconcile(may_begin=False)

    assert found.is_complete
    assert len(set(pages.read_from)) == len(pages.read_from)


def test_one_run_goes_on_at_a_time(system: InMemorySystem, pages: Pages) -> None:
    others: list[Reconciliation] = []

    def meanwhile(table: Table) -> None:
        if table is Table.SHARES and not others:
            others.append(system.reconcile())

    pages.before_page = meanwhile
    found = system.reconcile()

    assert found.is_complete
    (other,) = others
    assert other.is_idle
    assert not other.is_complete


def test_a_run_that_another_invocation_has_taken_is_left_to_it(
    system: InMemorySystem, pages: Pages
) -> None:
    taken: list[SavedRun | None] = []

    def steal(table: Table) -> None:
        if table is Table.SHARES and not taken:
            now_ms = system.clock.now_ms() + LEASE_MS + 1
            taken.append(system.runs.take("another", now_ms, now_ms + LEASE_MS))

    pages.before_page = steal
    found = system.reconcile()

    assert taken[0]
    assert found.is_idle
    assert system.journal.events == []


def test_the_schedule_that_goes_on_begins_nothing(system: InMemorySystem, pages: Pages) -> None:
    assert system.reconcile(may_begin=False).is_idle
    assert system.reconcile().is_complete
    assert system.reconcile(may_begin=False).is_idle
    assert system.journal.events == ["reconcile_advanced", "reconcile_complete"]
    assert len(set(pages.read_from)) == len(pages.read_from)


def test_a_run_that_takes_days_raises_an_alarm(system: InMemorySystem) -> None:
    system.reconcile(stop_in_ms=4_000)
    system.pass_time(RUN_MAX_MS)

    system.reconcile(stop_in_ms=4_000)

    assert system.journal.events == ["reconcile_advanced", "reconcile_incomplete"]


def test_money_that_moves_while_pages_are_read_is_not_a_difference(
    system: InMemorySystem, pages: Pages
) -> None:
    numbers = iter(range(60))

    def move(_: Table) -> None:
        number = next(numbers, None)
        if number is None:
            return  # or the tables would grow faster than they are read
        packet = system.send(f"sender-{number % 4}", count=2, life_ms=LIFE_MS)
        system.grab(packet, "ann")
        system.grab(packet, f"user-{number}")
        if number % 2:
            system.settle()

    pages.before_page = move
    found = _until_over(system, stop_in_ms=20_000)

    assert found[-1].differences == []
    assert found[-1].is_complete
    assert system.differences() == []


def test_an_account_that_moves_with_each_look_is_counted_and_not_told(
    system: InMemorySystem,
) -> None:
    partition = system.scans.partition

    def moving(table: Table, owner: tuple[str, ...]) -> Any:
        rows = list(partition(table, owner))
        system.deposit(owner[0].removeprefix("user:"), 1)
        # As a read of many pages: the entry is there, and the balance was read before it.
        yield rows[0]
        yield from list(partition(table, owner))[1:]

    system.scans.partition = moving  # type: ignore[method-assign]
    system.dynamo.tables["accounts"]["user:ann", "balance"]["balance_fen"] = {"N": "1"}

    found = system.reconcile()

    assert found.moving_count == 1
    assert "user:ann" not in [one.subject for one in found.differences]


def _rewritten(system: InMemorySystem, change: Callable[[str], str]) -> None:
    """Rewrite a paid share wherever it is named, so that all rows agree again."""
    for name in ("accounts", "shares"):
        table = system.dynamo.tables[name]
        for key in list(table):
            row = table.pop(key)
            text = {attribute: dict(value) for attribute, value in row.items()}
            for attribute, value in text.items():
                if "S" in value:
                    text[attribute] = {"S": change(value["S"])}
            table[text["pk"]["S"], text["sk"]["S"]] = text


def test_a_history_that_was_rewritten_so_that_all_agrees_is_found(system: InMemorySystem) -> None:
    assert system.reconcile().is_complete
    system.pass_time(3_600_000)

    _rewritten(
        system, lambda text: text.replace("user:cat", "user:eve").replace("user#cat", "user#eve")
    )
    for name, attribute in (("shares", "user_id"), ("packets", "luckiest_user_id")):
        for row in system.dynamo.tables[name].values():
            if row.get(attribute) == {"S": "cat"}:
                row[attribute] = {"S": "eve"}
    found = system.reconcile()

    assert {one.rule for one in found.differences} == {"history"}
    packets = [facts.packet.packet_id for facts in system.ledger_state().packets]
    told = " ".join(one.subject for one in found.differences)
    assert all(packet_id in told for packet_id in packets)
    # It stays told until somebody accepts it.
    assert {one.rule for one in system.reconcile().differences} == {"history"}


def test_a_history_that_goes_on_is_not_a_difference(system: InMemorySystem) -> None:
    for number in range(3):
        assert system.reconcile().differences == []
        packet = system.send("sender-0", count=3, life_ms=LIFE_MS)
        system.grab(packet, f"user-{number}")
        system.settle()
        system.pass_time(MOVING_MS // 2)

    assert system.reconcile().differences == []


def test_a_row_too_many_that_its_own_name_hides_is_found(system: InMemorySystem) -> None:
    """A copy of an entry under another key, with the balance to match."""
    accounts = system.dynamo.tables["accounts"]
    key = next(key for key in accounts if key[0] == "user:ann" and key[1].startswith("claim#"))
    copy = {**accounts[key], "sk": {"S": f"entry#{key[1].removeprefix('claim#')}"}}
    accounts["user:ann", copy["sk"]["S"]] = copy
    balance = accounts["user:ann", "balance"]
    fen = int(copy["amount_fen"]["N"])
    balance["balance_fen"] = {"N": str(int(balance["balance_fen"]["N"]) + fen)}

    found = system.reconcile()

    packet_id = copy["counterparty"]["S"].removeprefix("packet:")
    assert any(one.rule == "I1" and packet_id in one.subject for one in found.differences)
    assert ("I1", "all accounts") in {(one.rule, one.subject) for one in found.differences}


def test_a_run_keeps_its_state_below_the_size_of_a_row(system: InMemorySystem) -> None:
    for number in range(300):
        account = f"user:forged-{number:030d}"
        row = {"pk": {"S": account}, "sk": {"S": "balance"}, "balance_fen": {"N": "1"}}
        system.dynamo.tables["accounts"][account, "balance"] = row

    found = system.reconcile()
    kept = system.runs.find()

    assert (found.difference_count, len(found.differences)) == (300, 200)
    assert len(kept.state.encode()) + sum(map(len, kept.sums.values())) < 300_000
