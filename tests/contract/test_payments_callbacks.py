"""Callbacks from providers: valid, repeated, late, forged, and in any order."""

import json
import subprocess
import sys
import time
from base64 import b64encode
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import Certificate, CertificateBuilder, Name, NameAttribute
from cryptography.x509.oid import NameOID

from local.gateways.deliveries import Message
from local.gateways.wechat.wire import GatewayKeys, make_private_key
from local.places import ROOT
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import OrderState, ProviderEventKind
from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys
from redpacket.payments.providers.host_wallet.provider import HostCallbacks
from redpacket.payments.providers.wechat.callbacks import CallbackKeys, WeChatCallbacks
from redpacket.payments.providers.wechat.client import WeChatClient, WeChatMerchant
from redpacket.platform.ssrf_safe_http import HttpClient
from testing.payments.gateways import CALL_MS_MAX, Received, Side, WeChatSide, a_number, wait_until

MINUTE_MS = 60_000


def _a_payment(side: Side) -> str:
    order = side.order()
    side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number)
    return order.number


def _received(event: Message) -> Received:
    signed = event.sign(int(time.time()))
    return Received({name.lower(): value for name, value in signed.items()}, event.body)


def _kinds(side: Side) -> Counter[str]:
    return Counter(notification["kind"] for notification in side.fake.show("notifications"))


def _refused(side: Side, received: Received) -> bool:
    try:
        side.read(received)
    except SignatureInvalid:
        return True
    return False


def test_an_unaccepted_callback_is_repeated_as_the_same_notice(side: Side) -> None:
    side.inbox.answers = [500, 503, 204]

    number = _a_payment(side)

    notices = side.notices(3)
    assert len({notice.notice_id for notice in notices}) == 1
    assert {notice.number for notice in notices} == {number}


def test_the_attempts_of_a_callback_are_shown_with_their_answers(side: Side) -> None:
    side.inbox.answers = [500, 503, 204]

    _a_payment(side)

    wait_until(lambda: len(side.fake.show("notifications")) == 3)
    assert [notification["status"] for notification in side.fake.show("notifications")] == [
        500,
        503,
        204,
    ]


def test_a_repeated_callback_is_the_same_notice(side: Side) -> None:
    side.fake.do("mode", mode="duplicate_notifications")

    number = _a_payment(side)

    notices = side.notices(3)
    assert len(set(notices)) == 1
    assert notices[0].number == number
    assert len({received.body for received in side.inbox.received}) == 1


def test_different_events_are_different_notices(side: Side) -> None:
    numbers = {_a_payment(side) for _ in range(2)}

    notices = side.notices(2)

    assert {notice.number for notice in notices} == numbers
    assert len({notice.notice_id for notice in notices}) == 2


def test_forged_callbacks_are_refused_and_the_valid_one_is_read(side: Side) -> None:
    side.fake.do("mode", mode="forged_notifications")

    number = _a_payment(side)
    wait_until(lambda: _kinds(side)["true"] == 1)

    received = list(side.inbox.received)
    assert len(received) == _kinds(side)["forged"] + 1 >= 6
    assert [_refused(side, each) for each in received] == [True] * (len(received) - 1) + [False]
    assert side.read(received[-1]).number == number


def test_a_replayed_callback_is_too_old(side: Side) -> None:
    side.fake.do("mode", mode="stale_notifications")

    number = _a_payment(side)
    (received,) = side.inbox.wait_for(1)

    assert _refused(side, received)
    # The callback is too old, but a query still finds the payment.
    assert side.payments_in.query(number).state is OrderState.PAID


def test_the_age_of_a_callback_is_at_most_five_minutes_in_both_directions(side: Side) -> None:
    _a_payment(side)
    (received,) = side.inbox.wait_for(1)
    now_ms = time.time_ns() // 1_000_000

    for off_ms in (-4 * MINUTE_MS, 4 * MINUTE_MS):
        notice = side.callbacks.read(received.headers, received.body, now_ms + off_ms)
        assert notice.kind is ProviderEventKind.PAYMENT
    for off_ms in (-6 * MINUTE_MS, 6 * MINUTE_MS):
        with pytest.raises(SignatureInvalid):
            side.callbacks.read(received.headers, received.body, now_ms + off_ms)


def test_callbacks_can_arrive_in_any_order(side: Side) -> None:
    side.fake.do("mode", mode="reordered_notifications")

    first, second = _a_payment(side), _a_payment(side)

    assert [notice.number for notice in side.notices(2)] == [second, first]


def test_without_any_callback_a_query_suffices(side: Side) -> None:
    side.fake.do("mode", mode="no_notifications")

    number = _a_payment(side)

    assert side.payments_in.query(number).state is OrderState.PAID
    assert not side.fake.show("notifications")
    assert not side.inbox.received


def test_a_callback_can_arrive_much_later(side: Side) -> None:
    side.fake.do("mode", mode="no_notifications")
    number = _a_payment(side)
    side.fake.do("mode", mode="ok")

    side.fake.do("notify", number=number)

    (notice,) = side.notices(1)
    assert (notice.kind, notice.number) == (ProviderEventKind.PAYMENT, number)


def test_every_part_of_a_callback_is_authenticated(side: Side) -> None:
    _a_payment(side)
    (received,) = side.inbox.wait_for(1)
    marks = [name for name in received.headers if name.startswith(("wechatpay-", "webhook-"))]
    side.read(received)

    changed = [Received(received.headers | {name: "1"}, received.body) for name in marks]
    changed += [
        Received({n: v for n, v in received.headers.items() if n != name}, received.body)
        for name in marks
    ]
    changed += [
        Received(received.headers, body)
        for body in (b"", b"{}", b"[]", b"\xff", received.body + b" ", received.body[:-1])
    ]

    assert len(marks) >= 3
    assert all(_refused(side, each) for each in changed)


@pytest.mark.parametrize(
    "timestamp", ["", "nan", "inf", "-1", "1e9", "１７６３７９０００0", "9" * 400, "0x10", "1.5"]
)
def test_an_unreadable_timestamp_is_refused(side: Side, timestamp: str) -> None:
    _a_payment(side)
    (received,) = side.inbox.wait_for(1)
    names = {"wechatpay-timestamp", "webhook-timestamp"} & set(received.headers)

    changed = received.headers | dict.fromkeys(names, timestamp)

    assert _refused(side, Received(changed, received.body))


def test_a_callback_of_one_gateway_is_refused_by_another(wechat: WeChatSide, host: Side) -> None:
    _a_payment(wechat)
    _a_payment(host)
    (of_wechat,), (of_host,) = wechat.inbox.wait_for(1), host.inbox.wait_for(1)

    assert _refused(host, of_wechat)
    assert _refused(wechat, of_host)


@pytest.mark.parametrize("serial", ["", "zz", "5157F09EFDC096DE15EBE81A47057A7232F1B8E1", "é"])
def test_an_unknown_key_is_refused_before_the_library_uses_it(
    wechat: WeChatSide, serial: str
) -> None:
    _a_payment(wechat)
    (received,) = wechat.inbox.wait_for(1)
    before = len(wechat.fake.show("calls"))

    changed = Received(received.headers | {"wechatpay-serial": serial}, received.body)

    assert _refused(wechat, changed)
    # The library must not fetch certificates, as it does by default.
    assert len(wechat.fake.show("calls")) == before


def test_callbacks_with_either_key_of_wechat_are_accepted_during_a_rotation(
    wechat: WeChatSide, tmp_path: Path
) -> None:
    number = _a_payment(wechat)
    (received,) = wechat.inbox.wait_for(1)
    old, new = wechat.merchant, WeChatMerchant(**asdict(GatewayKeys.of(tmp_path).merchant))

    now_ms = time.time_ns() // 1_000_000
    for first, then in ((old, new), (new, old)):
        both = replace(
            old,
            public_key_id=f"{first.public_key_id} {then.public_key_id}",
            public_key=first.public_key + then.public_key,
            api_v3_key=f"{first.api_v3_key} {then.api_v3_key}",
        )
        event = _callbacks_of(both).read(received.headers, received.body, now_ms)
        assert event.number == number
    with pytest.raises(SignatureInvalid):
        _callbacks_of(replace(old, api_v3_key=new.api_v3_key)).read(
            received.headers, received.body, now_ms
        )
    # The client verifies the provider's responses with the first key.
    client = WeChatClient(
        replace(
            old,
            public_key_id=f"{old.public_key_id} {new.public_key_id}",
            public_key=old.public_key + new.public_key,
        ),
        gateway_url=wechat.fake.url,
        call_ms_max=CALL_MS_MAX,
    )
    assert client.get(f"/v3/pay/transactions/id/42000?mchid={old.mch_id}").status


def _a_certificate(key: RSAPrivateKey) -> Certificate:
    name = Name([NameAttribute(NameOID.COMMON_NAME, "Tenpay.com Root CA")])
    now = datetime.now(UTC)
    draft = CertificateBuilder(name, name, key.public_key(), serial_number=0x0A7B0C1D)
    valid = draft.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return valid.sign(key, SHA256())


@pytest.mark.parametrize("serial", ["A7B0C1D", "0a7b0c1d"])
@pytest.mark.parametrize("ids", ["{id}", "{id} {serial}", "{serial} {id}"])
def test_the_certificate_also_verifies_while_a_merchant_migrates_to_the_public_key(
    tmp_path: Path, serial: str, ids: str
) -> None:
    keys, platform_key = GatewayKeys.of(tmp_path), make_private_key()
    certificate = _a_certificate(platform_key).public_bytes(Encoding.PEM).decode()
    merchant = WeChatMerchant(**asdict(keys.merchant))
    resource = {"mchid": merchant.mch_id, "out_trade_no": "order1", "transaction_id": "42"}
    event = keys.event("", "TRANSACTION.SUCCESS", "transaction", "order1", resource)
    callbacks = _callbacks_of(
        replace(
            merchant,
            public_key=certificate + merchant.public_key,
            public_key_id=ids.format(id=merchant.public_key_id, serial=serial),
        )
    )

    def read(key: RSAPrivateKey | None, key_id: str) -> str:
        signed = keys.signed(event.body, key=key) | {"Wechatpay-Serial": key_id}
        headers = {name.lower(): value for name, value in signed.items()}
        return callbacks.read(headers, event.body, time.time_ns() // 1_000_000).number

    assert read(None, merchant.public_key_id) == read(platform_key, serial) == "order1"
    for key, key_id in ((None, serial), (platform_key, merchant.public_key_id)):
        with pytest.raises(SignatureInvalid):
            read(key, key_id)


UNREADABLE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"public_key": ""}, "public_key has 0 public keys, and public_key_id 1 ids of them"),
        ({"public_key_id": ""}, "public_key has 1 public keys, and public_key_id 0 ids of them"),
        ({"public_key": UNREADABLE}, "public_key has an unreadable CERTIFICATE"),
        (
            {"public_key": UNREADABLE.replace("CERTIFICATE", "KEY")},
            "public_key has an unreadable KEY",
        ),
        ({"api_v3_key": "x" * 31}, "an api_v3_key has 32 characters"),
        ({"api_v3_key": " "}, "an api_v3_key has 32 characters"),
    ],
)
def test_keys_that_verify_nothing_are_refused_at_startup(
    tmp_path: Path, changes: dict[str, str], problem: str
) -> None:
    merchant = replace(WeChatMerchant(**asdict(GatewayKeys.of(tmp_path).merchant)), **changes)

    for start in (_callbacks_of, partial(WeChatClient, call_ms_max=CALL_MS_MAX)):
        with pytest.raises(ValueError, match=f"^{problem}$"):
            start(merchant)


def test_the_private_key_and_keys_of_another_kind_verify_nothing(tmp_path: Path) -> None:
    merchant = WeChatMerchant(**asdict(GatewayKeys.of(tmp_path).merchant))
    elliptic = ec.generate_private_key(ec.SECP256R1()).public_key()
    form = PublicFormat.SubjectPublicKeyInfo

    for pem in (merchant.private_key, elliptic.public_bytes(Encoding.PEM, form).decode()):
        with pytest.raises(ValueError, match="public_key has "):
            _callbacks_of(replace(merchant, public_key=pem))


def test_the_gateway_function_does_not_start_with_a_wrong_key(tmp_path: Path) -> None:
    merchant = WeChatMerchant(**asdict(GatewayKeys.of(tmp_path).merchant))
    variables = {
        "WECHAT_MCH_ID": merchant.mch_id,
        "WECHAT_PUBLIC_KEY": merchant.public_key,
        "WECHAT_API_V3_KEY": merchant.api_v3_key,
    }

    def start(public_key_id: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", "import runpy; runpy.run_path('functions/gateway/app.py')"],
            env={"PYTHONPATH": "shared", **variables, "WECHAT_PUBLIC_KEY_ID": public_key_id},
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr.strip().rpartition("\n")[2]

    assert start(merchant.public_key_id) == (0, "")
    assert start("") == (
        1,
        "ValueError: public_key has 1 public keys, and public_key_id 0 ids of them",
    )


def _callbacks_of(merchant: WeChatMerchant) -> WeChatCallbacks:
    return WeChatCallbacks(
        CallbackKeys(
            *(merchant.mch_id, merchant.public_key_id, merchant.public_key, merchant.api_v3_key)
        )
    )


@pytest.mark.parametrize("text", ["{old} {new}", "{new} {old}"])
def test_both_secrets_of_the_wallet_are_valid_during_a_rotation(host: Side, text: str) -> None:
    number = _a_payment(host)
    (received,) = host.inbox.wait_for(1)
    other = "whsec_" + b64encode(bytes(32)).decode()
    both = HostKeys(*(text.format(old=f"whsec_{old}", new=other) for old in host.secrets))
    outgoing = HttpClient(host.url, call_ms_max=CALL_MS_MAX, allows_private=True)
    client = HostClient(both, outgoing)

    now_ms = time.time_ns() // 1_000_000
    event = HostCallbacks(client).read(received.headers, received.body, now_ms)
    assert event.number == number
    assert client.call("payment.query", {"number": a_number()})["state"] == "not_found"


def test_a_signed_answer_is_not_a_callback(host: Side) -> None:
    """A wallet signs answers and callbacks with the same secret, but an answer is no callback."""
    told: list[tuple[dict[str, str], bytes]] = []
    client = host.payments_in._client  # type: ignore[attr-defined]
    true = client._http_client.post

    def recording(body: bytes, headers: dict[str, str]) -> object:
        answer = true(body, headers)
        told.append((dict(answer.headers), answer.body))
        return answer

    client._http_client.post = recording
    try:
        number = a_number()
        host.payments_in.query(number)
    finally:
        client._http_client.post = true

    ((headers, body),) = told
    assert json.loads(body)["data"]["number"] == number
    assert _refused(host, Received(headers, body))


def test_a_callback_for_another_merchant_is_refused(wechat: WeChatSide) -> None:
    """A provider signs for many merchants with one key."""
    keys = GatewayKeys.of(wechat.keys_folder)

    def told_to(mch_id: str) -> Received:
        resource = {"mchid": mch_id, "out_trade_no": "order1", "transaction_id": "42"}
        return _received(keys.event("", "TRANSACTION.SUCCESS", "transaction", "order1", resource))

    assert wechat.read(told_to(wechat.merchant.mch_id)).number == "order1"
    assert _refused(wechat, told_to("1999999999"))


@pytest.mark.parametrize("name", ["mch_id", "mchid"])
def test_a_transfer_names_its_merchant_under_either_field_name(
    wechat: WeChatSide, name: str
) -> None:
    """Public client libraries disagree on the name of this field."""
    keys = GatewayKeys.of(wechat.keys_folder)

    def told_to(mch_id: str) -> Received:
        resource = {name: mch_id, "out_bill_no": "bill1", "transfer_bill_no": "13"}
        kind = "MCHTRANSFER.BILL.FINISHED"
        return _received(keys.event("", kind, "mch_payment", "bill1", resource))

    assert wechat.read(told_to(wechat.merchant.mch_id)).number == "bill1"
    assert _refused(wechat, told_to("1999999999"))


def test_an_unknown_kind_of_event_is_refused(wechat: WeChatSide) -> None:
    keys = GatewayKeys.of(wechat.keys_folder)
    resource = {"mchid": wechat.merchant.mch_id, "out_trade_no": "order1"}
    event = keys.event("", "COUPON.USE", "coupon", "order1", resource)

    assert _refused(wechat, _received(event))
