"""Malformed requests: the problem `invalid_request` names the bad field, and no money moves."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from local.packet_ids import PUBLISHED_IDS
from redpacket.platform.bounds import FEN_MAX
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import HandlerTransport
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser
from tests.integration.refusals import assert_refused

# The id has a valid tag, so handlers look it up.
UNKNOWN_PACKET = PUBLISHED_IDS.sign("A" * 22)
ORDER = {"kind": "lucky", "total_fen": 100, "count": 2}
WRONG_TYPES = [True, 1.5, 100.0, "100", [100], {"fen": 100}, None]

Changes = tuple[str, list[Any]]


@pytest.fixture(autouse=True)
def _nothing_moves(system: InMemorySystem, sender: HttpUser) -> Iterator[None]:  # noqa: ARG001 - has its money
    """Check after each test that the sender's balance is unchanged and no money or packet was
    created.
    """

    def rows() -> list[Any]:
        tables = system.dynamo.tables
        return [dict(tables[name]) for name in ("accounts", "packets") if tables.get(name)]

    before = rows()
    yield
    assert rows() == before


def assert_invalid(answer: httpx.Response, field: str) -> None:
    """Check that the request was refused because of *field*."""
    problem = assert_refused(answer, 422, "invalid_request")
    assert field in {error["field"] for error in problem["errors"]}, answer.text
    assert all(error["message"] for error in problem["errors"])


def send_raw(user: HttpUser, content: bytes | str) -> httpx.Response:
    return user.http.post("/packets", content=content, headers={"Idempotency-Key": "raw"})


# ---------------------------------------------------------------- POST /packets: the form

ORDERS: list[Changes] = [
    *((field, WRONG_TYPES) for field in ("total_fen", "count", "share_fen_min", "unit_fen")),
    *((field, WRONG_TYPES[:-1]) for field in ("share_fen_max", "expires_in_s")),
    ("total_fen", [0, -1, -(2**63), FEN_MAX + 1, 10**13, 10**30, 2**64 + 1]),
    ("count", [0, -1, 101, 10**30]),
    ("share_fen_min", [0, -1]),
    ("share_fen_max", [0, FEN_MAX + 1, 20_001]),
    ("unit_fen", [0, 10_001]),
    ("expires_in_s", [0, -1, 7 * 24 * 3600 + 1, 10**30]),
    ("starts_at_ms", ["now", 1.5, -1, 4_102_444_800_000, 10**30]),
    ("kind", ["unlucky", "LUCKY", None, 1]),
    ("split", ["fair"]),
    ("opening", ["three_step"]),
    ("passphrase", ["", "！？", "x" * 200]),
    ("recipients", [[], "A" * 40, ["A" * 40] * 101]),
    ("recipients.0", [["guest-1"], ["A" * 40], [1]]),
    ("cover_url", ["https://elsewhere.test/1.png", "http://images.example/1.png"]),
    # tests/unit/users/test_text.py tests the other forbidden texts.
    ("greeting", ["a\x00b", "a\u202eb", "恭" * 51, "👍" * 51, "e\u0301\u0323" * 51]),
    ("greeting", ["e" + "\u0301" * 400, "a\ud83d", 8, None, ["恭喜"]]),
]


@pytest.mark.parametrize(("field", "values"), ORDERS)
def test_an_order_of_another_form_is_refused(
    sender: HttpUser, field: str, values: list[Any]
) -> None:
    for value in values:
        body = json.dumps({**ORDER, field.partition(".")[0]: value})
        assert_invalid(send_raw(sender, body), field)


def test_an_order_is_parsed_strictly(sender: HttpUser) -> None:
    for threshold in (0, 101, "80", 1.5):
        answer = sender.send(passphrase="芝麻", passphrase_threshold=threshold)
        assert_refused(answer, 422, "invalid_request")
    for kind, split in (("equal", "double_mean"), ("equal", "bell"), ("lucky", "equal")):
        assert_invalid(sender.send(kind=kind, split=split), "body")
    for name in ("amount_fen", "seed", "packet_id", "sender", "status", "Total_fen", "__class__"):
        problem = assert_refused(
            sender.post("/packets", {**ORDER, name: 1}), 422, "invalid_request"
        )
        assert len(problem["errors"]) == 1
    for name in ORDER:
        body = {key: value for key, value in ORDER.items() if key != name}
        assert_invalid(sender.post("/packets", body), name)
    several = sender.send(kind="?", total_fen="1", count=0, extra=1)
    for name in ("kind", "total_fen", "count", "extra"):
        assert_invalid(several, name)


IMPOSSIBLE: dict[str, dict[str, Any]] = {
    "more shares than fen": {"total_fen": 99, "count": 100},
    "an equal total with a remainder": {"kind": "equal", "total_fen": 100, "count": 3},
    "a least share above the largest": {"share_fen_min": 300, "share_fen_max": 100},
    "a least share that is too much": {"total_fen": 100, "count": 10, "share_fen_min": 11},
    "a largest share that is too little": {"total_fen": 100, "count": 10, "share_fen_max": 9},
    "a fen more than shares may hold": {"total_fen": 40_001, "count": 2},
    "a total in no whole units": {"total_fen": 1001, "unit_fen": 100},
    "no unit within the bounds": {"unit_fen": 100, "share_fen_min": 101, "share_fen_max": 199},
    "an equal share above the largest": {"kind": "equal", "total_fen": 40_002, "count": 2},
}


@pytest.mark.parametrize("changes", list(IMPOSSIBLE.values()), ids=list(IMPOSSIBLE))
def test_a_total_that_cannot_be_split_is_refused(sender: HttpUser, changes: dict[str, Any]) -> None:
    assert_refused(sender.send(**changes), 422, "split_impossible")


# ---------------------------------------------------------------- POST /packets: the body

NO_OBJECT: dict[str, bytes | str] = {
    "an open brace": "{",
    "single quotes": "{'kind': 'lucky'}",
    "two objects": "{}{}",
    "an array": json.dumps([ORDER]),
    "a number": "100",
    "null": "null",
    "NaN": '{"kind": "lucky", "total_fen": NaN, "count": 2}',
    "a name twice": '{"kind": "lucky", "total_fen": 1, "total_fen": 100, "count": 1}',
    "Infinity": '{"kind": "lucky", "total_fen": Infinity, "count": 2}',
    "5,000 digits": '{"kind": "lucky", "count": 2, "total_fen": ' + "9" * 5000 + "}",
    "4,000 brackets that never close": "[" * 4000,
    "every byte there is": bytes(range(256)),
    "UTF-16": json.dumps(ORDER).encode("utf-16"),
}
NO_ORDER: dict[str, bytes | str] = {
    "white space": " \r\n\t ",
    "an empty object": "{}",
    "a body of 8 KB": b" " * 8192,
    "1,300 objects in each other": '{"a":' * 1300 + "1" + "}" * 1300,
    "4,000 arrays in each other": '{"count":' + "[" * 4000 + "]" * 4000 + "}",
    "400 unknown fields": json.dumps({f"field_{number}": 1 for number in range(400)}),
    "bytes that are not UTF-8": b'{"kind": "\xff\xfe"}',
    "a field named by half a character": '{"kind": "lucky", "count": 2, "\\ud800": 1}',
    "an amount beyond any float": '{"kind": "lucky", "count": 2, "total_fen": 1e999}',
    "an amount with an exponent": '{"kind": "lucky", "count": 2, "total_fen": 1e2}',
    "an amount of minus zero": '{"kind": "lucky", "count": 2, "total_fen": -0}',
}
OVER_8_KB = {
    "one byte over": b" " * (8 * 1024 + 1),
    "an order and much white space": json.dumps(ORDER).encode() + b" " * 8192,
    "few characters of many bytes": ('{"greeting": "' + "🧧" * 2050 + '"}').encode(),
    "bytes that are not text": b"\xff" * 8193,
}


@pytest.mark.parametrize("content", list(NO_OBJECT.values()), ids=list(NO_OBJECT))
def test_a_body_that_is_not_a_json_object_is_refused(
    sender: HttpUser, content: bytes | str
) -> None:
    assert_invalid(send_raw(sender, content), "body")


@pytest.mark.parametrize("charset", ["gbk", '"UTF-16"', "iso-8859-1; boundary=x"])
def test_a_body_of_another_charset_is_refused(sender: HttpUser, charset: str) -> None:
    headers = {"Idempotency-Key": "gbk", "Content-Type": f"application/json; charset={charset}"}
    assert_invalid(sender.http.post("/packets", json=ORDER, headers=headers), "body")


@pytest.mark.parametrize("content", list(NO_ORDER.values()), ids=list(NO_ORDER))
def test_an_object_that_is_not_an_order_is_refused(sender: HttpUser, content: bytes | str) -> None:
    assert_refused(send_raw(sender, content), 422, "invalid_request")


@pytest.mark.parametrize("content", list(OVER_8_KB.values()), ids=list(OVER_8_KB))
def test_a_body_over_8_kb_is_refused(sender: HttpUser, content: bytes) -> None:
    assert_refused(send_raw(sender, content), 413, "payload_too_large")
    grab = sender.http.post(f"/packets/{UNKNOWN_PACKET}/grab", content=content)
    assert_refused(grab, 413, "payload_too_large")


# ---------------------------------------------------------------- other bodies

DEPOSITS: list[Changes] = [
    ("user", ["", "user{1}", "tenant/user", "u" * 129, "user\x00", "user\n", 7, None]),
    ("amount_fen", [0, -1, FEN_MAX + 1, 10**10 + 1, 10**30, *WRONG_TYPES]),
    ("account", ["deposits"]),
]
PROFILES: list[Changes] = [
    ("nickname", ["", " \u3000", "名" * 33, "👍🏽" * 33, "a\u202eb", "系统消息", "a\nb", 5, None]),
    ("avatar_url", ["https://elsewhere.test/a", "http://images.example/a", "javascript:alert(1)"]),
    ("avatar_url", ["https://a.example/a\n", "https://a.example/" + "a" * 1024, 5]),
    ("balance_fen", [10**6]),
    ("user_token", ["t"]),
]
SWITCHES: list[Changes] = [
    ("on", [0, "false", None]),
    ("off", [True]),
    ("reason", [1, "a\nb", "a" * 101]),
]
CAMPAIGNS: list[Changes] = [
    ("body", [{"starts_at_ms": 5, "ends_at_ms": 5}]),
    ("starts_at_ms", [1.5]),
    ("ends_at_ms", [10**13]),
    ("timezone", ["Asia/Atlantis", "localtime"]),
    ("title", [" "]),
    ("description", ["a\u202eb"]),
    ("passphrase", ["！？"]),
    ("budget_fen", [-1, True]),
    ("quota_per_user", [-1]),
    ("rules.attempts_per_user_per_day", [{"rules": {"attempts_per_user_per_day": "3"}}]),
    ("rules.more", [{"rules": {"more": 1}}]),
    ("when_sold_out", ["reroll"]),
    ("status", ["paused"]),
    ("version", [0]),
    ("prizes", [[]]),
]
NESTED = {"rules.attempts_per_user_per_day", "rules.more"}
A_PLAN = {"title": "rain", "starts_at_ms": 1_000, "ends_at_ms": 2_000, "status": "on"}


@pytest.mark.parametrize(
    ("method", "path", "body", "table"),
    [
        ("POST", "/admin/deposits", {"user": "somebody", "amount_fen": 100}, DEPOSITS),
        ("PUT", "/me/profile", {"nickname": "n"}, PROFILES),
        ("PUT", "/admin/switches/send", {"on": False}, SWITCHES),
        ("PUT", "/admin/campaigns/strict", A_PLAN, CAMPAIGNS),
    ],
    ids=["deposit", "profile", "switch", "campaign"],
)
def test_a_body_of_another_form_is_refused(
    operator: HttpUser, method: str, path: str, body: dict[str, Any], table: list[Changes]
) -> None:
    for field, values in table:
        for value in values:
            changes = value if field in {"body", *NESTED} else {field: value}
            answer = operator.http.request(
                method, path, json={**body, **changes}, headers={"Idempotency-Key": "k"}
            )
            assert_invalid(answer, field)


def test_a_refusal_of_a_text_names_its_field_and_character(sender: HttpUser) -> None:
    answer = sender.send(greeting="恭喜\u202e发财")

    assert answer.json()["errors"] == [
        {
            "field": "greeting",
            "message": "contains the invisible character U+202E (RIGHT-TO-LEFT OVERRIDE)",
        }
    ]


@pytest.mark.parametrize(
    "content",
    [
        *('{"share_no": 1}', '{"passphrase": 8}', '["passphrase"]', "passphrase"),
        *('{"passphrase": NaN}', json.dumps({"passphrase": "a" * 201})),
    ],
)
def test_a_grab_with_a_body_of_another_form_takes_nothing(sender: HttpUser, content: str) -> None:
    answer = sender.http.post(f"/packets/{UNKNOWN_PACKET}/grab", content=content)

    assert_refused(answer, 422, "invalid_request")


@pytest.mark.parametrize("body", [None, {}, {"grab_token": 5}, {"grab_token": "x", "more": 1}])
def test_an_open_of_another_form_is_refused(sender: HttpUser, body: Any) -> None:
    answer = sender.http.post(f"/packets/{UNKNOWN_PACKET}/open", json=body)

    assert_refused(answer, 422, "invalid_request")


@pytest.mark.parametrize("name", ["nothing", "SEND", "send%20", "switches"])
def test_an_unknown_switch_is_not_found(operator: HttpUser, name: str) -> None:
    answer = operator.http.put(f"/admin/switches/{name}", json={"on": False})

    assert_refused(answer, 404, "switch_not_found")


# ---------------------------------------------------------------- callers, ids, keys, queries


@pytest.mark.parametrize("key", [None, "", "k" * 256])
def test_without_a_valid_idempotency_key_no_money_moves(
    operator: HttpUser, key: str | None
) -> None:
    headers = {} if key is None else {"Idempotency-Key": key}
    bodies = {"/packets": ORDER, "/admin/deposits": {"user": "somebody", "amount_fen": 100}}

    for path, body in bodies.items():
        answer = operator.http.post(path, json=body, headers=headers)
        assert_refused(answer, 400, "idempotency_key_missing")


@pytest.mark.parametrize("subject", ["user{1}", "tenant/user", "u" * 129, "-user", "用户", "%00"])
def test_a_subject_that_cannot_be_a_user_id_is_refused(a_user: MakeUser, subject: str) -> None:
    user = a_user()
    user.http = httpx.Client(
        base_url="https://api.example", transport=HandlerTransport({"sub": subject})
    )

    answers = [
        user.send(),
        user.grab(UNKNOWN_PACKET),
        user.http.put("/me/profile", json={"nickname": "n"}),
        *(user.http.get(f"/me{path}") for path in ("", "/sent", "/received", "/transfers")),
        user.http.get(f"/packets/{UNKNOWN_PACKET}"),
    ]

    for answer in answers:
        assert_refused(answer, 403, "forbidden")


@pytest.mark.parametrize("packet_id", [UNKNOWN_PACKET, "A" * 22, "%7Bpacket%7D", "A" * 21 + "%00"])
def test_an_unknown_packet_is_not_found(operator: HttpUser, packet_id: str) -> None:
    """tests/unit/packets/test_packet_id.py tests other forms of ids."""
    answers = [
        operator.grab(packet_id),
        operator.http.get(f"/packets/{packet_id}"),
        operator.http.get(f"/admin/packets/{packet_id}/audit"),
    ]

    for answer in answers:
        assert_refused(answer, 404, "packet_not_found")


NO_LIMITS = ["0", "101", "abc", "-1", "", "1.5", "+5", "%00", "9" * 500, "%D9%A3", "1&limit=2"]
NO_CURSORS = ["abc", "-1", "%00", "9" * 500, ""]
NO_BOOKS = ["entry%23", "balance", "entry%231795000000000%23%EF%BF%BF"]
NO_YEARS = ["20x", "0", "-1", "2201", "", "9" * 500]


@pytest.mark.parametrize(
    ("path", "name", "values"),
    [
        (f"/packets/{UNKNOWN_PACKET}", "limit", NO_LIMITS),
        (f"/packets/{UNKNOWN_PACKET}", "cursor", NO_CURSORS),
        ("/me/transfers", "limit", NO_LIMITS),
        ("/me/transfers", "cursor", NO_CURSORS + NO_BOOKS),
        ("/me/sent", "year", NO_YEARS),
        ("/me/received", "year", NO_YEARS),
    ],
)
def test_a_query_of_another_form_is_refused(
    sender: HttpUser, path: str, name: str, values: list[str]
) -> None:
    for value in values:
        request = sender.http.build_request("GET", "/")
        raw_path = f"{path}?{name}={value}".encode()
        request.url = request.url.copy_with(raw_path=raw_path)
        assert_invalid(sender.http.send(request), name)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/admin/withdrawals?user=nobody&status=x", "status"),
        ("/admin/withdrawals?user=nobody&cursor=x", "cursor"),
        ("/admin/packets?sender=nobody&limit=0", "limit"),
        (f"/admin/packets?packet={UNKNOWN_PACKET}&status=x", "status"),
    ],
)
def test_a_query_is_refused_even_if_the_list_would_not_read_it(
    operator: HttpUser, path: str, name: str
) -> None:
    assert_invalid(operator.http.get(path), name)


def test_operators_cannot_credit_themselves(operator: HttpUser) -> None:
    answer = operator.post("/admin/deposits", {"user": operator.host_id, "amount_fen": 100})

    assert_refused(answer, 403, "forbidden")


def test_a_sender_with_too_little_money_sends_nothing(sender: HttpUser, a_user: MakeUser) -> None:
    poor = a_user()

    assert_refused(sender.send(total_fen=1_000_001, count=100), 402, "insufficient_funds")
    assert_refused(poor.send(key="k"), 402, "insufficient_funds")
    assert poor.http.get("/me/sent").json()["items"] == []
