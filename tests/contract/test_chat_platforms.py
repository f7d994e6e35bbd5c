"""Simulated chat platforms reject calls that the real platforms' documentation forbids."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.chat import lark as lark_simulator
from local.chat.room import PEOPLE
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.model import Card
from testing.chat_platforms import Joined, joined

MING, ANN, _ = PEOPLE
CARD = Card("p-1", "Title", ("line",), "Open", None, None)
BUTTON = {"tag": "button", "text": {"tag": "plain_text", "content": "Open"}}


@pytest.fixture
def telegram() -> Iterator[Joined]:
    with joined(ConnectorName.TELEGRAM) as chat:
        yield chat


@pytest.fixture
def lark() -> Iterator[Joined]:
    with joined(ConnectorName.LARK) as chat:
        yield chat


def without_limits(chat: Joined) -> None:
    """Advance the rate limiter's clock by more than a minute before each call."""
    clock = iter(range(0, 10**6, 61))
    chat.platform.rates.now_s = lambda: next(clock)


def bot_api(chat: Joined, method: str, token: str | None = None, **body: Any) -> dict[str, Any]:
    token = token or chat.platform.secret["telegram_token"]
    body = {"chat_id": chat.group.chat_id, **body}
    answer: dict[str, Any] = chat.web.post(f"/telegram/bot{token}/{method}", json=body).json()
    return answer


def lark_api(chat: Joined, card: Any, **more: Any) -> dict[str, Any]:
    app = {name: chat.platform.secret[f"lark_{name}"] for name in ("app_id", "app_secret")}
    url = "/lark/open-apis/auth/v3/tenant_access_token/internal"
    token = chat.web.post(url, json=app).json()["tenant_access_token"]
    body = {
        "receive_id": chat.group.chat_id,
        "msg_type": "interactive",
        "content": json.dumps(card),
        **more,
    }
    url = "/lark/open-apis/im/v1/messages?receive_id_type=chat_id"
    answer = chat.web.post(url, json=body, headers={"Authorization": f"Bearer {token}"})
    told: dict[str, Any] = answer.json()
    return told


def lark_card(*elements: Any) -> dict[str, Any]:
    header = {"title": {"tag": "plain_text", "content": "T"}, "template": "red"}
    config = {"update_multi": True}
    return {
        "schema": "2.0",
        "config": config,
        "header": header,
        "body": {"elements": list(elements)},
    }


@pytest.mark.parametrize(
    "text", ["a < b", "<marquee>a</marquee>", "<b>a", "<b>a</i>", "a</b>", "<b><i>a</b></i>"]
)
def test_telegram_refuses_html_that_is_not_escaped_or_closed(telegram: Joined, text: str) -> None:
    answer = bot_api(telegram, "sendMessage", text=text, parse_mode="HTML")

    assert answer["error_code"] == 400
    assert "can't parse entities" in answer["description"]


@pytest.mark.parametrize(
    ("length", "is_ok"), [(0, False), (1, True), (4_096, True), (4_097, False)]
)
def test_telegram_accepts_1_to_4096_characters(telegram: Joined, length: int, is_ok: bool) -> None:  # noqa: FBT001
    assert bot_api(telegram, "sendMessage", text="a" * length)["ok"] is is_ok


@pytest.mark.parametrize(
    "button",
    [
        {"text": "a", "callback_data": "好" * 22},
        {"text": "a", "callback_data": ""},
        {"text": "a"},
        {"text": "", "callback_data": "a"},
        {"text": "a", "callback_data": "a", "url": "https://a.example"},
    ],
)
def test_telegram_refuses_buttons_that_are_over_64_bytes_or_have_no_type(
    telegram: Joined, button: dict[str, str]
) -> None:
    markup = {"inline_keyboard": [[button]]}

    answer = bot_api(telegram, "sendMessage", text="a", reply_markup=markup)

    assert answer["error_code"] == 400


def test_telegram_limits_a_chat_to_one_message_per_second(telegram: Joined) -> None:
    telegram.platform.rates.now_s = lambda: 100.0

    first, second = (bot_api(telegram, "sendMessage", text="a") for _ in range(2))

    assert first["ok"]
    assert (second["error_code"], second["parameters"]) == (429, {"retry_after": 1})


def test_telegram_limits_a_group_to_20_messages_per_minute_including_edits(
    telegram: Joined,
) -> None:
    clock = iter(range(100, 200))
    telegram.platform.rates.now_s = lambda: next(clock)
    sent = bot_api(telegram, "sendMessage", text="a")["result"]["message_id"]

    answers = [
        bot_api(telegram, "editMessageText", text=f"a{n}", message_id=sent) for n in range(20)
    ]

    assert [answer["ok"] for answer in answers] == [True] * 19 + [False]
    assert answers[-1]["parameters"]["retry_after"] == 40


def test_telegram_rejects_an_edit_without_changes(telegram: Joined) -> None:
    without_limits(telegram)
    sent = bot_api(telegram, "sendMessage", text="a")["result"]["message_id"]

    answer = bot_api(telegram, "editMessageText", text="a", message_id=sent)

    assert "message is not modified" in answer["description"]


def test_telegram_checks_the_token_and_accepts_one_answer_per_tap(telegram: Joined) -> None:
    assert bot_api(telegram, "sendMessage", "1:wrong", text="a")["error_code"] == 401

    message_id = telegram.connector.post(telegram.group.chat_id, CARD, "k")
    telegram.tap(ANN, message_id)
    query_id = telegram.call().reply_to
    telegram.settle()

    answer = bot_api(telegram, "answerCallbackQuery", callback_query_id=query_id)
    assert "query is too old" in answer["description"]


def test_telegram_hides_messages_without_a_command_from_the_bot(telegram: Joined) -> None:
    telegram.write(ANN, "hello")
    telegram.write(ANN, "/help")

    assert telegram.call().text == "/help"


def test_telegram_repeats_a_failed_tap_before_the_next_one_of_its_user(telegram: Joined) -> None:
    message_id = telegram.connector.post(telegram.group.chat_id, CARD, "k")
    telegram.status = 500

    telegram.tap(ANN, message_id, data="first")
    telegram.tap(ANN, message_id, data="second")

    calls = [telegram.call().packet_id for _ in range(3)]
    telegram.status = 200
    while calls[-1] == "first":
        calls.append(telegram.call().packet_id)
    assert calls[:3] == ["first"] * 3
    assert calls[-1] == "second"


@pytest.mark.parametrize(
    "card",
    [
        {**lark_card(), "schema": "1.0"},
        {**lark_card(), "elements": []},
        {**lark_card(), "config": {}},
        lark_card({"tag": "note", "text": {"tag": "plain_text", "content": "a"}}),
        lark_card({"tag": "div", "text": {"tag": "plain_text", "content": "a", "size": 1}}),
        lark_card({"tag": "div", "text": {"tag": "plain_text", "content": "a" * 30_000}}),
        lark_card(*[{"tag": "div", "text": {"tag": "plain_text", "content": "a"}}] * 201),
        lark_card({**BUTTON, "value": {}, "behaviors": [{"type": "open_url"}]}),
        "no card",
    ],
)
def test_lark_refuses_unknown_properties_and_large_cards(lark: Joined, card: Any) -> None:
    assert lark_api(lark, card)["code"] != 0


def test_lark_drops_a_repeated_uuid_and_refuses_a_long_one(lark: Joined) -> None:
    first, second = (lark_api(lark, lark_card(), uuid="u-1")["data"] for _ in range(2))

    assert first == second
    assert len(lark.group.messages) == 1
    assert lark_api(lark, lark_card(), uuid="u" * 51)["code"] == 230001


def test_lark_limits_a_group_to_five_messages_per_second(lark: Joined) -> None:
    lark.platform.rates.now_s = lambda: 100.0

    codes = [lark_api(lark, lark_card())["code"] for _ in range(6)]

    assert codes == [0] * 5 + [99991400]


def test_lark_refuses_calls_without_the_token_of_the_app(lark: Joined) -> None:
    url = "/lark/open-apis/im/v1/messages?receive_id_type=chat_id"
    app = {"app_id": "cli_local", "app_secret": "wrong"}

    login = lark.web.post("/lark/open-apis/auth/v3/tenant_access_token/internal", json=app)

    assert lark.web.post(url, json={}).json()["code"] == 99991663
    assert login.json()["code"] != 0


def test_lark_hides_messages_that_do_not_mention_the_bot(lark: Joined) -> None:
    lark.write(ANN, "/help")
    lark.write(MING, f"@{lark.platform.bot_name} /balance")

    assert lark.call().text == "/balance"


@pytest.mark.parametrize("is_late", [True, False])
def test_lark_never_repeats_a_tap_that_failed_or_was_late(
    lark: Joined,
    monkeypatch: pytest.MonkeyPatch,
    is_late: bool,  # noqa: FBT001
) -> None:
    message_id = lark.connector.post(lark.group.chat_id, CARD, "k")
    if is_late:
        monkeypatch.setattr(lark_simulator, "DEADLINE_S", 0)
    else:
        lark.status = 500

    lark.tap(ANN, message_id)

    assert "200671" in lark.wait_for_toast(ANN)
    lark.settle()
    assert len(lark.platform.deliveries) == 1


def test_lark_refuses_an_answer_of_another_form(
    lark: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = lark.connector.post(lark.group.chat_id, CARD, "k")
    monkeypatch.setattr(lark.connector, "answer", lambda *_, **__: {"text": "hello"})

    lark.tap(ANN, message_id)

    assert "200672" in lark.wait_for_toast(ANN)
