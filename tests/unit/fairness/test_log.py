"""Public log: how cheating is detected, and the log's state after an interruption."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from redpacket.fairness.api import log_pages
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.model.log import Commitment, LogHead, SignedHead, id_hash_of
from redpacket.fairness.model.merkle import Peaks
from redpacket.fairness.use_cases import extend_log
from redpacket.fairness.use_cases.extend_log import LATE_MS, LogReport
from redpacket.ledger.dynamodb import keys
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.platform import errors
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.http.request import HttpRequest
from redpacket.verify import command
from testing.builders import a_campaign, a_prize
from testing.fairness.fake_head_signer import FakeSigner
from testing.in_memory_system import InMemorySystem, an_operator, an_order
from testing.operations.office import IO_MAX, CutDynamo, Killed
from testing.platform.fake_tables import TABLE_NAMES, LateCopy, key_of, locate

HOUR_MS = 3_600_000
BATCH_MAX = 7
"""Maximum number of entries in a batch; small, so that a test has many batches."""


class LogSystem(InMemorySystem):
    """System with a public log of its commitments."""

    def __init__(self) -> None:
        super().__init__()
        self.signer = FakeSigner()

    def extend(self, named: tuple[str, ...] = (), client: Any = None) -> LogReport:
        """Run the function that extends the log, as a new process."""
        dynamo = (
            {"dynamo": Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None)}
            if client
            else {}
        )
        return self.process(head_signer=self.signer, **dynamo).extend_log(
            named, self.clock.now_ms() + 45_000
        )

    @property
    def log(self) -> DynamoLog:
        return DynamoLog(Dynamo(lambda: self.dynamo, TABLE_NAMES))

    def head(self) -> LogHead:
        signed = self.log.find_signed()
        assert signed
        return signed.head

    def entries(self) -> list[Commitment]:
        """Return the entries, after checking that none is missing and they produce the head."""
        listed = self.log.list_entries(0, 1000)
        assert [index for index, _ in listed] == list(range(len(listed)))
        commitments = [entry for _, entry in listed]
        peaks = Peaks()
        nodes = [node for entry in commitments for node in peaks.append(entry.leaf)]
        assert self.log.find_nodes([node for node, _ in nodes]) == dict(nodes)
        end, _ = self.log.find_end()
        assert (end.size, end.root) == (peaks.size, peaks.root.hex())
        return commitments

    def page(self, route: Callable[[HttpRequest], Any], **query: str) -> dict[str, Any]:
        """Call a route, and return the body of its response."""
        body: dict[str, Any] = route(_asking(query)).body
        return body

    def differences_of_log(self) -> list[Difference]:
        self.pass_time(HOUR_MS)
        return [
            difference for difference in self.reconcile().differences if difference.rule == "log"
        ]

    def rewrite(self, index: int, entry: Commitment) -> None:
        """Change an entry, and make all rows of the log agree with it, except the signature."""
        entries = [commitment for _, commitment in self.log.list_entries(0, 1000)]
        entries[index] = entry
        table, peaks = self.dynamo.tables["log"], Peaks()
        for place, commitment in enumerate(entries):
            nodes = [((0, place), commitment.leaf), *peaks.append(commitment.leaf)]
            for (level, number), node in nodes[1:]:
                if row := table._rows.get(_key(log_keys.log_node(level, number))):
                    row["hash"] = {"S": node.hex()}
        row, old = self.row_of(index)
        row["entries"] = {"S": row["entries"]["S"].replace(old, _line(index, entry))}
        for head in (log_keys.LOG_END, log_keys.LOG_HEAD):
            table[_key(head)]["root"] = {"S": peaks.root.hex()}

    def row_of(self, index: int) -> tuple[dict[str, Any], str]:
        """Return the row that contains entry *index*, and the entry's text in that row."""
        key = _key(log_keys.log_entries(index // log_keys.LOG_ENTRIES_PER_ROW))
        row: dict[str, Any] = self.dynamo.tables["log"][key]
        (text,) = (
            entry for entry in row["entries"]["S"].split(";") if entry.startswith(f"{index},")
        )
        return row, text

    def drop(self, index: int) -> None:
        """Remove an entry from its row."""
        row, text = self.row_of(index)
        kept = [entry for entry in row["entries"]["S"].split(";") if entry != text]
        row["entries"] = {"S": ";".join(kept)}


def _line(index: int, entry: Commitment) -> str:
    return f"{index},{entry.kind},{entry.id_hash},{entry.commitment},{entry.at_ms}"


def _key(row: dict[str, str]) -> Any:
    return key_of(to_wire(row))


def _asking(query: dict[str, str]) -> HttpRequest:
    return HttpRequest(path={}, query=query, headers={}, claims={}, body=b"")


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> LogSystem:
    made = LogSystem()
    monkeypatch.setattr(log_keys, "LOG_ENTRIES_PER_ROW", 2)
    monkeypatch.setattr(log_pages, "containers", made.process().containers)
    return made


def some_packets(system: LogSystem, count: int = 5) -> list[str]:
    """Send packets and log them; return their ids in the order of the log."""
    ids = []
    for _ in range(count):
        ids.append(system.send().packet_id)
        system.extend()
        system.pass_time(1)
    return ids


def verified(tmp_path: Path, *answers: dict[str, Any], **options: str) -> int:
    files = []
    for number, answer in enumerate(answers):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(answer))
        files.append(str(path))
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    return command.main(["log", *files, *flags])


# ---------------------------------------------------------------- logged data


def test_a_packet_is_in_the_log_with_its_commitment_and_without_its_id(system: LogSystem) -> None:
    packet = system.send()

    assert system.extend() == LogReport(1, 1, is_signed=True)
    (entry,) = system.entries()
    assert entry.commitment == packet.terms.commitment
    assert entry.id_hash == id_hash_of(packet.packet_id)
    assert packet.packet_id not in str(system.dynamo.tables["log"]._rows)
    assert packet.packet_id not in str(system.dynamo.tables["commitments"]._rows)


def test_a_campaign_is_logged_and_an_edit_is_not(system: LogSystem) -> None:
    plan = replace(_plan(system), campaign_id="gala")
    system.process().apply_campaign(plan, 100, None, an_operator())
    system.process().apply_campaign(replace(plan, title="new"), 100, None, an_operator())
    snapshot = system.prizes.find_snapshot("gala")
    assert snapshot

    assert system.extend().appended_count == 1
    (entry,) = system.entries()
    assert (entry.kind, entry.commitment) == ("campaign", snapshot.commitment)
    assert entry.id_hash == id_hash_of("gala")


def _plan(system: LogSystem) -> Any:
    now_ms = system.clock.now_ms()
    return a_campaign(starts_at_ms=now_ms, ends_at_ms=now_ms + HOUR_MS).plan


def test_a_refused_send_leaves_no_commitment_and_a_repeated_one_leaves_one(
    system: LogSystem,
) -> None:
    with pytest.raises(errors.RedPacketError):
        system.send_order(an_order())
    assert system.extend().appended_count == 0

    system.deposit("sender", 5000)
    first = system.send_order(an_order())
    assert system.send_order(an_order()) == first

    assert system.extend().appended_count == 1
    assert system.extend().appended_count == 0


def test_a_grab_and_a_cash_prize_write_nothing_to_the_log(system: LogSystem) -> None:
    packet = system.send()
    before = dict(system.dynamo.tables["commitments"]._rows)
    calls: list[str] = []
    system.before_each_transaction(lambda rows: calls.extend(locate(row)[0] for row in rows))

    system.grab(packet, "ann")
    system.settle()
    assert calls
    assert "commitments" not in calls
    assert system.campaigns.create(a_campaign(campaign_id="gala"))
    system.deposit("operator", 1000)
    kind = PrizeKind.PACKET
    system.put_prize(a_prize("gala", "cash", kind=kind, amount_fen=100, total=2))

    assert system.dynamo.tables["commitments"]._rows == before


def test_many_waiting_commitments_are_appended_in_order_of_time(
    system: LogSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extend_log, "BATCH_MAX", BATCH_MAX)
    for _ in range(2 * BATCH_MAX + 3):
        system.send()
        system.pass_time(1)

    assert system.extend().appended_count == 2 * BATCH_MAX + 3
    times = [entry.at_ms for entry in system.entries()]
    assert times == sorted(times)


def test_commitments_named_by_the_stream_are_appended_even_if_the_index_is_late(
    system: LogSystem,
) -> None:
    system.dynamo.indexes = LateCopy(system.clock.now_ms, HOUR_MS)
    packet = system.send()

    assert system.extend().appended_count == 0
    named = (id_hash_of(packet.packet_id), "0" * 64)
    assert system.extend(named).appended_count == 1
    assert system.extend(named).appended_count == 0


def test_a_head_is_signed_once_after_the_log_has_grown(system: LogSystem) -> None:
    assert system.extend() == LogReport(0, 0, is_signed=True)
    assert system.extend().is_signed is False
    some_packets(system, 3)

    sizes = [message.decode().splitlines()[1] for message in system.signer.messages]
    assert sizes == ["0", "1", "2", "3"]


def test_a_late_commitment_is_reported(system: LogSystem) -> None:
    system.send()
    system.pass_time(LATE_MS + 1)
    system.extend()

    assert system.logger.events == ["commitment_late"]


def test_an_invalid_row_is_reported_and_stops_nothing(system: LogSystem) -> None:
    forged: dict[str, Any] = {"pk": "f" * 64, "kind": "packet", "commitment": "0" * 64, "at_ms": 1}
    forged |= {"work_pk": keys.work("log", 0), "work_at_ms": 0}
    half = {"N": "0.5"}
    wrong: list[dict[str, Any]] = [
        {"commitment": {"S": "x"}},
        {"at_ms": {"BOOL": True}},
        {"at_ms": half},
        {"at_ms": half, "work_at_ms": half},
    ]
    for changes in wrong * 2:
        system.send()
        system.dynamo.put_item(TableName="commitments", Item={**to_wire(forged), **changes})
        assert system.extend().appended_count == 1

    assert set(system.logger.events) == {"commitment_unreadable"}


# ---------------------------------------------------------------- cheating


def test_a_log_that_is_rewritten_in_the_tables_is_detected_and_not_signed(
    system: LogSystem, tmp_path: Path
) -> None:
    some_packets(system)
    kept = system.page(log_pages.entries_page)
    old = system.differences_of_log()
    forged = replace(system.entries()[1], commitment="0" * 64)

    system.rewrite(1, forged)

    # The rows agree with each other; the signature does not match.
    assert len(system.entries()) == 5
    with pytest.raises(errors.InvariantViolated):
        system.extend()
    assert system.logger.events[-1] == "log_differs"
    assert old == []
    told = [difference.what for difference in system.differences_of_log()]
    assert "signature of the head" in told
    assert "root that was compared before" in told
    assert verified(tmp_path, kept) == 0
    assert verified(tmp_path, kept, system.page(log_pages.entries_page)) == 1


@pytest.mark.parametrize("lost", ["entry, but not the head", "node", "node's hash", "head"])
def test_a_log_whose_rows_were_changed_is_not_extended(system: LogSystem, lost: str) -> None:
    some_packets(system, 4)
    table, node, head = (
        system.dynamo.tables["log"],
        _key(log_keys.log_node(2, 0)),
        _key(log_keys.LOG_HEAD),
    )
    match lost:
        case "head":
            del table[head]
        case "node":
            del table[node]
        case "node's hash":
            table[node]["hash"] = {"S": "0" * 64}
        case _:
            signed = dict(table[head])
            system.rewrite(1, replace(system.entries()[1], commitment="0" * 64))
            table[head] = signed
    system.send()

    with pytest.raises(errors.InvariantViolated):
        system.extend()

    assert system.log.find_end()[0].size == 4
    assert lost == "head" or system.logger.events == ["log_differs"]


def test_a_log_that_returned_to_an_older_head_is_detected(system: LogSystem) -> None:
    some_packets(system, 2)
    table = system.dynamo.tables["log"]
    end, head = (dict(table[_key(row)]) for row in (log_keys.LOG_END, log_keys.LOG_HEAD))
    some_packets(system, 2)
    assert system.differences_of_log() == []
    table[_key(log_keys.LOG_END)], table[_key(log_keys.LOG_HEAD)] = end, head
    for index in (2, 3):
        system.drop(index)

    (difference, *_) = system.differences_of_log()

    assert (difference.what, difference.expected) == ("entry 2", "one of 4")


def test_a_dropped_entry_is_detected(system: LogSystem, tmp_path: Path) -> None:
    ids = some_packets(system)
    kept = system.page(log_pages.entries_page)
    for index in (0, 2, 4):
        row, _ = system.row_of(index)
        before = dict(row)
        system.drop(index)

        with pytest.raises(errors.InvariantViolated):
            system.page(log_pages.entries_page, cursor=str(index))
        with pytest.raises(errors.InvariantViolated):
            system.page(log_pages.inclusion_page, id_hash=id_hash_of(ids[index]))
        told = [difference.what for difference in system.differences_of_log()]
        assert f"entry {index}" in told
        shown = [item for item in kept["items"] if item["index"] != index]
        renumbered = [{**item, "index": place} for place, item in enumerate(shown)]
        # A cheater may present the remaining entries as the whole log.
        assert verified(tmp_path, {**kept, "items": renumbered}, id=ids[index]) == 1
        row.update(before)


def test_two_heads_of_one_size_are_a_fork(system: LogSystem, tmp_path: Path) -> None:
    some_packets(system)
    kept = system.page(log_pages.entries_page)
    forged = LogHead(5, "0" * 64)
    # Worst case: the key's holder signs a second history.
    key = system.signer.public_key()
    fork = SignedHead(forged, system.signer.sign(forged.text(key).encode()), key)
    other = {**kept, "items": [], "head": forged.root, "signature": fork.signature.hex()}

    assert verified(tmp_path, other) == 0
    assert verified(tmp_path, kept, other) == 1
    # In the tables, the fork can't replace a published head.
    assert system.log.publish(fork, None) is False
    assert system.log.publish(fork, fork) is False
    assert system.head().root == kept["head"]


def test_a_commitment_that_was_swapped_after_the_send_is_detected(
    system: LogSystem, tmp_path: Path
) -> None:
    some_packets(system, 1)
    system.pass_time(2 * HOUR_MS)
    packet = system.send()
    system.extend()
    row = system.dynamo.tables["packets"][_key(packet_keys.packet(packet.packet_id))]
    entry = system.page(log_pages.inclusion_page, id_hash=id_hash_of(packet.packet_id))
    assert system.differences_of_log() == []
    other = replace(packet.terms, seed=b"", sealed=b"\1" + b"another seed!!!")

    row["terms"] = {"S": other.stored}

    stored = system.packets.find_packet(packet.packet_id)
    assert stored
    swapped = stored.terms.commitment
    assert swapped != packet.terms.commitment
    system.pass_time(HOUR_MS)
    told = [
        difference
        for difference in system.reconcile().differences
        if difference.subject == packet.packet_id
    ]
    # An audit finds the original commitment in the sender's entry.
    assert "I1" in {difference.rule for difference in told}
    page = system.page(log_pages.entries_page)
    assert verified(tmp_path, page, entry, id=packet.packet_id, commitment=swapped) == 1
    first = packet.terms.commitment
    assert verified(tmp_path, page, entry, id=packet.packet_id, commitment=first) == 0


def test_an_overwritten_commitment_gets_no_second_entry_and_is_reported(
    system: LogSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packet_id, *_ = some_packets(system)
    system.pass_time(2 * HOUR_MS)
    id_hash = id_hash_of(packet_id)
    entry = system.page(log_pages.inclusion_page, id_hash=id_hash)
    work: dict[str, Any] = {
        "work_pk": keys.work("log", log_keys.commitment_shard(id_hash)),
        "work_at_ms": 1,
    }
    forged = {"kind": "packet", "commitment": "0" * 64, "at_ms": entry["at_ms"]}

    # Code with the send function's role can do this, because PutItem needs no condition.
    row = to_wire({**log_keys.commitment(id_hash), **forged, **work})
    system.dynamo.put_item(TableName="commitments", Item=row)
    other = system.send()
    assert system.extend((id_hash,)).appended_count == 1
    assert system.extend().appended_count == 0

    assert system.logger.events.count("log_differs") == 1
    assert [commitment.id_hash for commitment in system.entries()].count(id_hash) == 1
    assert system.page(log_pages.inclusion_page, id_hash=id_hash, size="5") == entry
    assert id_hash_of(other.packet_id) == system.entries()[-1].id_hash
    told = [difference.what for difference in system.differences_of_log()]
    assert told == ["entry 0"]
    # The verifier rejects a second entry for an id, whether a page or a proof shows it.
    page = system.page(log_pages.entries_page)
    twice = {**page["items"][-1], "id_hash": id_hash}
    assert verified(tmp_path, {**page, "items": [*page["items"][:-1], twice]}) == 1
    empty_page = {**page, "items": []}
    inclusion = {**entry, "index": 5, "commitment": "0" * 64, "size": 6}
    assert verified(tmp_path, empty_page, entry, inclusion) == 1
    assert capsys.readouterr().out.count(": an id has only one") == 2


def test_a_packet_that_was_never_logged_is_detected(system: LogSystem) -> None:
    some_packets(system, 1)
    system.pass_time(2 * HOUR_MS)
    packet, other = system.send(), system.send()
    row = system.dynamo.tables["commitments"]
    # One packet has no commitment, and the other's commitment never got its place.
    del row[_key(log_keys.commitment(id_hash_of(packet.packet_id)))]
    for name in ("work_pk", "work_at_ms"):
        row[_key(log_keys.commitment(id_hash_of(other.packet_id)))].pop(name)
    system.extend()

    by_subject = {
        difference.subject: difference.actual for difference in system.differences_of_log()
    }

    assert by_subject == {packet.packet_id: "none", other.packet_id: "none"}


def test_a_commitment_whose_place_was_changed_is_detected(system: LogSystem) -> None:
    ids = some_packets(system, 3)
    row = system.dynamo.tables["commitments"][_key(log_keys.commitment(id_hash_of(ids[1])))]
    row["log_index"] = {"N": "2"}

    differences = system.differences_of_log()

    assert {difference.what for difference in differences} == {"entry 1"}


def test_another_key_is_detected(system: LogSystem, tmp_path: Path) -> None:
    some_packets(system, 2)
    kept = system.page(log_pages.entries_page)
    assert system.differences_of_log() == []
    forger = FakeSigner(666)
    head = system.head()
    row = system.dynamo.tables["log"][_key(log_keys.LOG_HEAD)]
    row["signature"] = {"S": forger.sign(head.text(forger.public_key()).encode()).hex()}
    row["public_key"] = {"S": forger.public_key().hex()}
    page = system.page(log_pages.entries_page)

    with pytest.raises(errors.InvariantViolated):
        system.extend()
    assert [difference.what for difference in system.differences_of_log()] == ["key of the head"]
    assert verified(tmp_path, page) == 0  # On its own, this log is valid.
    assert verified(tmp_path, kept, page) == 1
    assert verified(tmp_path, page, **{"key-id": kept["key_id"]}) == 1


# ---------------------------------------------------------------- public data


def test_pages_and_proofs_verify_offline(
    system: LogSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = some_packets(system, 3)
    kept = system.page(log_pages.entries_page)
    ids += some_packets(system, 4)
    page = {**system.page(log_pages.entries_page), "items": []}
    proof = system.page(log_pages.inclusion_page, id_hash=id_hash_of(ids[5]))
    growth = system.page(log_pages.consistency_page, **{"from": "3", "to": "7"})

    assert verified(tmp_path, page, proof, growth, kept, id=ids[5]) == 0
    output = capsys.readouterr().out
    for line in (
        "inclusion   rpl1,packet,",
        "the log of 7 entries begins with that of 3",
        "entries     3 compared with signed heads, 0 not compared",
        "entries     not compared with heads of 7: give all pages",
        "commitment  not compared: give --commitment",
    ):
        assert line in output
    for forged in (
        {**proof, "index": 4},
        {**proof, "commitment": "0" * 64},
        {**proof, "path": proof["path"][1:]},
        {**growth, "path": [*growth["path"][:-1], "0" * 64]},
        {**kept, "size": kept["size"] + 1},
        {**kept, "key_id": "0" * 64},
        {**kept, "items": [*kept["items"][:-1], {**kept["items"][-1], "at_ms": 1}]},
    ):
        assert verified(tmp_path, page, kept, growth, forged) == 1
    # The head is signed, but the entries are different.
    last = {**kept["items"][-1], "at_ms": 1}
    assert verified(tmp_path, {**kept, "items": [*kept["items"][:-1], last]}) == 1
    assert verified(tmp_path, page, proof, id="another") == 1
    for unreadable in (
        {**kept, "signature": "zz"},
        {**kept, "public_key": "00"},
        {**proof, "path": 1},
    ):
        assert verified(tmp_path, unreadable) == 2


def test_without_the_other_files_the_result_lists_the_missing_checks(
    system: LogSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = some_packets(system, 3)
    proof = system.page(log_pages.inclusion_page, id_hash=id_hash_of(ids[1]))
    growth = system.page(log_pages.consistency_page, **{"from": "2"})

    assert verified(tmp_path, proof, growth) == 3
    output = capsys.readouterr().out
    assert "signature   not checked" in output
    assert "inclusion   1 not checked: give a head of 3 entries" in output
    assert "growth      2 to 3 not checked: give both heads" in output
    assert output.endswith("\nNOT ALL CHECKED, left: 3\n")
    # These files have no head, a head of another size, or fewer entries than their head.
    page = system.page(log_pages.entries_page)
    mine = {"id": ids[1], "commitment": proof["commitment"]}
    other_size = {**proof, "size": 4, "path": ["0" * 64]}
    assert verified(tmp_path, {"items": page["items"]}, **{"key-id": page["key_id"]}) == 3
    assert verified(tmp_path, {**page, "items": []}, other_size, **mine) == 3
    assert verified(tmp_path, {**page, "items": page["items"][:2]}) == 3
    assert verified(tmp_path, {**page, "items": page["items"][:1]}, proof, **mine) == 0


def test_a_commitment_without_its_id_is_an_error(system: LogSystem, tmp_path: Path) -> None:
    some_packets(system, 1)

    with pytest.raises(SystemExit) as ended:
        verified(tmp_path, system.page(log_pages.entries_page), commitment="0" * 64)

    assert ended.value.code == 2


def test_an_entry_outside_every_signed_head_proves_nothing(
    system: LogSystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some_packets(system, 2)
    page = system.page(log_pages.entries_page)
    shown = {**page["items"][1], "index": 2, "id_hash": id_hash_of("promised")}

    # This entry was shown to one person, but never signed.
    assert verified(tmp_path, {**page, "items": [*page["items"], shown]}, id="promised") == 1
    assert "entry 2 does not belong to the head of 2 entries" in capsys.readouterr().out
    assert verified(tmp_path, page, {"items": [{**shown, "index": 7}]}, id="promised") == 3
    assert "place       7 not checked: give its proof" in capsys.readouterr().out
    proof = system.page(log_pages.inclusion_page, id_hash=page["items"][1]["id_hash"])
    assert verified(tmp_path, page, proof) == 0
    assert "place " not in capsys.readouterr().out


def test_a_page_ends_at_the_signed_head_and_the_next_one_continues(system: LogSystem) -> None:
    some_packets(system, 3)
    system.send()
    # A process appends the entry and crashes before it signs the head.
    client = CutDynamo(system.dynamo)
    client.cut_at, client.how = IO_MAX, "killed"
    for at in range(1, IO_MAX):
        client.count, client.cut_at = 0, at
        with suppress(Killed):
            system.extend(client=client)
        if system.log.find_end()[0].size == 4:
            break
    assert system.head().size == 3

    page = system.page(log_pages.entries_page)
    rest = system.page(log_pages.entries_page, cursor="2")

    assert (len(page["items"]), page["size"], page["next"]) == (3, 3, None)
    assert [item["index"] for item in rest["items"]] == [2]
    assert system.page(log_pages.entries_page, cursor="3")["items"] == []
    system.extend()
    assert system.head().size == 4


def test_an_id_that_is_not_in_the_log_is_not_found(system: LogSystem) -> None:
    with pytest.raises(errors.Unavailable):
        system.page(log_pages.entries_page)
    ids = some_packets(system, 3)
    packet_id = system.send().packet_id

    for query in (
        {"id_hash": "0" * 64},
        {"id_hash": id_hash_of(packet_id)},
        {"id_hash": id_hash_of(ids[2]), "size": "2"},
    ):
        assert log_pages.inclusion_page(_asking(query)) is None
    for page, query in (
        (log_pages.inclusion_page, {"id_hash": id_hash_of(ids[0]), "size": "4"}),
        (log_pages.inclusion_page, {"id_hash": id_hash_of(ids[0]), "size": "0"}),
        (log_pages.inclusion_page, {"id_hash": ids[0]}),
        (log_pages.inclusion_page, {}),
        (log_pages.consistency_page, {"from": "1", "to": "4"}),
        (log_pages.consistency_page, {"from": "3", "to": "2"}),
        (log_pages.consistency_page, {"from": "0"}),
        (log_pages.consistency_page, {}),
        (log_pages.entries_page, {"cursor": "-1"}),
    ):
        with pytest.raises(errors.RedPacketError) as refused:
            system.page(page, **query)
        assert refused.value.code == "invalid_request"


def test_a_proof_of_a_given_size_may_be_cached_permanently_and_one_of_the_current_size_may_not(
    system: LogSystem,
) -> None:
    (packet_id,) = some_packets(system, 1)
    query = {"id_hash": id_hash_of(packet_id)}

    now = log_pages.inclusion_page(_asking(query))
    fixed = log_pages.inclusion_page(_asking({**query, "size": "1"}))

    assert now
    assert fixed
    assert tuple(page.headers["cache-control"] for page in (now, fixed)) == log_pages.PROOF_CACHING
    assert "immutable" in fixed.headers["cache-control"]


# ---------------------------------------------------------------- interruptions and concurrency


def extend(system: LogSystem, client: Any) -> object:
    return system.extend(client=client)


def _a_log_with_some_that_wait() -> LogSystem:
    system = LogSystem()
    system.send()
    system.extend()
    for _ in range(3):
        system.pass_time(1)
        system.send()
    return system


def _each_cut(do: Callable[[LogSystem, Any], object], how: str, between: Any = None) -> int:
    """Interrupt *do* at each of its I/Os; afterwards check that the log is complete."""
    for at in range(1, IO_MAX):
        system = _a_log_with_some_that_wait()
        client = CutDynamo(system.dynamo)
        client.cut_at, client.how = at, how
        if between:
            client.between = partial(between, system)
        with suppress(errors.RedPacketError, Killed):
            do(system, client)
        got_so_far = client.count >= at
        system.extend()
        entries = system.entries()
        assert len(entries) == 4
        assert len({entry.id_hash for entry in entries}) == 4
        assert system.head().size == 4
        assert "log_differs" not in system.logger.events
        _check_signed_once(system)
        if not got_so_far:
            return at
    raise AssertionError("it never came to its end")


def _check_signed_once(system: LogSystem) -> None:
    roots: dict[str, str] = {}
    for message in system.signer.messages:
        _, size, root = message.decode().splitlines()
        assert roots.setdefault(size, root) == root


@pytest.mark.parametrize("how", ["lost", "in doubt", "killed"])
def test_a_run_interrupted_anywhere_loses_duplicates_and_rewrites_nothing(how: str) -> None:
    assert _each_cut(extend, how) > 10


def test_two_concurrent_runs_give_each_commitment_one_place() -> None:
    """Make a complete second run at each I/O of the first."""
    assert _each_cut(extend, "between", LogSystem.extend) > 10


def test_a_send_between_any_two_steps_is_in_the_log_after_the_next_run() -> None:
    for at in range(1, IO_MAX):
        system = _a_log_with_some_that_wait()
        client = CutDynamo(system.dynamo)
        client.cut_at, client.how, client.between = at, "between", system.send
        system.extend(client=client)
        system.extend()
        if client.count < at:
            break
        assert len(system.entries()) == 5
