"""Model in bench/settle.py: virtual time, limits, and a control that misses the bound."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bench import settle
from bench.report import BENCHES
from bench.slow_dynamo import SlowDynamo
from bench.virtual import VirtualTime
from bench.waiting_claims import PayoutQueue, QueueTerms
from local.template import read_template
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.dynamodb.client import put, to_wire, update
from testing.builders import NOW_MS

DEPLOYED = read_template()
REFS = [ShareRef("p", number) for number in range(1, 6)]


@pytest.fixture
def virtual() -> VirtualTime:
    return VirtualTime(NOW_MS)


@pytest.fixture
def client(virtual: VirtualTime) -> SlowDynamo:
    slow = SlowDynamo(virtual, {}, seed=1)
    slow.is_slow = True
    return slow


def _run(virtual: VirtualTime, do: Callable[[], object]) -> float:
    """Run *do* in virtual time; return the elapsed seconds."""

    def run() -> None:
        do()

    virtual.spawn(run)
    virtual.run()
    return virtual.now_s


# ---- time


def test_flows_run_concurrently_in_virtual_time(virtual: VirtualTime) -> None:
    seen: list[tuple[int, str]] = []

    def flow(name: str, pause_ms: int) -> None:
        for _ in range(2):
            virtual.sleep_ms(pause_ms)
            seen.append((virtual.now_ms() - NOW_MS, name))

    virtual.spawn(lambda: flow("slow", 300))
    virtual.spawn(lambda: flow("fast", 200))
    virtual.run()

    assert seen == [(200, "fast"), (300, "slow"), (400, "fast"), (600, "slow")]


def test_parallel_work_takes_as_long_as_its_longest_part(virtual: VirtualTime) -> None:
    results: list[list[int]] = []

    def double(number: int) -> int:
        virtual.sleep_s(number)
        return 2 * number

    took_s = _run(virtual, lambda: results.append(virtual.in_parallel(double, [3, 1, 2])))

    assert results == [[6, 2, 4]]
    assert took_s == 3


# ---- DynamoDB


@pytest.mark.parametrize(("items", "least_s", "most_s"), [(1, 0.015, 0.03), (100, 0.035, 0.08)])
def test_the_time_of_a_transaction_depends_on_its_items(
    items: int, least_s: float, most_s: float, client: SlowDynamo, virtual: VirtualTime
) -> None:
    rows = [put("table", {"pk": str(number), "sk": "row"}) for number in range(items)]

    took_s = _run(virtual, lambda: client.transact_write_items(TransactItems=rows))

    assert least_s <= took_s <= most_s


def test_only_overlapping_transactions_conflict(client: SlowDynamo, virtual: VirtualTime) -> None:
    codes: list[str] = []

    def write(pk: str) -> None:
        row = put("table", {"pk": pk, "sk": "row"}, condition="attribute_exists(pk)")
        del row["Put"]["ConditionExpression"]
        try:
            client.transact_write_items(TransactItems=[row])
        except ClientError as error:
            canceled: Any = error.response
            codes.extend(reason["Code"] for reason in canceled["CancellationReasons"])

    for pk in ("one", "one", "two"):
        virtual.spawn(lambda pk=pk: write(pk))  # type: ignore[misc]
    virtual.run()

    assert codes == ["TransactionConflict"]
    assert set(client.tables["table"]) == {("one", "row"), ("two", "row")}


def test_a_partition_takes_a_thousand_write_units_a_second(
    client: SlowDynamo, virtual: VirtualTime
) -> None:
    written: list[float] = []

    def write(number: int) -> None:
        while virtual.now_s < 5:
            add = update("table", {"pk": "hot", "sk": f"{number}"}, "ADD n :one", one=1)
            try:
                client.transact_write_items(TransactItems=[add])
            except client.exceptions.TransactionCanceledException as canceled:
                reasons: Any = canceled.response
                assert reasons["CancellationReasons"] == [{"Code": "ThrottlingError"}]
            else:
                written.append(virtual.now_s)

    for number in range(50):
        virtual.spawn(lambda number=number: write(number))  # type: ignore[misc]
    virtual.run()

    assert 450 <= len(written) / virtual.now_s <= 550
    assert client.units.throttled_count > 0


def test_a_throttled_single_write_is_retried_by_the_client(
    client: SlowDynamo, virtual: VirtualTime
) -> None:
    row = to_wire({"pk": "hot", "sk": "x" * 10_000})

    def write() -> None:
        for _ in range(300):
            client.put_item(TableName="table", Item=row)

    took_s = _run(virtual, write)

    assert client.units.throttled_count > 0
    assert client.units.written == 3_000
    assert took_s > 2.5


def test_a_receipt_is_two_write_units_of_a_claim() -> None:
    plain, receipted = (
        settle.run_ours(200, 1, DEPLOYED, has_receipts=has_receipts)
        for has_receipts in (False, True)
    )

    assert plain.settled == receipted.settled == 200
    more = receipted.units.written - plain.units.written
    assert more / plain.claims == pytest.approx(2, abs=0.05)
    # Only a few claims share the writes for funding, closing and final pages here.
    assert 11 <= plain.units.written / plain.claims <= 14


# ---- the queue


def test_failed_messages_are_hidden_and_go_to_the_dlq_after_their_receives(
    virtual: VirtualTime,
) -> None:
    queue = PayoutQueue(REFS, QueueTerms(180, 5, 2), virtual)
    tries: list[tuple[float, ShareRef]] = []

    def invoke(batch: list[ShareRef]) -> set[ShareRef]:
        tries.extend((virtual.now_s, ref) for ref in batch)
        return {ref for ref in batch if ref.share_no == 3}

    _run(virtual, lambda: queue.work(invoke, lambda: 0.01))

    assert queue.dead == [REFS[2]]
    times = [at_s for at_s, ref in tries if ref.share_no == 3]
    assert len(times) == 5
    assert all(after - before >= 180 for before, after in pairwise(times))
    assert len(tries) == 4 + 5


def test_the_queue_has_the_settings_of_the_template() -> None:
    terms = QueueTerms.of(DEPLOYED)

    assert (terms.visibility_s, terms.receives_max) == (180, 5)
    assert terms.batch_size >= 20


# ---- the control


def test_one_escrow_row_misses_the_bound_and_loses_claims_to_the_dlq() -> None:
    (bound,) = [each for each in BENCHES["settle"].figures if each.key == "claims_per_s"]

    run = settle.run_naive(5_500, 40, DEPLOYED)
    alone = settle.run_naive(200, 1, DEPLOYED)

    assert not bound.is_reached(run.claims_per_s)
    assert run.conflicts > 100
    assert run.dead > 0
    assert run.settled + run.dead == run.claims
    # The losses come only from conflicts: without concurrency, the same code settles every claim.
    assert (alone.conflicts, alone.settled) == (0, alone.claims)
