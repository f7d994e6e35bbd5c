"""Results of the client's transactions while other transactions hold their rows."""

from collections.abc import Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.platform.aws.errors import PASSING
from redpacket.platform.dynamodb.client import (
    KEYS_PER_READ,
    TRIES,
    ConflictPersists,
    Dynamo,
    TransactionCanceled,
    put,
)
from redpacket.platform.errors import Busy, IdempotencyKeyReused, InvariantViolated, Unavailable
from redpacket.platform.idempotency import Request
from testing.builders import NOW_MS, a_funding, a_packet
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES

ROWS = [put("table", {"pk": name, "sk": "row"}) for name in ("one", "two")]


def _canceled(codes: Sequence[str]) -> ClientError:
    response: Any = {
        "Error": {"Code": "TransactionCanceledException"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }
    return FakeDynamo.exceptions.TransactionCanceledException(response, "TransactWriteItems")


def _in_progress() -> ClientError:
    response: Any = {"Error": {"Code": "TransactionInProgressException"}}
    return FakeDynamo.exceptions.TransactionInProgressException(response, "TransactWriteItems")


class _Contended(FakeDynamo):
    """Client that fails transactions with *errors* in order; later ones succeed."""

    def __init__(self, errors: Sequence[Exception]) -> None:
        super().__init__()
        self._errors = list(errors)
        self.transaction_count = 0
        self.tokens: list[str] = []

    def transact_write_items(self, **request: Any) -> None:
        self.transaction_count += 1
        self.tokens.append(request["ClientRequestToken"])
        if self._errors:
            raise self._errors.pop(0)
        super().transact_write_items(**request)


def _dynamo(client: FakeDynamo, pauses_s: list[float] | None = None) -> Dynamo:
    kept: list[float] = [] if pauses_s is None else pauses_s
    return Dynamo(lambda: client, TABLE_NAMES, pause_s=kept.append)


@pytest.mark.parametrize(
    "code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
)
def test_a_conflicting_transaction_is_retried(code: str) -> None:
    client = _Contended([_canceled(["None", code])] * 2)
    pauses_s: list[float] = []

    _dynamo(client, pauses_s).transact(ROWS)

    assert set(client.tables["table"]) == {("one", "row"), ("two", "row")}
    assert len(pauses_s) == 2
    # A canceled transaction is retried with a new token.
    assert len(set(client.tokens)) == 3


def test_a_transaction_that_is_canceled_for_all_reasons_at_once_is_retried() -> None:
    client = _Contended([_canceled(["None", "ConditionalCheckFailed", *sorted(PASSING)])])

    _dynamo(client).transact(ROWS)

    assert client.transaction_count == 2


def test_a_transaction_with_the_same_token_in_progress_is_retried() -> None:
    client = _Contended([_in_progress()])

    _dynamo(client).transact(ROWS)

    assert len(client.tables["table"]) == 2


@pytest.mark.parametrize("count", [0, KEYS_PER_READ, KEYS_PER_READ + 1])
def test_any_number_of_rows_is_read(count: int) -> None:
    client = FakeDynamo()
    row_keys = [{"pk": str(number), "sk": "row"} for number in range(count)]
    for key in row_keys:
        _dynamo(client).write(put("table", key))

    rows = _dynamo(client).get_many("table", row_keys, is_strong=True)

    assert sorted(rows, key=str) == sorted(row_keys, key=str)


def test_a_persistent_conflict_names_the_rows_that_others_held() -> None:
    pauses_s: list[float] = []
    client = _Contended([_canceled(["None", "TransactionConflict"])] * TRIES)

    with pytest.raises(ConflictPersists) as conflict:
        _dynamo(client, pauses_s).transact(ROWS)

    assert conflict.value.positions == {1}
    assert isinstance(conflict.value, Unavailable)
    assert (client.tables, client.transaction_count) == ({}, TRIES)
    # Each wait may be twice as long as the one before, but all are short.
    assert all(0 <= pause <= 0.02 * 2**number for number, pause in enumerate(pauses_s))


def test_a_failed_condition_with_a_conflict_is_retried() -> None:
    mixed = _canceled(["TransactionConflict", "ConditionalCheckFailed"])
    client = _Contended([mixed, _canceled(["None", "ConditionalCheckFailed"])])

    with pytest.raises(TransactionCanceled) as canceled:
        _dynamo(client).transact(ROWS)

    assert canceled.value.rows == [None, {}]
    assert client.transaction_count == 2


def test_reasons_that_stay_mixed_are_a_persistent_conflict() -> None:
    client = _Contended([_canceled(["TransactionConflict", "ConditionalCheckFailed"])] * TRIES)

    with pytest.raises(ConflictPersists) as conflict:
        _dynamo(client).transact(ROWS)

    assert conflict.value.positions == {0}


def test_a_single_write_that_conflicts_with_a_transaction_is_retried() -> None:
    client = FakeDynamo()
    commit = client.begin(ROWS)
    pauses_s: list[float] = []

    def pause(seconds: float) -> None:
        pauses_s.append(seconds)
        if len(pauses_s) == 2:
            commit()

    dynamo = Dynamo(lambda: client, TABLE_NAMES, pause_s=pause)

    # The retry finds the rows that the transaction wrote.
    assert not dynamo.write(ROWS[0])
    assert len(pauses_s) == 2


def test_a_single_write_on_a_locked_row_is_a_persistent_conflict() -> None:
    client = FakeDynamo()
    client.begin(ROWS)
    pauses_s: list[float] = []

    with pytest.raises(ConflictPersists):
        _dynamo(client, pauses_s).write(ROWS[0])

    assert len(pauses_s) == TRIES
    assert not client.tables["table"]


def test_a_transaction_in_progress_is_repeated_with_its_token() -> None:
    class Committed(_Contended):
        def transact_write_items(self, **request: Any) -> None:
            if not self.tokens:
                # Commit the transaction, although the caller gets an error about one in
                # progress.
                FakeDynamo.transact_write_items(self, **request)
            super().transact_write_items(**request)

    client = Committed([_in_progress()])

    _dynamo(client).transact(ROWS)

    assert len(client.tokens) == 2
    assert len(set(client.tokens)) == 1


def test_a_permanent_reason_is_not_retried() -> None:
    client = _Contended([_canceled(["ValidationError", "None"])])

    with pytest.raises(InvariantViolated, match="ValidationError"):
        _dynamo(client).transact(ROWS)

    assert client.transaction_count == 1


# ---- errors for senders


def _ledger(client: FakeDynamo) -> DynamoLedger:
    return DynamoLedger(_dynamo(client))


def _deposit(client: FakeDynamo, key: str = "key", body_hash: str = "body") -> None:
    transfer = Transfer(f"deposit:{key}", TransferKind.DEPOSIT, DEPOSITS, "user:ann", 1, NOW_MS)
    deposits = DynamoDeposits(_dynamo(client))
    deposits.deposit(transfer, Request("operator", key, body_hash))


@pytest.mark.parametrize(("place", "error"), [(0, Busy), (1, Busy), (2, ConflictPersists)])
def test_a_locked_request_row_is_busy_and_a_locked_account_is_unavailable(
    place: int, error: type[Exception]
) -> None:
    held = ["None"] * 5
    held[place] = "TransactionConflict"

    with pytest.raises(error):
        _deposit(_Contended([_canceled(held)] * TRIES))


def test_a_request_that_was_locked_briefly_is_executed_once() -> None:
    client = _Contended([_canceled(["TransactionConflict"] * 5)] * (TRIES - 1))

    _deposit(client)
    _deposit(client)

    assert _ledger(client).balance_fen("user:ann") == 1


def test_a_conflict_does_not_hide_the_reuse_of_a_key() -> None:
    client = _Contended([])
    _deposit(client)

    with pytest.raises(IdempotencyKeyReused):
        _deposit(client, body_hash="other")


def test_a_packet_whose_sender_is_locked_is_not_funded() -> None:
    packet = a_packet()
    client = _Contended([_canceled([*["None"] * 3, "TransactionConflict", *["None"] * 3])] * TRIES)

    funding = DynamoFunding(_dynamo(client))

    with pytest.raises(ConflictPersists):
        funding.fund(packet, a_funding(packet), Request("sender", "key", "body"))

    assert client.tables == {}
