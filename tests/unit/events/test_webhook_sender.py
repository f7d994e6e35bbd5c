"""Deliveries to a receiver: signed posts to verified addresses."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from standardwebhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from redpacket.events.clients.sender import WebhookSender
from redpacket.events.model.events import Event, EventType
from redpacket.events.model.webhooks import BOTH_SIGN_MS, Webhook
from redpacket.payments.sealed_accounts import AccountKeys
from redpacket.platform.errors import InvalidRequest, InvariantViolated, Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer, HttpClient
from testing.fakes import FakeClock

KEYS = AccountKeys.of(json.dumps({"1": "k" * 64}))
EVENT = Event(EventType.DRAW_WON, "spring/1", 1, {"title": "红包"}, {"user": "ann"})


class _Line:
    """Stand-in for HttpClient that stores the posts."""

    def __init__(self, answer: HttpAnswer | None) -> None:
        self.answer, self.posted = answer, list[tuple[bytes, dict[str, str]]]()

    def __call__(self, url: str) -> Any:
        HttpClient(url, call_ms_max=1)
        return self

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        self.posted.append((body, dict(headers)))
        if self.answer is None:
            raise Unavailable("an external address does not answer")
        return self.answer


def a_sender(clock: FakeClock, line: _Line) -> WebhookSender:
    return WebhookSender(lambda: KEYS, line, source="https://api.example", now_ms=clock.now_ms)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time.time_ns() // 1_000_000)


def a_webhook(sender: WebhookSender, name: str = "shop") -> tuple[Webhook, str]:
    url = "https://shop.example/events"
    secret, sealed = sender.new_secret(name, url)
    return Webhook(
        name, url, frozenset(EventType), is_on=True, secrets=(sealed,), created_at_ms=1
    ), secret


def test_a_receiver_can_verify_posts_with_the_library(clock: FakeClock) -> None:
    line = _Line(HttpAnswer(204, {}, b""))
    sender = a_sender(clock, line)
    webhook, secret = a_webhook(sender)

    made = sender.send(webhook, EVENT, {"ann": "ann@host"})

    ((body, headers),) = line.posted
    told = Verifier(secret).verify(body, headers)
    assert (made.is_ok, made.status) == (True, 204)
    assert told["data"] == {"title": "红包", "user": "ann@host", "user_token": "ann"}
    assert headers["webhook-id"] == told["id"] == EVENT.event_id
    with pytest.raises(WebhookVerificationError):
        Verifier("whsec_" + "a" * 43 + "=").verify(body, headers)


def test_for_a_day_after_a_rotation_both_secrets_sign(clock: FakeClock) -> None:
    line = _Line(HttpAnswer(200, {}, b""))
    sender = a_sender(clock, line)
    webhook, old = a_webhook(sender)
    new, sealed = sender.new_secret("shop", webhook.url)
    webhook = webhook.with_new_secret(sealed, clock.now_ms())

    sender.send(webhook, EVENT, {})
    for secret in (old, new):
        Verifier(secret).verify(*line.posted[0])
    clock.at_ms += BOTH_SIGN_MS
    sender.send(webhook, EVENT, {})

    assert len(line.posted[0][1]["webhook-signature"].split()) == 2
    assert len(line.posted[1][1]["webhook-signature"].split()) == 1


def test_a_secret_is_encrypted_for_its_webhook_alone(clock: FakeClock) -> None:
    sender = a_sender(clock, _Line(HttpAnswer(200, {}, b"")))
    webhook, secret = a_webhook(sender)
    (sealed,) = webhook.secrets
    other = Webhook(
        "other", webhook.url, webhook.kinds, is_on=True, secrets=(sealed,), created_at_ms=1
    )

    assert secret not in repr(webhook) + sealed.sealed
    with pytest.raises(InvariantViolated):
        sender.send(other, EVENT, {})


def test_a_secret_signs_nothing_for_an_address_that_only_the_row_names(clock: FakeClock) -> None:
    line = _Line(HttpAnswer(200, {}, b""))
    sender = a_sender(clock, line)
    webhook, secret = a_webhook(sender)
    moved = replace(webhook, url="https://new.example/events")

    with pytest.raises(InvariantViolated):
        sender.send(moved, EVENT, {})
    sender.send(replace(moved, secrets=sender.sealed_for(webhook, moved.url)), EVENT, {})

    Verifier(secret).verify(*line.posted[0])


def test_a_secret_of_an_earlier_version_still_signs(clock: FakeClock) -> None:
    line = _Line(HttpAnswer(200, {}, b""))
    sender = a_sender(clock, line)
    webhook, secret = a_webhook(sender)
    content = AESSIV(KEYS.seal_keys["1"]).encrypt(secret.encode(), [b"webhook/shop"])
    old = replace(webhook.secrets[0], sealed=f"1.{urlsafe_b64encode(content).decode()}")

    sender.send(replace(webhook, secrets=(old,)), EVENT, {})

    Verifier(secret).verify(*line.posted[0])


def test_a_missing_answer_is_a_failure_and_not_an_error(clock: FakeClock) -> None:
    sender = a_sender(clock, _Line(None))
    webhook, _ = a_webhook(sender)

    made = sender.send(webhook, EVENT, {})

    assert (made.is_ok, made.status) == (False, 0)


@pytest.mark.parametrize("url", ["http://shop.example", "https://me@shop.example", "ftp://a.b"])
def test_an_address_that_cannot_be_a_target_is_refused(url: str, clock: FakeClock) -> None:
    with pytest.raises(InvalidRequest):
        a_sender(clock, _Line(None)).check(url)
