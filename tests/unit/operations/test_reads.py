"""Rows of operators' reads in the audit log."""

from redpacket.operations.model.operators import READS_SUBJECT, Action, ActionKind, changes_between
from testing.builders import NOW_MS
from testing.in_memory_system import InMemorySystem, a_person

_HOUR_MS = 3_600_000


def _read(at_ms: int = NOW_MS, name: str = "winners") -> Action:
    changes = changes_between(None, {"list": name, "format": "csv"})
    return Action(a_person("thief"), ActionKind.PEOPLE_READ, READS_SUBJECT, at_ms, changes)


def _counts(system: InMemorySystem) -> list[int]:
    page, _ = system.actions.list_actions(READS_SUBJECT, None, 100)
    changes = [noted.action.changes for noted in reversed(page)]
    return [
        int(change.after or 0) for each in changes for change in each if change.field == "row_count"
    ]


def test_the_rows_of_an_export_are_few_and_hold_more_than_half_of_its_count() -> None:
    system = InMemorySystem()

    for page in range(500):
        system.actions.note_read(_read(NOW_MS + page), 100)

    counts = _counts(system)
    assert counts[:3] == [100, 200, 400]
    assert 25_000 < sum(counts) <= 50_000
    assert len(counts) == 8


def test_reads_of_another_hour_list_or_process_are_counted_separately() -> None:
    system = InMemorySystem()

    for read in (_read(), _read(NOW_MS + _HOUR_MS), _read(name="claims")):
        system.actions.note_read(read, 5)
    type(system.actions)(system.process().dynamo).note_read(_read(), 4)

    assert sorted(_counts(system)) == [4, 5, 5, 5]


def test_no_caller_can_predict_the_key_of_a_read_row_and_write_it_first() -> None:
    places = set()

    for _ in range(2):
        system = InMemorySystem()
        system.actions.note_read(_read(), 5)
        places |= {
            noted.position for noted in system.actions.list_actions(READS_SUBJECT, None, 9)[0]
        }

    assert len(places) == 2
