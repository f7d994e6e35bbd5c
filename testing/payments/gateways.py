"""Simulated providers with their adapters: as separate processes, and in this process."""

import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from local import places
from local.client import NO_TLS
from local.gateways.core import Gateway
from local.gateways.policy import Policy
from local.gateways.records import Made
from local.gateways.simulated_payers import SimulatedPayers
from local.gateways.wechat.simulator import openid_of
from local.ports import HOST, Ports, is_open
from local.processes import Process
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import (
    ExternalAccount,
    PaymentOrder,
    PayMethod,
    ProviderEvent,
    ProviderEventKind,
    TransferOrder,
)
from redpacket.payments.ports import CallbackVerifier, PaymentProvider, PayoutProvider
from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys
from redpacket.payments.providers.host_wallet.provider import HostCallbacks, HostIn, HostOut
from redpacket.payments.providers.wechat.authorizations import WeChatAuthorizations
from redpacket.payments.providers.wechat.callbacks import CallbackKeys, WeChatCallbacks
from redpacket.payments.providers.wechat.client import WeChatClient, WeChatMerchant
from redpacket.payments.providers.wechat.js_sdk import JsSdk
from redpacket.payments.providers.wechat.login import CodeKind, WeChatLogin
from redpacket.payments.providers.wechat.provider import (
    OrderSettings,
    TransferSettings,
    WeChatIn,
    WeChatOut,
)
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.platform.ssrf_safe_http import HttpClient
from testing.payments.fake_gateway import FakePaymentsIn, FakePaymentsOut, an_account
from testing.platform.fake_services import FakeClock

CALL_MS_MAX = 2_000
START_TIMEOUT_S = 30.0
WAIT_S = 10.0
RETRY_MS = "50,100,200,400"
DAY_MS = 24 * 60 * 60 * 1_000


@dataclass(slots=True)
class Received:
    """Request to our callback URL, with lowercase header names."""

    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Inbox:
    """Server at our callback URL that stores the requests."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    """Statuses of the next answers. Later answers are 204."""
    is_ours: Callable[[Received], bool] = lambda _: True
    """Whether a request belongs to the test; others are answered and ignored."""

    def wait_for(self, count: int) -> list[Received]:
        wait_until(
            lambda: len(self.received) >= count,
            lambda: f"{len(self.received)} of {count} results reached {self.url}",
        )
        return list(self.received)

    def clear(self) -> None:
        self.received.clear()
        self.answers.clear()


@dataclass(slots=True)
class Fake:
    """Address and controls of the simulated counterparty."""

    url: str

    def do(self, name: str, **body: Any) -> Any:
        answer = httpx.post(f"{self.url}/_fake/{name}", json=body, trust_env=False, verify=NO_TLS)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def show(self, name: str) -> Any:
        return httpx.get(f"{self.url}/_fake/{name}", trust_env=False, verify=NO_TLS).json()

    def paid_out(self) -> dict[str, Any]:
        return {line["number"]: line for line in self.show("book")["out"]}

    def paid_in(self) -> dict[str, Any]:
        return {line["number"]: line for line in self.show("book")["in"]}


@dataclass(slots=True)
class Side:
    """Provider: our adapters, the simulated counterparty, and the callbacks that we receive."""

    channel: ProviderName
    fake: Fake
    inbox: Inbox
    accounts: Accounts
    payments_in: PaymentProvider
    payments_out: PayoutProvider
    callbacks: CallbackVerifier
    secrets: list[str]
    """Texts that no log or error may contain."""
    app_id: str = ""
    ahead_ms: int = 0
    url: str = ""
    """URL for calls to the host wallet."""

    def empty(self) -> None:
        self.fake.do("forget")
        self.inbox.clear()

    def account(self, name: str) -> ExternalAccount:
        return self.accounts.seal(self.name(name), name)

    def name(self, name: str) -> str:
        return openid_of(self.app_id, name) if self.channel is ProviderName.WECHAT else name

    def order(self, **changes: Any) -> PaymentOrder:
        wanted: dict[str, Any] = {
            "number": a_number(),
            "amount_fen": 2_000,
            "method": PayMethod.NATIVE,
            "payer": None,
            "expires_at_ms": self.now_ms() + 15 * 60_000,
        }
        return PaymentOrder(**(wanted | changes))

    def transfer(self, **changes: Any) -> TransferOrder:
        wanted: dict[str, Any] = {
            "transfer_no": a_number(),
            "amount_fen": 500,
            "payee": self.account("alice"),
            "authorization_no": None,
            "details": self.payments_out.details(),
        }
        return TransferOrder(**(wanted | changes))

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def advance(self, by_ms: int) -> None:
        self.fake.do("advance", ms=by_ms)
        self.ahead_ms += by_ms

    def read(self, received: Received) -> ProviderEvent:
        # Signatures use this machine's time, regardless of the simulator's clock.
        return self.callbacks.read(received.headers, received.body, time.time_ns() // 1_000_000)

    def notices(self, count: int) -> list[ProviderEvent]:
        """Wait for *count* callbacks, and return the events of all callbacks but forged ones."""
        notices = []
        for received in self.inbox.wait_for(count):
            try:
                notices.append(self.read(received))
            except SignatureInvalid:
                continue
        return notices


class MemoryFake(Fake):
    """In-process simulator with the controls of SimulatedPayers."""

    def __init__(self, payers: SimulatedPayers) -> None:
        self._people = payers

    def do(self, name: str, **body: Any) -> Any:
        return self._people.do(name, body)

    def show(self, name: str) -> Any:
        assert name == "book"
        return self._people.book()


class MemorySide(Side):
    """Ports over the in-process simulator, in virtual time."""

    def __init__(self) -> None:
        self.clock, self.told = FakeClock(), list[ProviderEvent]()
        gateway = Gateway(self.clock, Policy(), self._note)
        self.channel = ProviderName.WECHAT
        self.fake = MemoryFake(SimulatedPayers(gateway, lambda name: an_account(name).name_hash))
        self.payments_in = FakePaymentsIn(gateway)
        self.payments_out = FakePaymentsOut(gateway, details="confirm")
        self.ahead_ms = 0

    def account(self, name: str) -> ExternalAccount:
        return an_account(name)

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def notices(self, count: int) -> list[ProviderEvent]:
        assert len(self.told) >= count
        return self.told[:count]

    def _note(self, made: Made) -> None:
        of = (
            ProviderEventKind(made.kind),
            f"{made.kind}/{made.number}",
            made.number,
            made.outside_no,
        )
        self.told.append(ProviderEvent(*of))


@dataclass(slots=True)
class WeChatSide(Side):
    """WeChat Pay as a provider, with features that only it has."""

    client: WeChatClient = field(kw_only=True)
    merchant: WeChatMerchant = field(kw_only=True)
    authorizations: WeChatAuthorizations = field(kw_only=True)
    keys_folder: Path = field(kw_only=True)

    def login(self, kind: CodeKind) -> WeChatLogin:
        return WeChatLogin(self.merchant, self.accounts, self._outgoing, kind)

    def _outgoing(self, path: str) -> HttpClient:
        return HttpClient(self.fake.url + path, call_ms_max=CALL_MS_MAX, allows_private=True)

    def js_sdk(self, app_secret: str = "") -> JsSdk:
        """Return the JS-SDK signer for page addresses at https://page.example."""
        merchant = replace(self.merchant, app_secret=app_secret or self.merchant.app_secret)

        return JsSdk(merchant, "https://page.example/to", self._outgoing, self.now_ms)


def a_number() -> str:
    return secrets.token_hex(12)


def wait_until(
    is_so: Callable[[], bool], told: Callable[[], str] = lambda: "it did not come to that"
) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline, f"{told()} in {WAIT_S:.0f} s"
        time.sleep(0.01)


OWN_WALLET = pytest.StashKey[Side]()
"""Wallet that `wallet_check` checks, stored in pytest's configuration."""


@contextmanager
def an_inbox(port: int = 0) -> Iterator[Inbox]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received, answer = Received(headers, body), 204
            if inbox.is_ours(received):
                inbox.received.append(received)
                answer = inbox.answers.pop(0) if inbox.answers else answer
            self.send_response(answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer((HOST, port), Handler)
    inbox = Inbox(f"http://{HOST}:{server.server_address[1]}/callback")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield inbox
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def a_process(provider: str, folder: Path, *options: str) -> Iterator[Fake]:
    port = Ports.free().front
    command = [
        *(sys.executable, "-m", "local.gateways", provider, "--retry-ms", RETRY_MS),
        *("--port", str(port), "--keys", str(folder), *options),
    ]
    env = {n: os.environ[n] for n in ("PATH", "PYTHONPYCACHEPREFIX") if n in os.environ}
    process = Process(provider, command, log=folder / "log", env=env, cwd=places.ROOT)
    try:
        process.wait_until(lambda: is_open(port), timeout_s=START_TIMEOUT_S)
        yield Fake(f"http://{HOST}:{port}")
    finally:
        process.stop()


def account_keys() -> AccountKeys:
    return AccountKeys.of(json.dumps({"1": secrets.token_urlsafe(48)}))


@contextmanager
def a_wechat_side(folder: Path) -> Iterator[WeChatSide]:
    with an_inbox() as inbox, a_process("wechat", folder) as fake:
        secret = (folder / "merchant.json").read_text()
        merchant = WeChatMerchant.of(secret)
        client = WeChatClient(merchant, gateway_url=fake.url, call_ms_max=CALL_MS_MAX)
        accounts = Accounts(account_keys(), f"wechat/{merchant.app_id}")

        def now_ms() -> int:
            return side.now_ms()

        transfers = TransferSettings(
            inbox.url,
            "1000",
            "红包提现",
            (("活动名称", "红包"), ("奖励说明", "抢到的红包")),
            "现金奖励",
        )
        side = WeChatSide(
            ProviderName.WECHAT,
            fake,
            inbox,
            accounts,
            WeChatIn(client, accounts, OrderSettings(inbox.url, "红包"), now_ms),
            WeChatOut(client, accounts, transfers, now_ms),
            WeChatCallbacks(
                CallbackKeys(
                    *(merchant.mch_id, merchant.public_key_id),
                    *(merchant.public_key, merchant.api_v3_key),
                )
            ),
            [*(merchant.api_v3_key, merchant.app_secret), *merchant.private_key.splitlines()[1:3]],
            merchant.app_id,
            client=client,
            merchant=merchant,
            keys_folder=folder,
            authorizations=WeChatAuthorizations(
                client, accounts, notify_url=inbox.url, scene_id="1000"
            ),
        )
        yield side


@contextmanager
def a_host_side(folder: Path) -> Iterator[Side]:
    with an_inbox() as inbox, a_process("host", folder, "--callback-url", inbox.url) as fake:
        keys = HostKeys.of((folder / "wallet.json").read_text())
        outgoing = HttpClient(f"{fake.url}/wallet", call_ms_max=CALL_MS_MAX, allows_private=True)
        yield host_side(fake, inbox, keys, HostClient(keys, outgoing), f"{fake.url}/wallet")


def host_side(fake: Fake, inbox: Inbox, keys: HostKeys, client: HostClient, url: str) -> Side:
    """Return the adapters of the wallet that *client* calls at *url*."""
    accounts = Accounts(account_keys(), "host")
    return Side(
        ProviderName.HOST,
        fake,
        inbox,
        accounts,
        HostIn(client, accounts),
        HostOut(client, accounts),
        HostCallbacks(client),
        [secret.removeprefix("whsec_") for secret in (keys.call_secret, keys.result_secret)],
        url=url,
    )
