"""The host's risk decisions: denied users get nothing, and others get the remaining shares."""

from functools import partial

import pytest

from redpacket.campaigns.errors import NotInAudience
from redpacket.operations.model.risk import RiskDecision, VerdictKind
from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import EMPTIED_KEPT_MS
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.settings import Settings
from testing.builders import a_prize
from testing.in_memory_system import VARIABLES, InMemorySystem

DAY_MS = 86_400_000


def _judge(system: InMemorySystem, user_id: str, kind: str, for_ms: int = DAY_MS) -> None:
    verdict = RiskDecision(VerdictKind(kind), system.clock.now_ms() + for_ms)
    system.process().judge_user(user_id, verdict, bool, checks_verdicts=True)


def test_a_denied_user_gets_no_share_and_the_last_one_stays_for_others(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=1)
    _judge(system, "ann", "deny")

    for _ in range(2):
        with pytest.raises(NotInAudience):
            system.grab(packet, "ann")
        system.pass_time(EMPTIED_KEPT_MS)

    assert system.grab(packet, "bob").share.share_no == 1
    assert set(system.memory.holders(packet.packet_id)) == {"bob"}
    with pytest.raises(PacketEmptied):
        system.grab(packet, "ann")


def test_a_risk_decision_expires(system: InMemorySystem) -> None:
    packet = system.send()
    _judge(system, "ann", "deny", for_ms=5_000)

    system.pass_time(5_000)

    assert system.grab(packet, "ann").is_new


def test_a_later_risk_decision_replaces_an_earlier_one(system: InMemorySystem) -> None:
    packet = system.send()
    _judge(system, "ann", "deny")
    _judge(system, "ann", "allow")
    claim = system.grab(packet, "ann")
    assert claim.is_new

    # The owner of a share gets it again whatever the host decides later.
    _judge(system, "ann", "deny")
    assert system.grab(packet, "ann").share == claim.share


def test_a_denied_user_does_not_draw(system: InMemorySystem) -> None:
    campaign = system.rain(miss_weight=1)
    system.put_prize(a_prize(campaign.campaign_id))
    system.load_campaign(campaign.campaign_id)
    result = system.draw(campaign.campaign_id, "ann", "one")
    _judge(system, "ann", "deny", for_ms=5_000)

    with pytest.raises(NotInAudience):
        system.draw(campaign.campaign_id, "ann", "two")
    assert system.draw(campaign.campaign_id, "ann", "one").draw == result.draw
    system.pass_time(5_000)
    assert system.draw(campaign.campaign_id, "ann", "two").draw.draw_no == 2


def test_a_risk_decision_that_no_claim_reads_is_refused_and_not_stored(
    system: InMemorySystem,
) -> None:
    settings = Settings({**VARIABLES, "RISK_VERDICTS": "false"})
    verdict = RiskDecision(VerdictKind.DENY, system.clock.now_ms() + DAY_MS)
    judge, note = system.process(settings=settings).judge_user, partial(pytest.fail, "noted")

    with pytest.raises(InvalidRequest):
        judge("ann", verdict, note, checks_verdicts=False)
