"""In-memory stand-ins; tests/contract holds each of them to the real thing."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

from botocore.exceptions import ClientError

from redpacket.domain.campaign import CampaignPlan, CampaignStatus, WhenSoldOut
from redpacket.domain.claim import (
    AdmitOutcome,
    AdmitStatus,
    Fate,
    GrabOutcome,
    GrabStatus,
    Quota,
    QuotaStatus,
    ShareFate,
    ShareRef,
)
from redpacket.domain.errors import Unavailable
from redpacket.domain.limits import Limit
from redpacket.domain.lottery import (
    DrawAsk,
    DrawDay,
    DrawOutcome,
    DrawStatus,
    DrawTable,
    Player,
    Prize,
    PrizeStock,
    choose,
)
from redpacket.domain.packet import Packet, PacketStatus, part_id, part_size
from redpacket.domain.switches import Switch, SwitchState
from redpacket.flows.recall_emptied import KEPT_MS
from redpacket.ports import SwitchesSeen
from tests.builders import NOW_MS

Item = dict[str, Any]


class FakeClock:
    """Stands still until it is told to move; sleeping moves it."""

    def __init__(self, at_ms: int = NOW_MS) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.at_ms += duration_ms


class FakeJournal:
    """Remembers what happened."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.errors: list[tuple[str, Exception]] = []

    def event(self, name: str, **_details: str | int) -> None:
        self.events.append(name)

    def failure(self, name: str, error: Exception, **_details: str | int) -> None:
        self.errors.append((name, error))


class FakeQueue:
    """Implements PayoutQueue with a list; *delays_s* has the delay of every message so far."""

    def __init__(self) -> None:
        self.refs: list[ShareRef] = []
        self.delays_s: list[int] = []

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        waiting = list(refs)
        self.refs.extend(waiting)
        self.delays_s.extend([delay_s] * len(waiting))

    def take_all(self) -> list[ShareRef]:
        taken, self.refs = self.refs, []
        return taken


class FakeLimits:
    """Implements Limits as the script does, with a clock of its own."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._due_ms: dict[tuple[str, str], int] = {}
        self.is_away = False

    def take(self, limit: Limit, subject: str) -> int:
        if self.is_away:
            raise Unavailable("the cache does not answer")
        now_ms = self._clock.now_ms()
        key = limit.name, subject
        due_ms = max(now_ms, self._due_ms.get(key, 0)) + limit.interval_ms
        wait_ms = due_ms - now_ms - limit.burst * limit.interval_ms
        if wait_ms <= 0:
            self._due_ms[key] = due_ms
        return max(0, wait_ms)


class FakeSwitchStore:
    """Implements SwitchStore with a dictionary, and counts how often it is read."""

    def __init__(self) -> None:
        self.states = {switch: SwitchState(switch) for switch in Switch}
        self.read_count = 0
        self.error: Exception | None = None

    def list_states(self) -> list[SwitchState]:
        self.read_count += 1
        if self.error:
            raise self.error
        return list(self.states.values())

    def put(self, state: SwitchState) -> None:
        if self.error:
            raise self.error
        self.states[state.switch] = state

    def turn(self, switch: Switch, *, is_on: bool) -> None:
        self.states[switch] = SwitchState(switch, is_on=is_on)


class FakeSwitchCopy:
    """Implements SwitchCopy; forgets by the clock it is given."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._seen: SwitchesSeen | None = None
        self._until_ms = 0
        self.is_away = False

    def find(self) -> SwitchesSeen | None:
        self._check()
        return self._seen if self._clock.now_ms() < self._until_ms else None

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        self._check()
        self._seen, self._until_ms = seen, self._clock.now_ms() + for_ms

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the cache does not answer")


class FakeDeliveries:
    """Implements Deliveries."""

    def __init__(self) -> None:
        self.is_on = True
        self.turned: list[bool] = []
        self.is_away = False

    def turn(self, *, is_on: bool) -> None:
        if self.is_away:
            raise Unavailable("the mapping can't be changed now")
        self.turned.append(is_on)
        self.is_on = is_on


class FakeDeadLetters:
    """Implements DeadLetters with a number."""

    def __init__(self, dead_count: int) -> None:
        self._dead_count = dead_count

    def count(self) -> int:
        return self._dead_count


_DECIDED_BY_THE_CLOCK = {GrabStatus.PACKET_EXPIRED, GrabStatus.PACKET_NOT_STARTED}


def _is_decided(board: Item, seen: GrabOutcome) -> bool:
    """Tell whether the cache says so without its clock: reopening, too, is a matter of time."""
    reopens = seen.status is GrabStatus.PACKET_EMPTIED and board["letter"] == "O"
    return seen.status not in _DECIDED_BY_THE_CLOCK and not reopens


class FakeBoard:
    """Implements PartBoard as the scripts do, with a clock of its own."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.boards: dict[str, Item] = {}
        self._loading_until_ms: dict[tuple[str, int], int] = {}
        self._lives = itertools.count(1)
        self._life = next(self._lives)
        self._life_of_slot: dict[str, int] = {}

    def snapshot(self) -> dict[str, Item]:
        """Return a copy that later claims don't change: what a replica has seen so far."""
        return {
            packet_id: {
                **board,
                "users": dict(board["users"]),
                "returned": list(board["returned"]),
                "admitted": dict(board.get("admitted", {})),
            }
            for packet_id, board in self.boards.items()
        }

    def fail_over(self, snapshot: dict[str, Item], slots: Collection[str] | None = None) -> None:
        """Become what *snapshot* remembers, or only in *slots*: one node of several is lost."""
        life = next(self._lives)
        if slots is None:
            self._life, self._life_of_slot = life, {}
        else:
            self._life_of_slot |= dict.fromkeys(slots, life)
        for packet_id in list(self.boards) if slots is None else slots:
            self.boards.pop(packet_id, None)
        for packet_id in snapshot if slots is None else set(slots) & snapshot.keys():
            self.boards[packet_id] = snapshot[packet_id]

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        seen = self._look(packet_id, user_id)
        board = self.boards.get(packet_id, {"terms": ""})
        if board["terms"] and board["is_gated"] and not (seen and _is_decided(board, seen)):
            if board["letter"] == "C":
                seen = GrabOutcome(GrabStatus.PACKET_EXPIRED)
            else:
                terms = board["terms"]
                seen = GrabOutcome(GrabStatus.PACKET_GATED, None, terms, is_gated=True)
        outcome = seen or self._hand_out(packet_id, user_id)
        is_certain = board.get("is_whole", True)
        if outcome.status is GrabStatus.PACKET_EMPTIED and board["letter"] == "E":
            is_certain = is_certain and self.knows_takers(packet_id, user_id)
        return replace(outcome, is_certain=is_certain)

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        return self._look(packet_id, user_id) or self._hand_out(packet_id, user_id)

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        seen = self._look(packet_id, user_id)
        if seen:
            return AdmitOutcome(AdmitStatus(seen.status), seen.share_no or 0)
        now_ms = self.clock.now_ms()
        ends = self.boards[packet_id].setdefault("admitted", {})
        for other in [user for user, end_ms in ends.items() if end_ms <= now_ms]:
            del ends[other]
        if user_id not in ends and len(ends) >= admitted_max:
            return AdmitOutcome(AdmitStatus.CROWDED, min(ends.values()))
        return AdmitOutcome(AdmitStatus.ADMITTED, ends.setdefault(user_id, now_ms + life_ms))

    def _look(self, packet_id: str, user_id: str) -> GrabOutcome | None:
        """Return the answer of a packet that hands out nothing to the user."""
        board = self.boards.get(packet_id) or self._a_board()
        terms, now_ms = board["terms"], self.clock.now_ms()
        if user_id in board["users"]:
            share_no = board["users"][user_id]
            return GrabOutcome(
                GrabStatus.ALREADY_CLAIMED,
                share_no,
                terms,
                board["is_gated"],
                is_last=board["letter"] == "E",
            )
        if not terms:
            return GrabOutcome(GrabStatus.PACKET_NOT_LOADED)
        if board["letter"] == "E":
            return GrabOutcome(GrabStatus.PACKET_EMPTIED, None, terms)
        if board["letter"] == "C" or now_ms >= board["expires_at_ms"]:
            return GrabOutcome(GrabStatus.PACKET_EXPIRED)
        if now_ms < max(board["starts_at_ms"], board.get("reopens_at_ms", 0)):
            was_emptied = "reopens_at_ms" in board
            status = GrabStatus.PACKET_EMPTIED if was_emptied else GrabStatus.PACKET_NOT_STARTED
            return GrabOutcome(status)
        return None

    def _hand_out(self, packet_id: str, user_id: str) -> GrabOutcome:
        board = self.boards[packet_id]
        if board["given_no"] < board["count"]:
            share_no = board["given_no"] = board["given_no"] + 1
        else:
            share_no = board["returned"].pop(0)
        board["users"][user_id] = share_no
        self._note_emptied(board)
        return GrabOutcome(
            GrabStatus.CLAIMED,
            share_no,
            board["terms"],
            board["is_gated"],
            is_last=board["letter"] == "E",
        )

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        packet_id, count = packet.packet_id, packet.terms.count
        self._bring(packet_id, packet, count, shares, is_whole=True)
        if len(shares) == count:
            self.boards[packet_id]["sign"] = "told"

    def load_part(
        self, packet: Packet, part: int, shares: Sequence[ShareFate], *, is_whole: bool
    ) -> None:
        board_id, count = part_id(packet.packet_id, part), part_size(packet, part)
        self._bring(board_id, packet, count, shares, is_whole=is_whole)

    def load_sent(self, packet: Packet) -> None:
        is_new = not self.is_loaded(packet.packet_id, 0)
        self.load(packet, [])
        self._sign(packet.packet_id, is_new=is_new)

    def load_sent_part(self, packet: Packet, part: int) -> None:
        board_id = part_id(packet.packet_id, part)
        is_new = not self.is_loaded(board_id, 0)
        self.load_part(packet, part, [], is_whole=True)
        self._sign(board_id, is_new=is_new)

    def _sign(self, board_id: str, *, is_new: bool) -> None:
        if is_new:
            self.boards[board_id]["sign"] = self._life_of(board_id)

    def knows_takers(self, packet_id: str, user_id: str) -> bool:
        sign = self.boards.get(packet_id, {}).get("sign")
        return sign in {"told", self._life_of(packet_id)}

    def _life_of(self, packet_id: str) -> int:
        return self._life_of_slot.get(packet_id, self._life)

    def note(self, board_id: str, numbers: Mapping[str, int]) -> None:
        board = self.boards.setdefault(board_id, self._a_board())
        for user_id, number in numbers.items():
            board["users"].setdefault(user_id, number)

    def _bring(
        self,
        board_id: str,
        packet: Packet,
        count: int,
        shares: Sequence[ShareFate],
        *,
        is_whole: bool,
    ) -> None:
        claimed_count = sum(share.fate is Fate.CLAIMED for share in shares)
        is_open = packet.status is PacketStatus.OPEN or claimed_count == count
        board = self.boards.setdefault(board_id, self._a_board())
        if not board["terms"]:
            board |= {
                "terms": str(packet.terms),
                "is_gated": not packet.rules.is_plain,
                "is_whole": is_whole,
                "count": count,
                "starts_at_ms": packet.starts_at_ms,
                "expires_at_ms": packet.expires_at_ms,
            }
        for share in shares:
            if share.taker:
                board["users"].setdefault(share.taker.user_id, share.share_no)
        numbers = {share.share_no for share in shares}
        durable_no = max(numbers, default=0)
        board["returned"] += [
            number for number in range(board["given_no"] + 1, durable_no) if number not in numbers
        ]
        board["given_no"] = max(board["given_no"], durable_no)
        if not is_open:
            board["letter"] = "C"
        self._note_emptied(board)

    def begin_look(self, packet_id: str, part: int, life_ms: int) -> bool:
        return self.begin_load(packet_id, -1 - part, life_ms)

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        now_ms = self.clock.now_ms()
        if self._loading_until_ms.get((packet_id, part), 0) > now_ms:
            return False
        self._loading_until_ms[packet_id, part] = now_ms + life_ms
        return True

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        now_ms = self.clock.now_ms()
        if self._loading_until_ms.get((packet_id, part), 0) > now_ms:
            self._loading_until_ms[packet_id, part] = now_ms + life_ms

    def is_loaded(self, packet_id: str, part: int) -> bool:
        return bool(self.boards.get(packet_id, self._a_board())["terms"])

    def disown(self, packet_id: str, user_id: str, share_no: int) -> None:
        board = self.boards.get(packet_id)
        if board and board["users"].get(user_id) == share_no:
            del board["users"][user_id]
            self._doubt(board)

    def give_back(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        board = self.boards.get(packet_id)
        if board and board["users"].get(user_id) == share_no:
            board["users"][user_id] = owned_no
            self._doubt(board)
            self._offer_again(board, share_no)

    def free(self, packet_id: str, user_id: str, share_no: int) -> None:
        board = self.boards.get(packet_id)
        if board and board["users"].get(user_id) == share_no:
            del board["users"][user_id]
            self._offer_again(board, share_no)

    def close(self, packet_id: str) -> None:
        board = self.boards.get(packet_id)
        if board and board["letter"] == "O":
            board["letter"] = "C"

    def holders(self, packet_id: str) -> dict[str, int]:
        board = self.boards.get(packet_id)
        return dict(board["users"]) if board else {}

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        board = self.boards.get(packet_id)
        return frozenset(board["users"]) if board and board["letter"] == "E" else None

    @staticmethod
    def _doubt(board: Item) -> None:
        """The ledger knew a claim that this board did not see."""
        if board.get("sign") != "told":
            board["sign"] = None

    def _offer_again(self, board: Item, share_no: int) -> None:
        if not board["terms"]:
            return  # only users: the ledger's fates say what is free, once it is loaded
        if board["letter"] == "E":
            board["reopens_at_ms"] = self.clock.now_ms() + KEPT_MS
        board["returned"].append(share_no)
        self._note_emptied(board)

    @staticmethod
    def _a_board() -> Item:
        """Return what a note leaves where nothing is loaded."""
        return {
            "letter": "",
            "terms": "",
            "is_gated": False,
            "users": {},
            "given_no": 0,
            "returned": [],
        }

    @staticmethod
    def _note_emptied(board: Item) -> None:
        has_left = board["given_no"] < board["count"] or board["returned"]
        if board["letter"] != "C":
            board["letter"] = "O" if has_left else "E"


class FakeQuotas:
    """Implements Quotas as the script does."""

    def __init__(self) -> None:
        self.reserved: dict[tuple[str, str], set[str]] = {}
        self._known: dict[tuple[str, str], int] = {}

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        key = quota.campaign_id, user_id
        if claimed_count is not None:
            self._known[key] = claimed_count
        if self._known.get(key, 0) >= quota.count_max:
            return QuotaStatus.EXHAUSTED
        reserved = self.reserved.setdefault(key, set())
        if packet_id not in reserved and len(reserved) >= quota.count_max:
            return QuotaStatus.FULL
        reserved.add(packet_id)
        return QuotaStatus.RESERVED

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        self.reserved.get((quota.campaign_id, user_id), set()).discard(packet_id)

    def forget(self) -> None:
        """Lose everything."""
        self.reserved.clear()
        self._known.clear()


def _error(operation: str, code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)


class FakeDynamo:
    """A DynamoDB client in memory: the calls, conditions and updates that this project uses.

    A transaction holds its items while *during_transaction* runs. Another one that touches them is
    canceled, and a single write is refused; plain reads see what stood there before
    (docs/adr/0011). Attribute values are replaced and never changed, so a shallow copy of a row is
    a copy.
    """

    class exceptions:  # noqa: N801 - boto3's name
        class TransactionCanceledException(ClientError):
            pass

        class TransactionInProgressException(ClientError):
            pass

        class TransactionConflictException(ClientError):
            pass

        class ConditionalCheckFailedException(ClientError):
            pass

    def __init__(self, during_transaction: Callable[[], None] = lambda: None) -> None:
        self.tables: dict[str, FakeTable] = {}
        self.during_transaction = during_transaction
        self.conflict_count = 0
        self._held: set[Position] = set()
        self._tokens: set[str] = set()

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool) -> Item:  # noqa: N803
        item = self._table(TableName).get(_key(Key))
        return {"Item": dict(item)} if item else {}

    def batch_get_item(self, *, RequestItems: Item) -> Item:  # noqa: N803
        ((table, asked),) = RequestItems.items()
        if len({_key(key) for key in asked["Keys"]}) != len(asked["Keys"]):
            raise _error("BatchGetItem", "ValidationException")
        rows = [self._table(table).get(_key(key)) for key in asked["Keys"]]
        return {"Responses": {table: [dict(row) for row in rows if row]}}

    def put_item(self, *, TableName: str, Item: Item, **condition: Any) -> None:  # noqa: N803
        self._single({"Put": {"TableName": TableName, "Item": Item, **condition}})

    def delete_item(self, *, TableName: str, Key: Item) -> None:  # noqa: N803
        self._check_free((TableName, _key(Key)), "DeleteItem")
        del self._table(TableName)[_key(Key)]

    def update_item(self, *, TableName: str, **update: Any) -> Item:  # noqa: N803
        self._single({"Update": {"TableName": TableName, **update}})
        is_asked = update.get("ReturnValues") == "ALL_NEW"
        return {"Attributes": dict(self._table(TableName)[_key(update["Key"])])} if is_asked else {}

    def transact_write_items(
        self,
        *,
        TransactItems: list[Item],  # noqa: N803
        ClientRequestToken: str | None = None,  # noqa: N803
    ) -> None:
        if ClientRequestToken in self._tokens:
            return  # it was carried out before
        commit = self.begin(TransactItems)
        self.during_transaction()
        commit()
        if ClientRequestToken:
            self._tokens.add(ClientRequestToken)

    def begin(self, operations: list[Item]) -> Callable[[], None]:
        """Hold the items of a transaction until what is returned commits it."""
        touched = [locate(operation) for operation in operations]
        if len(set(touched)) != len(touched) or len(touched) > 100:
            raise _error("TransactWriteItems", "ValidationException")
        reasons = [
            self._conflict(position) or self._reason(operation)
            for position, operation in zip(touched, operations, strict=True)
        ]
        self._raise_canceled(reasons, "TransactWriteItems")
        # Nothing else writes them while they are held, so what they become is known.
        images = [self._after(operation) for operation in operations]
        self._held.update(touched)

        def commit() -> None:
            self._held.difference_update(touched)
            for (table, key), image in zip(touched, images, strict=True):
                if image is not None:
                    self._table(table)[key] = image

        return commit

    def query(self, *, TableName: str, **query: Any) -> Item:  # noqa: N803
        bound = query["ExpressionAttributeValues"]
        index, condition = query.get("IndexName", ""), query["KeyConditionExpression"]
        table = self._table(TableName)
        # The first term names the partition, and others can only be about the sort key.
        first, *others = _terms(condition)
        wanted = bound[first["right"]]
        if index:
            candidates = [row for row in table.values() if row.get(str(first["left"])) == wanted]
            rows = [row for row in candidates if _holds(condition, row, bound, {})]
            position = {"by_work": "work_at_ms", "by_list": "list_sk"}[index]
            rows.sort(key=lambda row: _comparable(row[position]))
        else:
            rows = table.partition(wanted["S"])
            for term in others:
                rows = _placed(term, rows, bound)
        if not query.get("ScanIndexForward", True):
            rows.reverse()
        start = query.get("ExclusiveStartKey", {}).get("at", 0)
        end = start + query.get("Limit", 1000)
        page: Item = {"Items": [dict(row) for row in rows[start:end]]}
        if end < len(rows):
            page["LastEvaluatedKey"] = {"at": end}
        return page

    def scan(self, *, TableName: str, **_options: Any) -> Item:  # noqa: N803
        table = self._table(TableName)
        return {"Items": [dict(table[key]) for key in sorted(table)]}

    def _table(self, name: str) -> FakeTable:
        if name not in self.tables:
            self.tables[name] = FakeTable()
        return self.tables[name]

    def _single(self, operation: Item) -> None:
        ((verb, _),) = operation.items()
        table, key = locate(operation)
        self._check_free((table, key), f"{verb}Item")
        if self._reason(operation)["Code"] != "None":
            code = "ConditionalCheckFailedException"
            raise self.exceptions.ConditionalCheckFailedException(
                {"Error": {"Code": code, "Message": code}}, f"{verb}Item"
            )
        image = self._after(operation)
        assert image is not None
        self._table(table)[key] = image

    def _conflict(self, position: Position) -> Item | None:
        """Return the reason of an operation on an item that another transaction holds."""
        if position not in self._held:
            return None
        return {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}

    def _check_free(self, position: Position, name: str) -> None:
        if conflict := self._conflict(position):
            self.conflict_count += 1
            response: Any = {
                "Error": {"Code": "TransactionConflictException", "Message": conflict["Message"]}
            }
            raise self.exceptions.TransactionConflictException(response, name)

    def _raise_canceled(self, reasons: list[Item], name: str) -> None:
        codes = [reason["Code"] for reason in reasons]
        if set(codes) <= {"None"}:
            return
        self.conflict_count += "TransactionConflict" in codes
        said = "Transaction cancelled, please refer cancellation reasons for specific reasons"
        response: Any = {
            "Error": {
                "Code": "TransactionCanceledException",
                "Message": f"{said} [{', '.join(codes)}]",
            },
            "CancellationReasons": reasons,
        }
        raise self.exceptions.TransactionCanceledException(response, name)

    def _reason(self, operation: Item) -> Item:
        ((_, arguments),) = operation.items()
        table, key = locate(operation)
        row = self._table(table).get(key)
        condition = arguments.get("ConditionExpression")
        bound = arguments.get("ExpressionAttributeValues", {})
        names = arguments.get("ExpressionAttributeNames", {})
        if not condition or _holds(condition, row or {}, bound, names):
            return {"Code": "None"}
        reason: Item = {
            "Code": "ConditionalCheckFailed",
            "Message": "The conditional request failed",
        }
        if row and arguments.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
            reason["Item"] = dict(row)
        return reason

    def _after(self, operation: Item) -> Item | None:
        """Return what an operation leaves in its place; None where it changes nothing."""
        ((verb, arguments),) = operation.items()
        if verb == "Put":
            return dict(arguments["Item"])
        if verb != "Update":
            return None
        table, key = locate(operation)
        row = dict(self._table(table).get(key) or arguments["Key"])
        _update(
            row,
            arguments["UpdateExpression"],
            arguments.get("ExpressionAttributeValues", {}),
            arguments.get("ExpressionAttributeNames", {}),
        )
        return row


Position: TypeAlias = tuple[str, tuple[str, str]]
"""A table and a key in it."""


class FakeTable(MutableMapping[tuple[str, str], Item]):
    """Rows by key, and by partition for queries."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Item] = {}
        self._partitions: defaultdict[str, dict[str, Item]] = defaultdict(dict)

    def partition(self, pk: str) -> list[Item]:
        """Return the rows of a partition by their sort keys."""
        rows = self._partitions.get(pk, {})
        return [rows[sk] for sk in sorted(rows)]

    def __getitem__(self, key: tuple[str, str]) -> Item:
        return self._rows[key]

    def __setitem__(self, key: tuple[str, str], row: Item) -> None:
        self._rows[key] = self._partitions[key[0]][key[1]] = row

    def __delitem__(self, key: tuple[str, str]) -> None:
        del self._rows[key], self._partitions[key[0]][key[1]]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: tuple[str, str], default: Any = None) -> Any:
        return self._rows.get(key, default)


def locate(operation: Item) -> Position:
    """Return which item an operation of a transaction is about."""
    ((verb, arguments),) = operation.items()
    return arguments["TableName"], _key(arguments["Item" if verb == "Put" else "Key"])


_TERM = re.compile(
    r"(?P<check>attribute_(?:not_)?exists)\((?P<checked>\w+)\)"
    r"|begins_with\((?P<prefixed>\w+), (?P<prefix>:\w+)\)"
    r"|(?P<ranged>\w+) BETWEEN (?P<first>:\w+) AND (?P<last>:\w+)"
    r"|(?P<left>#?\w+) (?P<operator>=|<>|<=|>=|<) (?P<right>:\w+)"
)


@cache
def _terms(condition: str) -> list[dict[str, str | None]]:
    terms = list(_TERM.finditer(condition))
    assert " AND ".join(term[0] for term in terms) == condition, f"can't read {condition}"
    return [term.groupdict() for term in terms]


def _holds(condition: str, row: Item, bound: Item, names: Item) -> bool:
    return any(
        all(_term_holds(term, row, bound, names) for term in _terms(alternative))
        for alternative in condition.split(" OR ")
    )


def _term_holds(term: dict[str, Any], row: Item, bound: Item, names: Item) -> bool:
    if term["check"]:
        return bool((term["checked"] in row) == (term["check"] == "attribute_exists"))
    if term["prefix"]:
        value = row.get(term["prefixed"], {"S": ""})["S"]
        return bool(value.startswith(bound[term["prefix"]]["S"]))
    if term["ranged"]:
        if term["ranged"] not in row:
            return False
        low, high = _comparable(bound[term["first"]]), _comparable(bound[term["last"]])
        return bool(low <= _comparable(row[term["ranged"]]) <= high)
    name = names.get(term["left"], term["left"])
    if name not in row:
        return False
    left, right = _comparable(row[name]), _comparable(bound[term["right"]])
    compare: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda one, other: one == other,
        "<>": lambda one, other: one != other,
        "<": lambda one, other: one < other,
        "<=": lambda one, other: one <= other,
        ">=": lambda one, other: one >= other,
    }
    return bool(compare[term["operator"]](left, right))


def _placed(term: dict[str, Any], rows: list[Item], bound: Item) -> list[Item]:
    """Return those of a partition's rows that a condition on the sort key is for."""
    if not term["ranged"]:
        return [row for row in rows if _term_holds(term, row, bound, {})]
    assert term["ranged"] == "sk"
    begin = bisect_left(rows, bound[term["first"]]["S"], key=lambda row: row["sk"]["S"])
    end = bisect_right(rows, bound[term["last"]]["S"], key=lambda row: row["sk"]["S"])
    return rows[begin:end]


def _update(row: Item, expression: str, bound: Item, names: Item) -> None:
    parts = re.split(r"\b(SET|ADD|REMOVE)\b", expression)[1:]
    for verb, clauses in zip(parts[::2], parts[1::2], strict=True):
        for clause in clauses.split(","):
            _update_clause(row, verb, clause.strip(), bound, names)


def _update_clause(row: Item, verb: str, clause: str, bound: Item, names: Item) -> None:
    if verb == "REMOVE":
        row.pop(clause, None)
    elif verb == "ADD":
        name, value = clause.split()
        total = int(row.get(name, {"N": "0"})["N"]) + int(bound[value]["N"])
        row[name] = {"N": str(total)}
    else:
        name, expression = (side.strip() for side in clause.split(" = "))
        name = names.get(name, name)
        added = re.fullmatch(r"(\w+) \+ (:\w+)", expression)
        if added:
            total = int(row[added[1]]["N"]) + int(bound[added[2]]["N"])
            row[name] = {"N": str(total)}
        else:
            row[name] = dict(bound[expression])


def _key(item: Item) -> tuple[str, str]:
    return item["pk"]["S"], item.get("sk", {"S": ""})["S"]


def _comparable(value: Item) -> Any:
    return int(value["N"]) if "N" in value else next(iter(value.values()))


class _Stock:
    """Numbers of a prize's units, or of its units of one day."""

    def __init__(self) -> None:
        self.issued_no = 0
        self.returned: list[int] = []

    @property
    def count(self) -> int:
        return self.issued_no - len(self.returned)

    def take(self, total: int) -> int:
        if self.issued_no < total:
            self.issued_no += 1
            return self.issued_no
        lowest = min(self.returned)
        self.returned.remove(lowest)
        return lowest

    def catch_up(self, durable_no: int, free: Sequence[int]) -> None:
        self.returned += [number for number in free if number > self.issued_no]
        self.issued_no = max(self.issued_no, durable_no)

    def offer(self, number: int) -> None:
        if number <= self.issued_no:
            self.returned.append(number)


class _DrawDay:
    """What a lottery remembers of one day; with a draw's outcome the misses before it."""

    def __init__(self) -> None:
        self.players: dict[str, Player] = {}
        self.stocks: defaultdict[str, _Stock] = defaultdict(_Stock)
        self.draws: dict[str, tuple[DrawOutcome, int]] = {}


class FakeDrawBoard:
    """Implements DrawBoard as the scripts do, with a clock of its own."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.is_away = False
        self.forget()

    def forget(self) -> None:
        """Lose everything."""
        self.tables: dict[str, DrawTable] = {}
        self.stocks: defaultdict[tuple[str, str], _Stock] = defaultdict(_Stock)
        self.days: defaultdict[tuple[str, str], _DrawDay] = defaultdict(_DrawDay)
        self.winners: set[tuple[str, str, str]] = set()
        self._loading_until_ms: dict[str, int] = {}

    def snapshot(self) -> Item:
        """Return a copy that later draws don't change: what a replica has seen so far."""
        kept = {name: value for name, value in vars(self).items() if name != "_clock"}
        return deepcopy(kept)

    def fail_over(self, snapshot: Item) -> None:
        """Become what *snapshot* remembers."""
        vars(self).update(deepcopy(snapshot))

    def draw(self, ask: DrawAsk) -> DrawOutcome:
        self._check()
        table = self.tables.get(ask.campaign_id)
        if refused := self._refusal(table, ask):
            return DrawOutcome(refused)
        assert table is not None
        day = self._day(ask)
        if ask.draw_id in day.draws:
            return replace(day.draws[ask.draw_id][0], is_repeat=True)
        player = day.players.get(ask.user_id, Player())
        if 0 < table.campaign.rules.attempts_per_user_per_day <= player.attempt_count:
            return DrawOutcome(DrawStatus.ATTEMPTS_EXHAUSTED)
        odds = self._odds(table, ask, player)
        won = choose(odds, ask.point)
        outcome = DrawOutcome(DrawStatus.MISSED, None, 0, 0, table.version, odds)
        if won is not None:
            (prize,) = (prize for prize in table.prizes if prize.prize_id == won)
            outcome = replace(
                outcome,
                status=DrawStatus.WON,
                prize_id=won,
                unit_no=self.stocks[ask.campaign_id, won].take(prize.total),
                day_no=day.stocks[won].take(prize.per_day) if prize.per_day else 0,
            )
            if prize.once_per_user:
                self.winners.add((ask.campaign_id, ask.user_id, won))
        day.draws[ask.draw_id] = outcome, player.miss_streak
        day.players[ask.user_id] = Player(
            player.attempt_count + 1,
            player.win_count + (won is not None),
            player.miss_streak + 1 if won is None else 0,
        )
        return outcome

    def load(self, table: DrawTable, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        self._check()
        campaign_id = table.campaign.campaign_id
        if campaign_id not in self.tables or self.tables[campaign_id].version <= table.version:
            self.tables[campaign_id] = table
        for of_prize in stock:
            self.stocks[campaign_id, of_prize.prize_id].catch_up(of_prize.durable_no, of_prize.free)
            self.days[campaign_id, day.name].stocks[of_prize.prize_id].catch_up(
                of_prize.day_durable_no, of_prize.day_free
            )

    def undo(self, ask: DrawAsk, *, is_unit_free: bool) -> None:
        self._check()
        day = self._day(ask)
        if ask.draw_id not in day.draws:
            return
        outcome, miss_streak = day.draws.pop(ask.draw_id)
        player = day.players.get(ask.user_id, Player())
        day.players[ask.user_id] = Player(
            player.attempt_count - 1,
            max(0, player.win_count - (outcome.prize_id is not None)),
            miss_streak,
        )
        if outcome.prize_id is None:
            return
        self.winners.discard((ask.campaign_id, ask.user_id, outcome.prize_id))
        if is_unit_free:
            self.stocks[ask.campaign_id, outcome.prize_id].offer(outcome.unit_no)
            if outcome.day_no:
                day.stocks[outcome.prize_id].offer(outcome.day_no)

    def set_player(self, ask: DrawAsk, player: Player) -> None:
        self._check()
        self._day(ask).players[ask.user_id] = player

    def mark_winner(self, ask: DrawAsk, prize_id: str) -> None:
        self._check()
        if ask.campaign_id in self.tables:
            self.winners.add((ask.campaign_id, ask.user_id, prize_id))

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        self._check()
        now_ms = self._clock.now_ms()
        if self._loading_until_ms.get(campaign_id, 0) > now_ms:
            return False
        self._loading_until_ms[campaign_id] = now_ms + life_ms
        return True

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        self._check()
        if campaign_id not in self.tables:
            return None
        known = {prize.prize_id for prize in self.tables[campaign_id].prizes}
        return {
            prize_id: self.stocks[campaign_id, prize_id].count
            for prize_id in prize_ids
            if prize_id in known
        }

    def _refusal(self, table: DrawTable | None, ask: DrawAsk) -> DrawStatus | None:
        now_ms = self._clock.now_ms()
        if table is None:
            return DrawStatus.CAMPAIGN_NOT_LOADED
        if now_ms >= table.campaign.ends_at_ms:
            return DrawStatus.CAMPAIGN_ENDED
        if now_ms < table.campaign.starts_at_ms:
            return DrawStatus.CAMPAIGN_NOT_STARTED
        if table.campaign.status is CampaignStatus.OFF:
            return DrawStatus.CAMPAIGN_PAUSED
        if not ask.day.starts_at_ms <= now_ms < ask.day.ends_at_ms:
            return DrawStatus.WRONG_DAY
        return None

    def _odds(self, table: DrawTable, ask: DrawAsk, player: Player) -> str:
        campaign, rules = table.campaign, table.campaign.rules
        miss_weight = campaign.miss_weight
        listed: list[str] = []
        for prize in sorted(table.prizes, key=lambda prize: prize.prize_id):
            if prize.status is CampaignStatus.OFF or not prize.weight:
                continue
            has_won_enough = 0 < rules.wins_per_user_per_day <= player.win_count
            if not has_won_enough and self._is_left(prize, campaign, ask):
                listed.append(f"{prize.prize_id}:{prize.weight}")
            elif campaign.when_sold_out is WhenSoldOut.MISS:
                miss_weight += prize.weight
        if listed and 0 < rules.guaranteed_after_misses <= player.miss_streak:
            miss_weight = 0
        return f"{','.join(listed)}|{miss_weight}"

    def _is_left(self, prize: Prize, campaign: CampaignPlan, ask: DrawAsk) -> bool:
        issued_count = self.stocks[ask.campaign_id, prize.prize_id].count
        day_count = self._day(ask).stocks[prize.prize_id].count
        hours = (self._clock.now_ms() - campaign.starts_at_ms) // 3_600_000 + 1
        has_won = (ask.campaign_id, ask.user_id, prize.prize_id) in self.winners
        return (
            issued_count < prize.total
            and (not prize.per_day or day_count < prize.per_day)
            and (not prize.per_hour or issued_count < prize.per_hour * hours)
            and not (prize.once_per_user and has_won)
        )

    def _day(self, ask: DrawAsk) -> _DrawDay:
        return self.days[ask.campaign_id, ask.day.name]

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the cache does not answer")
