"""Logs without users' names: logs are kept longer, and read by more people, than the ledger."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.model.switches import Switch
from redpacket.operations.use_cases.turn_switch import SwitchPorts, turn_switch
from redpacket.packets.model.claim import RecordStatus
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.user import User
from testing.builders import a_claim
from testing.fakes import FakeClock, FakeDynamo, FakeLogger, FakeSwitchStore
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES

ANN = "ann-4711@host.example"


def test_an_error_does_not_name_its_claimer(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send()
    monkeypatch.setattr(system.recorder, "record_claim", lambda *_args: RecordStatus.USER_HAS_SHARE)

    with pytest.raises(InvariantViolated) as caught:
        system.grab(packet, ANN)

    assert ANN not in str(caught.value)
    assert packet.packet_id in str(caught.value)


def test_a_claim_that_cannot_be_paid_is_logged_without_its_claimer(system: InMemorySystem) -> None:
    packet = system.send(count=2)
    share = replace(a_claim(packet, 1, ANN), claimer=User(ANN, "阿宁"))
    system.recorder.record_claim(share)

    def broken(*_args: Any, **_named: Any) -> Any:
        raise ValueError("a row that nothing can be made of")

    system.ledger.settle = broken  # type: ignore[method-assign]
    system.settle([share.ref])

    (line,) = system.logger.lines
    assert line.startswith("claim_refused")
    assert f"share 1 of {packet.packet_id}" in line
    assert ANN not in line
    assert "阿宁" not in line


def test_a_changed_switch_is_logged_without_its_operator() -> None:
    logger = FakeLogger()

    turn_switch(
        Switch.SEND,
        is_on=False,
        reason=f"{ANN} asked for it",
        operator=User(ANN),
        ports=SwitchPorts(
            FakeSwitchStore(), DynamoActions(Dynamo(FakeDynamo, TABLE_NAMES)), FakeClock(), logger
        ),
    )

    assert logger.lines == ["switch_changed {'switch': 'send', 'is_on': 0}"]
