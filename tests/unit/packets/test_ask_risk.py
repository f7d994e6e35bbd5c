"""Calls to the host's risk control: about winners only, signed, at most hourly, with a short
timeout.
"""

import json
from collections.abc import Mapping
from threading import Event
from typing import Any

import pytest
from standardwebhooks import Webhook

from redpacket.campaigns.errors import NotInAudience
from redpacket.operations.clients import risk_hook
from redpacket.operations.clients.risk_hook import RiskHook
from redpacket.operations.use_cases.ask_risk import RiskCheck
from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import EMPTIED_KEPT_MS
from redpacket.packets.model.packet import Packet
from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer
from redpacket.platform.user import User
from testing.builders import a_prize
from testing.in_memory_system import InMemorySystem

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


class Host:
    """Hook that denies the named users and counts the calls."""

    def __init__(self, *denied: str) -> None:
        self.denied = set(denied)
        self.requests: list[str] = []
        self.is_away = False

    def ask(self, host_id: str) -> bool | None:
        self.requests.append(host_id)
        return None if self.is_away else host_id not in self.denied


class Memory:
    """In-memory AskedVerdicts."""

    def __init__(self) -> None:
        self.kept: dict[str, bool] = {}
        self.is_away = False

    def find(self, user_id: str) -> bool | None:
        self._check()
        return self.kept.get(user_id)

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        assert for_ms == 3_600_000
        self._check()
        self.kept[user_id] = is_allowed

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the cache does not answer")


class Asking:
    """System whose processes call a host."""

    def __init__(self, system: InMemorySystem, *, is_open: bool = True) -> None:
        self.system, self.host, self.memory = system, Host("eve"), Memory()
        self.check = RiskCheck(
            self.host, self.memory, is_open=is_open, clock=system.clock, logger=system.logger
        )

    def grab(self, packet: Packet, name: str) -> Any:
        claimer = User(name, None, name)
        return self.system.process(risk=self.check).grab_packet(packet.packet_id, claimer, None)


@pytest.fixture
def asking(system: InMemorySystem) -> Asking:
    return Asking(system)


def test_a_denied_user_gets_no_share_and_leaves_it_to_others(asking: Asking) -> None:
    packet = asking.system.send(count=1)

    with pytest.raises(NotInAudience):
        asking.grab(packet, "eve")
    asking.system.pass_time(EMPTIED_KEPT_MS)

    assert asking.grab(packet, "ann").share.share_no == 1
    assert asking.host.requests == ["eve", "ann"]


def test_the_host_is_not_called_about_a_loser_and_once_an_hour_about_a_winner(
    asking: Asking,
) -> None:
    first, second = (asking.system.send(count=1) for _ in range(2))

    asking.grab(first, "ann")
    for _ in range(2):
        with pytest.raises(PacketEmptied):
            asking.grab(first, "bob")
    asking.grab(second, "ann")
    asking.grab(second, "ann")

    assert asking.host.requests == ["ann"]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_setting_decides_if_the_host_is_unavailable(
    system: InMemorySystem, *, is_open: bool
) -> None:
    asking = Asking(system, is_open=is_open)
    asking.host.is_away = True
    packet = system.send(count=9)
    told = []

    for name in ("ann", "bob"):
        try:
            told.append(asking.grab(packet, name).is_new)
        except NotInAudience:
            told.append(False)

    assert told == [is_open] * 2
    # The second grab did not wait for the host again, and no decision was cached.
    assert asking.host.requests == ["ann"]
    assert asking.memory.kept == {}
    asking.host.is_away = False
    system.pass_time(1_000)
    assert asking.grab(packet, "cat").is_new
    assert asking.host.requests == ["ann", "cat"]


def test_an_unavailable_decision_cache_costs_a_call_and_no_share(asking: Asking) -> None:
    asking.memory.is_away = True

    assert asking.grab(asking.system.send(), "ann").is_new
    assert asking.host.requests == ["ann"]


def test_the_host_is_called_only_about_a_winning_draw(asking: Asking) -> None:
    system = asking.system
    campaign = system.rain(miss_weight=0)
    eve, ann = (User(name, None, name) for name in ("eve", "ann"))
    system.load_campaign(campaign.campaign_id)
    process = system.process(risk=asking.check)
    assert process.draw_prize(campaign.campaign_id, eve, "one").draw.prize is None
    assert asking.host.requests == []
    system.put_prize(a_prize(campaign.campaign_id, total=1))
    system.load_campaign(campaign.campaign_id)

    for key in ("two", "two", "three"):
        with pytest.raises(NotInAudience):
            system.process(risk=asking.check).draw_prize(campaign.campaign_id, eve, key)

    won = system.process(risk=asking.check).draw_prize(campaign.campaign_id, ann, "one")
    assert won.draw.prize
    assert asking.host.requests == ["eve", "ann"]


# ---- the call


class Wire:
    """Stand-in for HttpClient; it answers when *answers* is set."""

    def __init__(self, status: int = 200, body: bytes = b"") -> None:
        self.answer = HttpAnswer(status, {}, body)
        self.answers = Event()
        self.answers.set()
        self.posted: list[tuple[bytes, Mapping[str, str]]] = []

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        self.posted.append((body, headers))
        self.answers.wait(10)
        if not self.answer.status:
            raise Unavailable("an external address does not answer")
        return self.answer


def _hook(wire: Wire) -> RiskHook:
    return RiskHook(wire, SECRET)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, b'{"verdict": "allow"}', True),
        (200, b'{"verdict": "deny"}', False),
        (200, b'{"verdict": "perhaps"}', None),
        (200, b'{"verdict": ["deny"]}', None),
        (200, b"[]", None),
        (200, b"deny", None),
        (200, b"[" * 50_000, None),
        (302, b'{"verdict": "allow"}', None),
        (500, b'{"verdict": "deny"}', None),
        (0, b"", None),
    ],
)
def test_only_a_valid_answer_counts(
    monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, verdict: object
) -> None:
    # On a busy machine, a thread may start late.
    monkeypatch.setattr(risk_hook, "CALL_MS_MAX", 10_000)

    assert _hook(Wire(status, body)).ask("alice") is verdict


def test_a_call_is_signed_by_standard_webhooks() -> None:
    wire = Wire(200, b'{"verdict": "allow"}')

    _hook(wire).ask("alice")

    ((body, headers),) = wire.posted
    told = Webhook(SECRET).verify(body, dict(headers))
    assert told == {"type": "redpacket.risk.asked", "data": {"user": "alice"}}
    assert json.loads(body) == told


def test_calls_to_a_slow_host_time_out() -> None:
    wire = Wire(200, b'{"verdict": "deny"}')
    wire.answers.clear()

    assert _hook(wire).ask("alice") is None

    wire.answers.set()
