"""Packets that are not there or not to be had any more, and grabs of another form."""

from __future__ import annotations

import json
import time

import httpx
import pytest

from tests.integration.conftest import Eventually, Invoke, MakeUser, User
from tests.integration.refusals.answers import (
    UNKNOWN_PACKET,
    assert_refused,
    call_raw,
    cases,
)

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
    "a byte that is not UTF-8": "A" * 21 + "%FF",
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
    "two dots": "../nothing",  # two dots alone are the page, which the local front serves
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
    [
        ("POST", "/"),
        ("GET", "/packets"),
        ("DELETE", "/packets"),
        ("POST", "/me"),
        ("GET", "/admin"),
    ],
    ids=str,
)
def test_an_unknown_route_is_not_found(sender: User, method: str, path: str) -> None:
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


def test_an_emptied_packet_refuses_users_without_a_share(a_user: MakeUser) -> None:
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
