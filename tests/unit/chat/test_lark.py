"""Lark's events with their signature and encryption, and the Lark connector's calls."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.connectors.lark.connector import Lark
from redpacket.chat.connectors.lark.crypto import decrypted, is_signed
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Card, Challenge, Member, Message, Tap
from redpacket.chat.use_cases.commands import packet_fields
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import InvalidRequest, Unavailable
from redpacket.platform.unit import Unit
from tests.unit.chat.connecting import CARD, LARK, NOW_MS, Platform, lark_call, lark_signed

# From Lark's Python SDK v1, utils/decrypt.py.
SEALED = "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk="
# Accepted by lark-oapi 1.7.5.
SIGNATURE = "002a272a435d056759149cce18e88064ff320d38d91a09432445c344c4296949"
TOKEN = (200, {"code": 0, "tenant_access_token": "t-1", "expire": 7_200})
NAME = (200, {"code": 0, "data": {"user": {"name": "王芳"}}})
SENT = (200, {"code": 0, "data": {"message_id": "om_1"}})
TAPPED = {
    "operator": {"open_id": "ou_1", "tenant_key": "T1"},
    "action": {"tag": "button", "value": {"packet_id": "p-1"}},
    "context": {"open_message_id": "om_1", "open_chat_id": "oc_1"},
}
FANG = Member("lark:T1:ou_1", "王芳", "zh")


def lark(*answers: Any, **secret: str) -> tuple[Lark, Platform]:
    platform = Platform(list(answers or (TOKEN, NAME)))
    return Lark(platform.environment({**LARK, **secret})), platform


def read(call: tuple[dict[str, str], bytes]) -> Any:
    return lark()[0].read(*call, NOW_MS)


def said(text: str, **more: Any) -> Any:
    message = {
        "message_id": "om_2",
        "chat_id": "oc_1",
        "chat_type": "group",
        "message_type": "text",
        "content": json.dumps({"text": text}),
        **more,
    }
    sender = {"sender_id": {"open_id": "ou_1"}, "sender_type": "user", "tenant_key": "T1"}
    return read(lark_call("im.message.receive_v1", {"sender": sender, "message": message}))


def test_the_published_vector_decrypts() -> None:
    assert decrypted(SEALED, "test key") == b"hello world"


def test_the_signature_matches_the_vector_that_the_sdk_accepts() -> None:
    body = json.dumps({"encrypt": SEALED}, separators=(",", ":")).encode()

    assert is_signed(SIGNATURE, "1700000000", "nonce-1", "test key", body)
    assert not is_signed(SIGNATURE, "1700000001", "nonce-1", "test key", body)
    assert not is_signed(SIGNATURE, "1700000000", "nonce-1", "test key", body + b" ")


@pytest.mark.parametrize("sealed", ["", "?", "P37w", SEALED[:-24]])
def test_damaged_texts_are_refused(sealed: str) -> None:
    body = json.dumps({"encrypt": sealed}).encode()

    with pytest.raises(SignatureInvalid):
        read(({}, body))


def test_the_url_verification_is_answered_without_a_signature() -> None:
    _, body = lark_signed({"type": "url_verification", "token": "v-token", "challenge": "c-1"})

    assert read(({}, body)) == Challenge({"challenge": "c-1"})


def test_a_url_verification_with_another_token_is_refused() -> None:
    with pytest.raises(SignatureInvalid):
        read(lark_signed({"type": "url_verification", "token": "v-toke", "challenge": "c-1"}))


def test_a_tap_has_its_member_chat_card_and_packet() -> None:
    tap = read(lark_call("card.action.trigger", TAPPED))

    assert tap == Tap(FANG, "oc_1", "om_1", "p-1", "")


@pytest.mark.parametrize("late_ms", [-301_000, 301_000])
def test_a_replay_older_than_five_minutes_is_refused(late_ms: int) -> None:
    with pytest.raises(SignatureInvalid):
        read(lark_call("card.action.trigger", TAPPED, at_ms=NOW_MS + late_ms))


def test_taps_with_a_missing_or_wrong_signature_are_refused() -> None:
    headers, body = lark_call("card.action.trigger", TAPPED)
    other = {**headers, "x-lark-signature": "0" * 64}

    for given in ({}, other, {**headers, "x-lark-request-nonce": "n"}):
        with pytest.raises(SignatureInvalid):
            read((given, body))


@pytest.mark.parametrize("header", [{"token": "other"}, {"app_id": "cli_2"}])
def test_events_of_other_apps_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(SignatureInvalid):
        read(lark_call("card.action.trigger", TAPPED, **header))


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"encrypt": "AAAA"}', b'{"encrypt": 5}'])
def test_an_unencrypted_call_is_refused(body: bytes) -> None:
    with pytest.raises(SignatureInvalid):
        read(({}, body))


def test_messages_lose_the_mention_of_the_bot() -> None:
    message = said("@_user_1 /hongbao 8.88 5", parent_id="om_1")

    assert message == Message(
        FANG, "oc_1", "om_2", "/hongbao 8.88 5", "om_1", is_private=False, title=""
    )


def test_a_private_chat_is_recognized() -> None:
    assert said("/help", chat_type="p2p").is_private


def test_pictures_and_other_events_need_no_answer() -> None:
    assert said("", message_type="image", content="{}") is None
    assert read(lark_call("im.chat.disbanded_v1", {})) is None


def filled(form: Any, **action: Any) -> Any:
    sent = {"tag": "button", "value": {}, "name": "send", **action}
    event = {**TAPPED, "action": sent if form is None else {**sent, "form_value": form}}
    return read(lark_call("card.action.trigger", event))


def test_a_form_is_a_command_that_acts_once_for_its_card_and_member() -> None:
    message = filled({"amount": "8.88", "count": "5", "greeting": "恭喜发财"})

    assert (message.text, message.message_id, message.is_form) == (
        *("/hongbao 8.88 5 恭喜发财", "form:om_1:lark:T1:ou_1"),
        True,
    )


@pytest.mark.parametrize(
    "form",
    [
        *(None, "", [], {}, {"amount": "", "count": "", "greeting": ""}),
        *({"amount": "", "count": "5", "greeting": "3 x"}, {"amount": "5", "greeting": "3 x"}),
        {"count": "10", "greeting": "5 hi"},
        *({"amount": "8.88 1", "count": "5"}, {"amount": "8.88", "count": "5 1"}),
        *({"amount": "+link", "count": "5", "greeting": "3"}, {"amount": ["8.88"], "count": "5"}),
        {"amount": True, "count": "5"},
    ],
)
def test_a_malformed_form_is_a_command_without_an_amount(form: Any) -> None:
    message = filled(form)

    assert message.is_form
    assert message.text.split()[1:]
    assert packet_fields(message.text, Unit()) is None


@pytest.mark.parametrize("ids", [{}, {"open_id": ""}, {"open_id": 5.5}])
def test_a_member_without_an_id_is_invalid(ids: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        read(lark_call("card.action.trigger", {**TAPPED, "operator": ids}))


@pytest.mark.parametrize("name", LARK)
@pytest.mark.parametrize("value", ["", " "])
def test_a_blank_value_of_the_secret_connects_no_platform(name: str, value: str) -> None:
    environment = Platform().environment({**LARK, name: value})

    assert ConnectorName.LARK.connect(environment) is None


def test_a_name_is_fetched_once_and_a_missing_name_is_no_error() -> None:
    bot, platform = lark(TOKEN, NAME)
    for _ in range(2):
        bot.read(*lark_call("card.action.trigger", TAPPED), NOW_MS)
    nameless, _ = lark(None)

    tap = nameless.read(*lark_call("card.action.trigger", TAPPED), NOW_MS)

    assert len(platform.calls) == 2
    assert isinstance(tap, Tap)
    assert tap.member.name == ""


def test_a_card_is_shared_and_its_button_names_the_packet() -> None:
    bot, platform = lark(TOKEN, SENT)

    message_id = bot.post("oc_1", CARD, "k" * 60)

    _, url, body, headers = platform.calls[-1]
    card = json.loads(body["content"])
    assert message_id == "om_1"
    assert url == "https://open.feishu.cn/open-apis/im/v1/messages?receive_id_type=chat_id"
    assert headers["Authorization"] == "Bearer t-1"
    assert body["uuid"] == "k" * 50
    assert card["schema"] == "2.0"
    assert card["config"]["update_multi"]
    assert card["body"]["elements"][1]["behaviors"][0]["value"] == {"packet_id": "packet-1"}


def test_an_app_of_lark_calls_its_own_host() -> None:
    bot, platform = lark(TOKEN, SENT, lark_host="open.larksuite.com")

    bot.edit("om_1", "om_1", CARD)

    method, url, _, _ = platform.calls[-1]
    assert (method, url) == ("PATCH", "https://open.larksuite.com/open-apis/im/v1/messages/om_1")


def test_a_long_card_stays_below_30_kilobytes() -> None:
    bot, platform = lark(TOKEN, SENT)

    bot.post("oc_1", Card("p", "T", ("好" * 60,) * 1_000, None, None, None), "k")

    assert len(platform.calls[-1][2]["content"].encode()) < 30_000


def test_the_token_of_the_app_is_renewed_before_it_expires() -> None:
    now = [NOW_MS]
    platform = Platform([TOKEN, SENT, SENT, TOKEN, SENT])
    bot = Lark(platform.environment(LARK, lambda: now[0]))

    for later_ms in (0, 60_000, 7_000_000):
        now[0] = NOW_MS + later_ms
        bot.edit("oc_1", "om_1", CARD)

    assert [method for method, *_ in platform.calls] == ["POST", "PATCH", "PATCH", "POST", "PATCH"]


def test_a_rejected_token_is_renewed_by_the_next_call() -> None:
    bot, platform = lark(TOKEN, (400, {"code": 99991663}), TOKEN, SENT)

    with pytest.raises(Unavailable):
        bot.edit("oc_1", "om_1", CARD)
    bot.edit("oc_1", "om_1", CARD)

    assert len(platform.calls) == 4


@pytest.mark.parametrize(
    "answer",
    [
        (429, {"code": 99991400}, {"x-ogw-ratelimit-reset": "17"}),
        (400, {"code": 99991400}, {"x-ogw-ratelimit-reset": "17"}),
    ],
)
def test_a_rate_limited_call_reports_its_delay(answer: Any) -> None:
    bot, _ = lark(TOKEN, answer)

    with pytest.raises(ChatBusy) as refused:
        bot.edit("oc_1", "om_1", CARD)

    assert refused.value.retry_after_s == 17


@pytest.mark.parametrize("code", [230011, 230031, 230110])
def test_an_edit_without_changes_succeeds(code: int) -> None:
    lark(TOKEN, (400, {"code": code}))[0].edit("oc_1", "om_1", CARD)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ((400, {"code": 230002}), ChatGone),
        ((400, {"code": 230011}), ChatGone),
        ((400, {"code": 230099}), ChatGone),
        ((400, {"code": 230049}), Unavailable),
        ((500, {"code": 2200}), Unavailable),
        ((502, []), Unavailable),
        (None, Unavailable),
    ],
)
def test_other_failures_are_errors(answer: Any, error: type[Exception]) -> None:
    bot, _ = lark(TOKEN, answer)

    with pytest.raises(error):
        bot.post("oc_1", CARD, "key")


def test_taps_and_forms_are_answered_by_a_toast_and_messages_by_nothing() -> None:
    bot, _ = lark()
    words = Message(FANG, "oc_1", "om_2", "/hongbao", None, is_private=False, title="")
    form = replace(words, is_form=True)

    assert bot.answer(Tap(FANG, "oc_1", "om_1", "p-1", ""), "8.88", is_alert=True) == {
        "toast": {"type": "info", "content": "8.88"}
    }
    assert bot.answer(form, "8.88", is_alert=True)["toast"]["content"] == "8.88"
    assert bot.answer(words, "8.88", is_alert=True) == {}


def test_a_member_is_notified_in_their_private_chat() -> None:
    bot, platform = lark(TOKEN, SENT)

    bot.notify(FANG, "oc_1", "8.88")

    _, url, body, _ = platform.calls[-1]
    assert url.endswith("receive_id_type=open_id")
    assert (body["receive_id"], body["content"]) == ("ou_1", '{"text": "8.88"}')


@pytest.mark.parametrize("answer", [None, (429, {"code": 99991400}), (400, {"code": 230013})])
def test_notifications_never_raise_an_error(answer: Any) -> None:
    lark(answer)[0].notify(FANG, "oc_1", "hello")
