"""No log and no error contains keys, users' names, or bodies of requests."""

import logging
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
import wechatpayv3

from redpacket.payments.model.provider import PayMethod, RefundOrder
from redpacket.payments.providers.wechat.client import WeChatClient
from redpacket.payments.providers.wechat.login import CodeKind
from redpacket.platform.errors import RedPacketError
from testing.payments.gateways import CALL_MS_MAX, Received, Side, WeChatSide, a_number

MODES = [
    *("ok", "fails", "throttles", "refuses", "refuses_calls", "pays_and_fails"),
    *("not_found_then_found", "authorization_withdrawn", "forged_notifications"),
]


@contextmanager
def _everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    told: list[str] = []
    with caplog.at_level(logging.DEBUG):
        yield told
    told += [record.getMessage() + str(record.exc_text or "") for record in caplog.records]


def _all_of(error: BaseException) -> str:
    """Return what a log could print for an error: the messages and arguments of its chain."""
    told, seen = "", set[int]()
    chain: list[BaseException | None] = [error]
    while chain:
        cause = chain.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        told += "".join(traceback.format_exception_only(cause)) + repr(cause.args)
        chain += [cause.__cause__, cause.__context__]
    return told


def _calls(side: Side) -> list[Callable[[], Any]]:
    """Return every call of a provider, with a user whose name the test can search for."""
    alice, number = side.account("alice"), a_number()
    order = side.order(method=PayMethod.JSAPI, payer=alice)
    transfer = side.transfer()
    calls: list[Callable[[], Any]] = [
        lambda: side.payments_in.order(order),
        lambda: side.payments_in.query(order.number),
        lambda: side.payments_in.query_transaction("42000"),
        lambda: side.payments_in.close(order.number),
        lambda: side.payments_in.refund(RefundOrder(number, order.number, "42000", 1, 1)),
        lambda: side.payments_in.query_refund(number),
        lambda: side.payments_in.read_statement("2026-01-01"),
        lambda: side.payments_out.transfer(transfer),
        lambda: side.payments_out.transfer(side.transfer(authorization_no=number)),
        lambda: side.payments_out.query(transfer.transfer_no),
        lambda: side.payments_out.cancel(transfer.transfer_no),
        lambda: side.payments_out.read_statement("2026-01-01"),
        lambda: side.read(Received({"wechatpay-serial": "1", "webhook-id": "1"}, b"{}")),
    ]
    if isinstance(side, WeChatSide):
        calls += [
            lambda: side.authorizations.ask(number, alice, "alice"),
            lambda: side.authorizations.query(number),
            lambda: side.authorizations.close(number),
            *(lambda k=kind: side.login(k).find_account("code-alice", str) for kind in CodeKind),
            lambda: side.js_sdk().sign("https://page.example/"),
        ]
    return calls


def _run(side: Side, caplog: pytest.LogCaptureFixture) -> str:
    """Make every call, and return all output: logs, errors, and printed answers."""
    text = ""
    with _everything_logged(caplog) as logged:
        for call in _calls(side):
            try:
                text += repr(call())
            except RedPacketError as error:
                text += _all_of(error)
    return text + "".join(logged)


@pytest.mark.parametrize("mode", MODES)
def test_output_contains_no_secrets_in_any_mode(
    side: Side, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    side.fake.do("mode", mode=mode)

    text = _run(side, caplog)

    _assert_silent(side, text)


def test_output_contains_no_secrets_if_no_server_answers(
    wechat: WeChatSide, caplog: pytest.LogCaptureFixture
) -> None:
    client = WeChatClient(
        wechat.merchant, gateway_url="http://127.0.0.1:9", call_ms_max=CALL_MS_MAX
    )

    with _everything_logged(caplog) as logged, pytest.raises(RedPacketError) as raised:
        client.post("/v3/secret-path", {"openid": wechat.name("alice")})

    _assert_silent(wechat, _all_of(raised.value) + "".join(logged))
    assert "secret-path" not in _all_of(raised.value)


def test_objects_with_keys_do_not_print_them(wechat: WeChatSide, host: Side) -> None:
    alice = wechat.account("alice")

    printed = repr((wechat.merchant, alice, host.account("alice"), wechat.transfer()))

    _assert_silent(wechat, printed)
    assert alice.sealed not in printed


def test_the_library_is_given_no_logger(wechat: WeChatSide) -> None:
    assert wechat.client._pay._core._logger is None


def test_the_library_still_reads_the_gateway_address_from_the_expected_place(
    wechat: WeChatSide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client refuses to start if the library renames this attribute; otherwise, a test could
    call the real provider.
    """
    assert wechat.client._pay._core._gate_way == wechat.fake.url

    class Renamed:
        def __init__(self, *_: Any, **__: Any) -> None:
            self._core = object()

    monkeypatch.setattr("redpacket.payments.providers.wechat.client.WeChatPay", Renamed)
    with pytest.raises(RuntimeError):
        WeChatClient(wechat.merchant, call_ms_max=CALL_MS_MAX)
    assert wechatpayv3.__version__ == "2.0.4"


def _assert_silent(side: Side, passphrase: str) -> None:
    assert passphrase
    # A short name may occur inside a hash, so only whole words count; openids and keys are long.
    for secret, number in zip([*side.secrets, side.name("alice")], count(), strict=False):
        is_long = len(secret) > 8
        matched = secret in passphrase if is_long else re.search(rf"\b{secret}\b", passphrase)
        assert not matched, f"secret number {number} was told"
