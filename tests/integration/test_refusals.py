"""Every refusal of the HTTP contract, as problem+json; and not a fen moves with any of them."""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from local.issuer import KEY_ID
from local.stack import Stack
from redpacket.domain.checks import Told
from redpacket.domain.ledger import DEPOSITS, FEN_MAX, user_account
from tests.integration.conftest import Eventually, Invoke, MakeUser, User

UNKNOWN_PACKET = "A" * 22
FUNDS_FEN = 1_000_000

Book = list[dict[str, Any]]
BookOf = Callable[[str], Book]


def assert_refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the whole form of a problem; only what passes by itself names a time to ask again."""
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), answer.text
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"/problems/{code.replace('_', '-')}"
    assert problem["title"] == code.replace("_", " ").capitalize()
    assert problem["detail"]
    assert problem["instance"]
    assert "retry-after" not in answer.headers
    return problem


def assert_invalid(answer: httpx.Response, field: str) -> None:
    """Check that the request was refused because of *field*."""
    problem = assert_refused(answer, 422, "invalid_request")
    assert field in {error["field"] for error in problem["errors"]}
    assert all(error["message"] for error in problem["errors"])


def cases(table: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize *case* with the values of *table*, named by its keys."""
    return pytest.mark.parametrize("case", list(table.values()), ids=list(table))


@pytest.fixture(scope="module")
def book_of(stack: Stack, dynamodb: Any) -> BookOf:
    """Read everything that the ledger holds of one account: its balance and its entries."""

    def read(account: str) -> Book:
        rows: Book = dynamodb.query(
            TableName=stack.outputs["AccountsTable"],
            KeyConditionExpression="pk = :account",
            ExpressionAttributeValues={":account": {"S": account}},
            ConsistentRead=True,
        )["Items"]
        return rows

    return read


@pytest.fixture(scope="module")
def boss(stack: Stack, told: list[Told]) -> Iterator[User]:
    """An operator, for as long as these tests run."""
    user = User(stack, "operator-of-refusals", told, scope="hongbao/admin")
    yield user
    user.http.close()


@pytest.fixture(scope="module")
def sender(stack: Stack, told: list[Told], boss: User) -> Iterator[User]:
    """Somebody with money to lose."""
    user = User(stack, "sender-of-refusals", told)
    boss.post("/admin/deposits", {"user": user.user_id, "amount_fen": FUNDS_FEN})
    yield user
    user.http.close()


@pytest.fixture(autouse=True)
def _nothing_moves(sender: User, book_of: BookOf, request: pytest.FixtureRequest) -> Iterator[None]:
    """Around every test here: the sender's book stays as it is, and so does that of all deposits.

    Tests that make users of their own put money into the system first, and look after it.
    """
    accounts = [user_account(sender.user_id)]
    if "a_user" not in request.fixturenames:
        accounts.append(DEPOSITS)
    before = [book_of(account) for account in accounts]
    yield
    assert [book_of(account) for account in accounts] == before


def send_raw(user: User, content: bytes | str) -> httpx.Response:
    return user.http.post(
        "/packets",
        content=content,
        headers={"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"},
    )


def call_raw(user: User, method: str, path: str) -> httpx.Response:
    """Send *path* as it is; httpx would tidy up dots and escapes."""
    request = user.http.build_request(method, "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    return user.http.send(request)


# ---------------------------------------------------------------- POST /packets: the form

WRONG_TYPES = {
    "a boolean": True,
    "a float": 1.5,
    "a whole float": 100.0,
    "a string": "100",
    "an array": [100],
    "an object": {"fen": 100},
}
INTEGERS = ["total_fen", "count", "share_fen_min", "share_fen_max", "unit_fen", "expires_in_s"]


@pytest.mark.parametrize("field", INTEGERS)
@cases(WRONG_TYPES)
def test_only_an_integer_is_an_integer(sender: User, field: str, case: Any) -> None:
    assert_invalid(sender.send(**{field: case}), field)


@pytest.mark.parametrize("field", ["total_fen", "count", "share_fen_min", "unit_fen"])
def test_null_is_no_integer(sender: User, field: str) -> None:
    assert_invalid(sender.send(**{field: None}), field)


OUT_OF_RANGE = {
    "no money": {"total_fen": 0},
    "less than no money": {"total_fen": -1},
    "the smallest 64-bit integer": {"total_fen": -(2**63)},
    "a fen over the cap": {"total_fen": FEN_MAX + 1},
    "ten times the cap": {"total_fen": 10**13},
    "a total of 31 digits": {"total_fen": 10**30},
    "a total that overflows 64 bits into 1": {"total_fen": 2**64 + 1},
    "no shares": {"count": 0},
    "less than no shares": {"count": -1},
    "a share over the most": {"count": 101},
    "a count of 31 digits": {"count": 10**30},
    "shares of nothing": {"share_fen_min": 0},
    "shares below nothing": {"share_fen_min": -1},
    "at most nothing": {"share_fen_max": 0},
    "a share over the cap": {"share_fen_max": FEN_MAX + 1},
    "a share over the deployment's most": {"share_fen_max": 20_001},
    "units of more than a note": {"unit_fen": 10_001},
    "units of nothing": {"unit_fen": 0},
    "no time": {"expires_in_s": 0},
    "less than no time": {"expires_in_s": -1},
    "over a week": {"expires_in_s": 7 * 24 * 3600 + 1},
    "for ever": {"expires_in_s": 10**30},
}


@cases(OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(sender: User, case: dict[str, Any]) -> None:
    assert_invalid(sender.send(**case), *case)


WRONG_WORDS = {
    "an unknown kind": {"kind": "unlucky"},
    "a kind in capitals": {"kind": "LUCKY"},
    "no kind at all": {"kind": None},
    "a number as a kind": {"kind": 1},
    "an unknown split": {"split": "fair"},
    "an unknown opening": {"opening": "three_step"},
}


@cases(WRONG_WORDS)
def test_words_that_the_contract_does_not_know_are_refused(
    sender: User, case: dict[str, Any]
) -> None:
    assert_invalid(sender.send(**case), *case)


@pytest.mark.parametrize(
    ("kind", "split"), [("equal", "double_mean"), ("equal", "bell"), ("lucky", "equal")], ids=str
)
def test_a_split_that_does_not_go_with_the_kind_is_refused(
    sender: User, kind: str, split: str
) -> None:
    assert_invalid(sender.send(kind=kind, split=split), "body")


@pytest.mark.parametrize(
    "field", ["amount_fen", "seed", "packet_id", "sender", "status", "Total_fen", "", "__class__"]
)
def test_an_unknown_field_is_refused(sender: User, field: str) -> None:
    body = {"kind": "lucky", "total_fen": 100, "count": 2, field: 1}

    problem = assert_refused(sender.post("/packets", body), 422, "invalid_request")

    assert len(problem["errors"]) == 1


@pytest.mark.parametrize("field", ["kind", "total_fen", "count"])
def test_a_field_that_is_due_and_missing_is_refused(sender: User, field: str) -> None:
    body = {"kind": "lucky", "total_fen": 100, "count": 2}
    del body[field]

    assert_invalid(sender.post("/packets", body), field)


def test_every_wrong_field_is_named_at_once(sender: User) -> None:
    answer = sender.send(kind="?", total_fen="1", count=0, extra=1)

    for field in ("kind", "total_fen", "count", "extra"):
        assert_invalid(answer, field)


# ---------------------------------------------------------------- POST /packets: the split

IMPOSSIBLE = {
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


@cases(IMPOSSIBLE)
def test_a_total_that_cannot_be_split_is_refused(sender: User, case: dict[str, Any]) -> None:
    assert_refused(sender.send(**case), 422, "split_impossible")


# ---------------------------------------------------------------- POST /packets: the text

REFUSED_GREETINGS = {
    "a null byte": "a\x00b",
    "a line feed": "a\nb",
    "a tab": "a\tb",
    "an escape sequence": "\x1b[31mred",
    "a C1 control": "a\x85b",
    "a right-to-left override": "a\u202eb",
    "a right-to-left isolate": "a\u2067b",
    "a right-to-left mark": "a\u200fb",
    "a zero-width space": "a\u200bb",
    "a zero-width joiner": "a\u200db",
    "a byte order mark": "a\ufeffb",
    "a soft hyphen": "a\u00adb",
    "a line separator": "a\u2028b",
    "a lone high surrogate": "a\ud83d",
    "a lone low surrogate": "\ude00a",
    "an unassigned code point": "a\U000e0fffb",
    "a private code point": "a\ue000b",
    "a tag character": "a\U000e0041b",
    "51 characters": "恭" * 51,
    "51 emoji": "👍" * 51,
    "51 combined characters": "e\u0301\u0323" * 51,
    "one character of 401 code points": "e" + "\u0301" * 401,
    "a number": 8,
    "nothing": None,
    "a list": ["恭喜"],
}


@cases(REFUSED_GREETINGS)
def test_a_greeting_that_is_not_plain_text_is_refused(sender: User, case: Any) -> None:
    body = json.dumps({"kind": "lucky", "total_fen": 100, "count": 2, "greeting": case})

    assert_invalid(send_raw(sender, body), "greeting")


GREETINGS = {
    "50 characters": "恭" * 50,
    "50 emoji": "👍" * 50,
    "50 emoji with a skin tone": "👍🏽" * 50,
    "50 flags": "🇨🇳" * 50,
    "50 combined characters": "e\u0301\u0323" * 50,
    "no character": "",
}


@cases(GREETINGS)
def test_a_greeting_of_fifty_graphemes_is_not_refused(a_user: MakeUser, case: str) -> None:
    sent = a_user(funds_fen=1000).send(greeting=case)

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert len(sent.json()["greeting"]) <= len(case)


# ---------------------------------------------------------------- POST /packets: the body

NO_OBJECT: dict[str, bytes | str] = {
    "an open brace": "{",
    "a word": "money",
    "single quotes": "{'kind': 'lucky'}",
    "a comma too many": '{"kind": "lucky",}',
    "two objects": "{}{}",
    "an array": "[]",
    "an array of orders": '[{"kind": "lucky", "total_fen": 100, "count": 2}]',
    "a number": "100",
    "a string": '"lucky"',
    "null": "null",
    "true": "true",
    "NaN": '{"kind": "lucky", "total_fen": NaN, "count": 2}',
    "a name twice": '{"kind": "lucky", "total_fen": 1, "total_fen": 100, "count": 1}',
    "Infinity": '{"kind": "lucky", "total_fen": Infinity, "count": 2}',
    "5,000 digits": '{"kind": "lucky", "count": 2, "total_fen": ' + "9" * 5000 + "}",
    "4,000 brackets that never close": "[" * 4000,
    "every byte there is": bytes(range(256)),
    "UTF-16": json.dumps({"kind": "lucky", "total_fen": 100, "count": 2}).encode("utf-16"),
    "gzip": bytes.fromhex("1f8b0800000000000003"),
}


@cases(NO_OBJECT)
def test_a_body_that_is_no_json_object_is_refused(sender: User, case: bytes | str) -> None:
    assert_invalid(send_raw(sender, case), "body")


ODD_OBJECTS: dict[str, bytes | str] = {
    "nothing at all": "",
    "white space": " \r\n\t ",
    "an empty object": "{}",
    "1,300 objects in each other": '{"a":' * 1300 + "1" + "}" * 1300,
    "4,000 arrays in each other": '{"count":' + "[" * 4000 + "]" * 4000 + "}",
    "400 unknown fields": json.dumps({f"field_{number}": 1 for number in range(400)}),
    "bytes that are no UTF-8": b'{"kind": "\xff\xfe"}',
    "a field named by half a character": '{"kind": "lucky", "count": 2, "\\ud800": 1}',
    "an amount beyond any float": '{"kind": "lucky", "count": 2, "total_fen": 1e999}',
    "an amount with an exponent": '{"kind": "lucky", "count": 2, "total_fen": 1e2}',
    "an amount of minus zero": '{"kind": "lucky", "count": 2, "total_fen": -0}',
}


@cases(ODD_OBJECTS)
def test_an_object_that_is_no_order_is_refused(sender: User, case: bytes | str) -> None:
    assert_refused(send_raw(sender, case), 422, "invalid_request")


OVER_8_KB = {
    "one byte over": b" " * (8 * 1024 + 1),
    "an order and much white space": b'{"kind":"lucky","total_fen":100,"count":2}' + b" " * 8192,
    "a megabyte": b"[" * 2**20,
    "few characters of many bytes": ('{"greeting": "' + "🧧" * 2050 + '"}').encode(),
    "bytes that are no text": b"\xff" * 8193,
}


@cases(OVER_8_KB)
def test_a_body_over_8_kb_is_refused(sender: User, case: bytes) -> None:
    assert_refused(send_raw(sender, case), 413, "payload_too_large")


def test_a_body_of_8_kb_is_read(sender: User) -> None:
    assert_refused(send_raw(sender, b" " * 8192), 422, "invalid_request")


# ---------------------------------------------------------------- the idempotency key

UNUSABLE_KEYS: dict[str, dict[str, str]] = {
    "no key": {},
    "an empty key": {"Idempotency-Key": ""},
    "a key of 256 characters": {"Idempotency-Key": "k" * 256},
}


@pytest.mark.parametrize("path", ["/packets", "/admin/deposits"])
@cases(UNUSABLE_KEYS)
def test_without_a_usable_idempotency_key_no_money_moves(
    boss: User, path: str, case: dict[str, str]
) -> None:
    body = {"/packets": {"kind": "lucky", "total_fen": 100, "count": 2}}.get(
        path, {"user": "somebody", "amount_fen": 100}
    )

    answer = boss.http.post(path, json=body, headers=case)

    assert_refused(answer, 400, "idempotency_key_missing")


def test_a_key_that_comes_with_another_order_is_refused(a_user: MakeUser) -> None:
    user = a_user(funds_fen=3000)
    first = user.send(key="k", total_fen=1000, count=5)

    other = user.send(key="k", total_fen=1000, count=4)

    assert first.status_code == httpx.codes.CREATED
    assert_refused(other, 422, "idempotency_key_reused")
    assert user.balance_fen() == 2000


def test_a_key_that_comes_with_another_deposit_is_refused(a_user: MakeUser, operator: User) -> None:
    user, other = a_user(), a_user()
    key = uuid.uuid4().hex
    operator.post("/admin/deposits", {"user": user.user_id, "amount_fen": 10}, key=key)

    more = operator.post("/admin/deposits", {"user": user.user_id, "amount_fen": 11}, key=key)
    elsewhere = operator.post("/admin/deposits", {"user": other.user_id, "amount_fen": 10}, key=key)

    assert_refused(more, 422, "idempotency_key_reused")
    assert_refused(elsewhere, 422, "idempotency_key_reused")
    assert (user.balance_fen(), other.balance_fen()) == (10, 0)


# ---------------------------------------------------------------- who asks

ROUTES = [
    ("POST", "/packets"),
    ("POST", f"/packets/{UNKNOWN_PACKET}/grab"),
    ("GET", f"/packets/{UNKNOWN_PACKET}"),
    ("GET", "/me"),
    ("PUT", "/me/profile"),
    ("GET", "/me/sent"),
    ("GET", "/me/received"),
    ("GET", "/me/transfers"),
    ("POST", "/admin/deposits"),
    ("GET", f"/admin/packets/{UNKNOWN_PACKET}/audit"),
]
each_route = pytest.mark.parametrize(("method", "path"), ROUTES, ids=str)


def _signed(stack: Stack, key: str | bytes, **changes: Any) -> str:
    claims = {
        "iss": f"{stack.api}/dev",
        "aud": "redpacket",
        "sub": "sender-of-refusals",
        "iat": int(time.time()),
        "exp": int(time.time()) + 600,
    }
    headers = {"kid": KEY_ID}
    return jwt.encode({**claims, **changes}, key, algorithm="RS256", headers=headers)


@pytest.fixture(scope="module")
def issuers_key(stack: Stack) -> bytes:
    return (stack.state_dir / "issuer.pem").read_bytes()


@pytest.fixture(scope="module")
def strangers_key() -> bytes:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def assert_turned_away_by_gateway(stack: Stack, headers: dict[str, str], *route: str) -> None:
    method, path = route or ("POST", "/packets")
    body = {"kind": "lucky", "total_fen": 100, "count": 2}
    answer = httpx.request(
        method,
        f"{stack.api}{path}",
        json=body if method == "POST" else None,
        headers={"Idempotency-Key": uuid.uuid4().hex, **headers},
        trust_env=False,
    )
    # An HTTP API can't shape this answer: it is the gateway's own, and no problem+json.
    assert answer.status_code == httpx.codes.UNAUTHORIZED
    assert answer.json() == {"message": "Unauthorized"}


@each_route
def test_without_a_token_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, method: str, path: str
) -> None:
    assert_turned_away_by_gateway(stack, {}, method, path)


GARBAGE = {
    "no token after all": "",
    "a scheme alone": "Bearer",
    "a word": "Bearer token",
    "three empty parts": "Bearer ..",
    "another scheme": "Basic c2VuZGVyOnNlY3JldA==",
    "an unsigned token": "Bearer " + jwt.encode({"sub": "sender-of-refusals"}, "", "none"),
}


@cases(GARBAGE)
def test_with_a_garbage_token_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, case: str
) -> None:
    assert_turned_away_by_gateway(stack, {"Authorization": case})


WRONG_CLAIMS: dict[str, dict[str, Any]] = {
    "an expired token": {"exp": 1_700_000_000},
    "a token for later": {"nbf": 4_000_000_000},
    "a token for somebody else": {"aud": "blackpacket"},
    "another issuer's token": {"iss": "https://issuer.example"},
}


@cases(WRONG_CLAIMS)
def test_with_a_token_not_for_now_or_us_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, issuers_key: bytes, case: dict[str, Any]
) -> None:
    token = _signed(stack, issuers_key, **case)

    assert_turned_away_by_gateway(stack, {"Authorization": f"Bearer {token}"})


def test_with_a_strangers_signature_the_gateway_itself_answers_401_in_its_own_json(
    stack: Stack, strangers_key: bytes
) -> None:
    token = _signed(stack, strangers_key)

    assert_turned_away_by_gateway(stack, {"Authorization": f"Bearer {token}"})


SCOPES = {
    "no scope": None,
    "another scope": "hongbao/read",
    "a longer scope": "hongbao/administrator",
    "a shorter scope": "hongbao",
    "the scope in capitals": "HONGBAO/ADMIN",
    "several other scopes": "openid admin hongbao/admin2",
}


@cases(SCOPES)
def test_operators_routes_refuse_whoever_has_another_scope(
    stack: Stack, told: list[Told], case: str | None
) -> None:
    user = User(stack, "sender-of-refusals", told, scope=case)

    deposit = user.post("/admin/deposits", {"user": user.user_id, "amount_fen": 100})
    audit = user.http.get(f"/admin/packets/{UNKNOWN_PACKET}/audit")

    assert_refused(deposit, 403, "forbidden")
    assert_refused(audit, 403, "forbidden")
    user.http.close()


WEIRD_SUBJECTS = {
    "a brace": "user{1}",
    "a slash": "tenant/user",
    "a hash": "sent#user",
    "a space": "user 1",
    "200 characters": "u" * 200,
    "129 characters": "u" * 129,
    "dots and slashes": "../operator",
    "a leading minus": "-user",
    "Chinese": "用户",
    "a percent sign": "%00",
    "an asterisk": "*",
}


@cases(WEIRD_SUBJECTS)
def test_a_subject_that_cannot_be_a_user_id_is_refused(
    stack: Stack, told: list[Told], case: str
) -> None:
    user = User(stack, case, told)

    answers = [
        user.send(),
        user.grab(UNKNOWN_PACKET),
        user.http.get(f"/packets/{UNKNOWN_PACKET}"),
        user.http.get("/me"),
        user.http.put("/me/profile", json={"nickname": "n"}),
        user.http.get("/me/sent"),
        user.http.get("/me/received"),
        user.http.get("/me/transfers"),
    ]

    for answer in answers:
        assert_refused(answer, 403, "forbidden")
    user.http.close()


# ---------------------------------------------------------------- which packet

PACKET_ROUTES = {
    "grab": ("POST", "/packets/", "/grab"),
    "record page": ("GET", "/packets/", ""),
    "audit": ("GET", "/admin/packets/", "/audit"),
}
each_packet_route = pytest.mark.parametrize(
    ("method", "before", "after"), list(PACKET_ROUTES.values()), ids=list(PACKET_ROUTES)
)


@each_packet_route
def test_an_unknown_packet_is_not_found(boss: User, method: str, before: str, after: str) -> None:
    answer = call_raw(boss, method, f"{before}{UNKNOWN_PACKET}{after}")

    assert_refused(answer, 404, "packet_not_found")


MALFORMED_IDS = {
    "braces": "%7Bpacket%7D",
    "braces as they are": "{packet}",
    "a hash tag of another slot": "%7Ba%7D" + "A" * 19,
    "a colon": "rp:" + "A" * 19,
    "a hash sign": "packet%23" + "A" * 14,
    "a null byte": "A" * 21 + "%00",
    "a line feed": "A" * 22 + "%0A",
    "a byte that is no UTF-8": "A" * 21 + "%FF",
    "half an escape": "A" * 20 + "%4",
    "an escaped percent sign": "%2541",
    "Chinese": "%E7%BA%A2%E5%8C%85",
    "an asterisk": "*",
    "21 characters": "A" * 21,
    "23 characters": "A" * 23,
    "10 KB": "A" * 10_240,
    "10 KB of escapes": "%7B" * 3413,
    "two dots, escaped": "%2e%2e",
    "a plus": "A" * 21 + "+",
    "an injected condition": "%27%20OR%201=1--%20AAAAAAA",
}


@each_packet_route
@cases(MALFORMED_IDS)
def test_an_id_that_no_packet_can_have_is_not_found(
    boss: User, method: str, before: str, after: str, case: str
) -> None:
    answer = call_raw(boss, method, f"{before}{case}{after}")

    assert_refused(answer, 404, "packet_not_found")


# These paths are other paths by the time that the gateway compares them with its routes.
MISLEADING_IDS = {
    "nothing": "",
    "an escaped slash": f"{UNKNOWN_PACKET[:10]}%2F{UNKNOWN_PACKET[:11]}",
    "an escaped way up": "..%2F..%2Fme",
    "one dot": ".",
    "two dots": "..",
    "two slashes": "//",
}


@each_packet_route
@cases(MISLEADING_IDS)
def test_an_id_that_makes_another_path_is_not_found(
    boss: User, method: str, before: str, after: str, case: str
) -> None:
    answer = call_raw(boss, method, f"{before}{case}{after}")

    assert answer.status_code == httpx.codes.NOT_FOUND, answer.text


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/packets"), ("DELETE", "/packets"), ("POST", "/me"), ("GET", "/admin")],
    ids=str,
)
def test_what_is_no_route_is_not_found(sender: User, method: str, path: str) -> None:
    assert sender.http.request(method, path).status_code == httpx.codes.NOT_FOUND


# ---------------------------------------------------------------- the body of a grab

GRAB_BODIES = {
    "an unknown field": '{"share_no": 1}',
    "an amount": '{"amount_fen": 100}',
    "a number as passphrase": '{"passphrase": 8}',
    "a passphrase of 201 characters": json.dumps({"passphrase": "a" * 201}),
    "an array": '["passphrase"]',
    "no JSON": "passphrase",
    "NaN": '{"passphrase": NaN}',
}


@cases(GRAB_BODIES)
def test_a_grab_with_a_body_of_another_form_takes_nothing(sender: User, case: str) -> None:
    answer = sender.http.post(f"/packets/{UNKNOWN_PACKET}/grab", content=case)

    assert_refused(answer, 422, "invalid_request")


def test_a_grab_with_over_8_kb_takes_nothing(sender: User) -> None:
    answer = sender.http.post(f"/packets/{UNKNOWN_PACKET}/grab", content=b" " * 8193)

    assert_refused(answer, 413, "payload_too_large")


def test_an_emptied_packet_refuses_whoever_has_no_share(a_user: MakeUser) -> None:
    taker, late = a_user(), a_user()
    packet_id = a_user(funds_fen=100).send(total_fen=100, count=1).json()["packet_id"]
    taker.grab(packet_id)

    first, second = late.grab(packet_id), late.grab(packet_id)

    assert_refused(first, 410, "packet_emptied")
    assert_refused(second, 410, "packet_emptied")
    assert late.balance_fen() == 0


def test_an_expired_packet_refuses_before_and_after_its_refund(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    user, late = a_user(funds_fen=100), a_user()
    sent = user.send(total_fen=100, count=1, expires_in_s=1).json()
    eventually(lambda: time.time() * 1000 > sent["expires_at_ms"])

    before = late.grab(sent["packet_id"])
    invoke("ExpireFunction", {"source": "aws.events"})
    after = late.grab(sent["packet_id"])

    assert_refused(before, 410, "packet_expired")
    assert_refused(after, 410, "packet_expired")
    eventually(lambda: user.balance_fen() == 100)
    assert late.balance_fen() == 0


# ---------------------------------------------------------------- money


@pytest.mark.parametrize("total_fen", [1001, 20_000])
def test_whoever_has_too_little_sends_nothing(a_user: MakeUser, total_fen: int) -> None:
    user = a_user(funds_fen=1000)

    answer = user.send(total_fen=total_fen, count=1)

    assert_refused(answer, 402, "insufficient_funds")
    assert user.balance_fen() == 1000
    assert user.http.get("/me/sent").json()["items"] == []


def test_whoever_never_had_money_sends_nothing(a_user: MakeUser) -> None:
    user = a_user()

    assert_refused(user.send(), 402, "insufficient_funds")
    assert user.balance_fen() == 0


def test_a_refused_order_does_not_use_up_its_key(a_user: MakeUser, operator: User) -> None:
    user = a_user()
    assert_refused(user.send(key="k"), 402, "insufficient_funds")
    operator.post("/admin/deposits", {"user": user.user_id, "amount_fen": 1000})

    again = user.send(key="k")

    assert again.status_code == httpx.codes.CREATED
    assert user.balance_fen() == 0


REFUSED_DEPOSITS = {
    "no user": ({"user": ""}, "user"),
    "a user with a brace": ({"user": "user{1}"}, "user"),
    "a user with a slash": ({"user": "tenant/user"}, "user"),
    "a user of 129 characters": ({"user": "u" * 129}, "user"),
    "a user with a null byte": ({"user": "user\x00"}, "user"),
    "a user with a line feed": ({"user": "user\n"}, "user"),
    "a number as user": ({"user": 7}, "user"),
    "a user of null": ({"user": None}, "user"),
    "no money": ({"amount_fen": 0}, "amount_fen"),
    "a deposit that takes": ({"amount_fen": -1}, "amount_fen"),
    "a fen over the cap": ({"amount_fen": FEN_MAX + 1}, "amount_fen"),
    "31 digits": ({"amount_fen": 10**30}, "amount_fen"),
    "an amount of null": ({"amount_fen": None}, "amount_fen"),
    "an unknown field": ({"account": "deposits"}, "account"),
    **{name: ({"amount_fen": value}, "amount_fen") for name, value in WRONG_TYPES.items()},
}


@cases(REFUSED_DEPOSITS)
def test_a_deposit_of_another_form_is_refused(boss: User, case: tuple[dict[str, Any], str]) -> None:
    change, field = case

    answer = boss.post("/admin/deposits", {"user": "somebody", "amount_fen": 100, **change})

    assert_invalid(answer, field)


# ---------------------------------------------------------------- PUT /me/profile

REFUSED_PROFILES: dict[str, tuple[dict[str, Any], str]] = {
    "no nickname": ({}, "nickname"),
    "an empty nickname": ({"nickname": ""}, "nickname"),
    "a nickname of spaces": ({"nickname": " \u3000"}, "nickname"),
    "a nickname of 33 characters": ({"nickname": "名" * 33}, "nickname"),
    "a nickname of 33 emoji": ({"nickname": "👍🏽" * 33}, "nickname"),
    "a nickname that runs backwards": ({"nickname": "a\u202eb"}, "nickname"),
    "an invisible nickname": ({"nickname": "a\u200bb"}, "nickname"),
    "a nickname of two lines": ({"nickname": "a\nb"}, "nickname"),
    "a number as nickname": ({"nickname": 5}, "nickname"),
    "a nickname of null": ({"nickname": None}, "nickname"),
    "an avatar without TLS": ({"avatar_url": "http://images.example/a.png"}, "avatar_url"),
    "an avatar that runs": ({"avatar_url": "javascript:alert(1)"}, "avatar_url"),
    "an avatar in the link": ({"avatar_url": "data:image/png;base64,AAAA"}, "avatar_url"),
    "an avatar of two lines": ({"avatar_url": "https://a.example/\nX: y"}, "avatar_url"),
    "an avatar with a line feed": ({"avatar_url": "https://a.example/a\n"}, "avatar_url"),
    "an avatar with a space": ({"avatar_url": "https://a.example/a b"}, "avatar_url"),
    "an avatar that is long": ({"avatar_url": "https://a.example/" + "a" * 1024}, "avatar_url"),
    "an avatar that is a number": ({"avatar_url": 5}, "avatar_url"),
    "a balance": ({"balance_fen": 10**6}, "balance_fen"),
    "a user token": ({"user_token": "t"}, "user_token"),
}


@cases(REFUSED_PROFILES)
def test_a_profile_of_another_form_is_refused(
    sender: User, case: tuple[dict[str, Any], str]
) -> None:
    change, field = case
    body = change if field == "nickname" else {"nickname": "n", **change}

    assert_invalid(sender.http.put("/me/profile", json=body), field)


# ---------------------------------------------------------------- query parameters

NO_LIMITS = ["limit=0", "limit=101", "limit=abc", "limit=-1", "limit=", "limit=1.5", "limit=+5"]
NO_LIMITS += ["limit=%00", f"limit={'9' * 500}", "limit=%D9%A3", "limit=1&limit=2"]
NO_CURSORS = ["cursor=abc", "cursor=-1", "cursor=%00", f"cursor={'9' * 500}", "cursor="]
NO_YEARS = ["year=20x", "year=0", "year=-1", "year=2201", "year=", f"year={'9' * 500}"]
REFUSED_QUERIES = [
    *itertools.product([f"/packets/{UNKNOWN_PACKET}", "/me/transfers"], NO_LIMITS + NO_CURSORS),
    *itertools.product(["/me/sent", "/me/received"], NO_YEARS),
    ("/me/transfers", "cursor=entry%23"),
    ("/me/transfers", "cursor=balance"),
    ("/me/transfers", f"cursor=entry%231795000000000%23{'a' * 3000}"),
    ("/me/transfers", "cursor=entry%231795000000000%23%EF%BF%BF"),
]


@pytest.mark.parametrize(
    ("path", "query"), REFUSED_QUERIES, ids=lambda word: str(word)[:40].replace("[", "(")
)
def test_a_query_of_another_form_is_refused(sender: User, path: str, query: str) -> None:
    answer = call_raw(sender, "GET", f"{path}?{query}")

    assert_invalid(answer, query.partition("=")[0])
