from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
)
from redpacket.campaigns.model import CampaignStatus, DrawRules
from redpacket.lottery.api.views import campaign_view
from redpacket.lottery.errors import HelpQuotaExhausted, SelfHelp
from redpacket.lottery.model.lottery import HelpStatus
from redpacket.operations.model.limits import PASSPHRASE_TRIES
from redpacket.packets.errors import PassphraseMismatch
from redpacket.platform import errors
from testing.builders import NOW_MS, a_prize
from testing.in_memory_system import DAY_MS, InMemorySystem

PLAN: dict[str, Any] = {
    "passphrase": "恭喜发财",
    "rules": DrawRules(attempts_per_user_per_day=1, helps_per_user_per_day=2),
}


@pytest.fixture
def gala(system: InMemorySystem) -> InMemorySystem:
    """Return a system with one draw a day, and one more for each of up to two helps."""
    system.lottery(a_prize("gala", total=100), **PLAN)
    return system


def test_helps_are_limited_by_day(gala: InMemorySystem) -> None:
    for helper in ("bob", "cat"):
        gala.help("gala", helper, "ann")

    with pytest.raises(HelpQuotaExhausted):
        gala.help("gala", "dan", "ann")

    gala.pass_time(DAY_MS)
    assert gala.help("gala", "dan", "ann").attempts_left == 2


def test_a_user_helps_a_limited_number_of_friends_a_day(system: InMemorySystem) -> None:
    rules = DrawRules(attempts_per_user_per_day=1, helps_given_per_user_per_day=2)
    system.lottery(a_prize("gala", total=100), **{**PLAN, "rules": rules})
    for inviter in ("ann", "bob"):
        system.help("gala", "cat", inviter)

    with pytest.raises(HelpQuotaExhausted):
        system.help("gala", "cat", "dan")

    assert system.help("gala", "cat", "ann").status is HelpStatus.HELPED_BEFORE
    assert system.draw("gala", "cat", "one").attempts_left == 0
    assert system.draw("gala", "dan", "one").attempts_left == 0
    system.pass_time(DAY_MS)
    assert system.help("gala", "cat", "dan").status is HelpStatus.HELPED


def test_users_do_not_see_a_draft(system: InMemorySystem) -> None:
    campaign = system.lottery(
        a_prize("gala"), **{**PLAN, "status": CampaignStatus.OFF, "starts_at_ms": NOW_MS + 5_000}
    )
    for ask in (
        lambda: system.lotteries().get("gala"),
        lambda: system.help("gala", "bob", "ann"),
        lambda: system.draw("gala", "ann", "one"),
        lambda: system.process().list_draws("gala", "ann", None),
    ):
        with pytest.raises(CampaignNotFound):
            ask()

    system.edit_campaign(replace(campaign.plan, status=CampaignStatus.ON))
    with pytest.raises(CampaignNotStarted):
        system.help("gala", "bob", "ann")
    assert system.lotteries().get("gala").snapshot.campaign.title == campaign.title

    system.edit_campaign(replace(campaign.plan, status=CampaignStatus.OFF))
    system.pass_time(5_000)
    assert system.lotteries().get("gala").snapshot.campaign.status is CampaignStatus.OFF
    with pytest.raises(CampaignPaused):
        system.help("gala", "bob", "ann")


@pytest.mark.parametrize("name", ["helps_per_user_per_day", "helps_given_per_user_per_day"])
def test_a_campaign_can_disable_helps(system: InMemorySystem, name: str) -> None:
    system.lottery(**{**PLAN, "rules": DrawRules(attempts_per_user_per_day=1, **{name: 0})})

    with pytest.raises(HelpQuotaExhausted):
        system.help("gala", "bob", "ann")

    assert system.draw("gala", "ann", "one").attempts_left == 0


def test_a_help_that_the_cache_missed_counts(gala: InMemorySystem) -> None:
    gala.draw("gala", "ann", "one")
    gala.lots.is_away = True

    assert gala.help("gala", "bob", "ann").attempts_left == 1

    assert [name for name, _ in gala.logger.errors] == ["player_not_corrected"]
    gala.lots.is_away = False
    assert gala.draw("gala", "ann", "two").attempts_left == 0


def test_without_a_limit_nothing_is_counted(system: InMemorySystem) -> None:
    system.lottery(**{**PLAN, "rules": DrawRules()})

    assert system.help("gala", "bob", "ann").attempts_left is None


def test_users_cannot_help_themselves(gala: InMemorySystem) -> None:
    with pytest.raises(SelfHelp):
        gala.help("gala", "ann", "ann")


def test_a_phrase_with_equal_sound_is_accepted(gala: InMemorySystem) -> None:
    for helper, phrase in (("bob", "恭喜发菜"), ("cat", "恭喜發財!")):
        assert gala.help("gala", helper, "ann", phrase).status is HelpStatus.HELPED
    assert gala.help("gala", "ann", "bob", " 恭喜发财").status is HelpStatus.HELPED


@pytest.mark.parametrize(("phrase", "passphrase"), [("恭喜发财", "新年快乐"), (None, "恭喜发财")])
def test_another_phrase_is_refused_and_gives_nothing(
    system: InMemorySystem, phrase: str | None, passphrase: str
) -> None:
    system.lottery(**{**PLAN, "passphrase": phrase})

    with pytest.raises(PassphraseMismatch):
        system.help("gala", "bob", "ann", passphrase)

    assert system.draw("gala", "ann", "one").attempts_left == 0


def test_attempts_at_the_phrase_are_limited(gala: InMemorySystem) -> None:
    for _ in range(PASSPHRASE_TRIES.burst):
        with pytest.raises(PassphraseMismatch):
            gala.help("gala", "bob", "ann", "新年快乐")

    with pytest.raises(errors.RateLimited):
        gala.help("gala", "bob", "ann")

    assert gala.help("gala", "cat", "ann").status is HelpStatus.HELPED


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"starts_at_ms": NOW_MS + 1}, CampaignNotStarted),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"status": CampaignStatus.OFF}, CampaignPaused),
    ],
)
def test_an_inactive_campaign_accepts_no_help(
    system: InMemorySystem, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    system.lottery(**{**PLAN, **changes})

    with pytest.raises(refusal):
        system.help("gala", "bob", "ann")


def test_an_unknown_campaign_has_no_help(system: InMemorySystem) -> None:
    with pytest.raises(CampaignNotFound):
        system.help("gala", "bob", "ann")


@pytest.mark.parametrize(
    ("changes", "helps"),
    [({}, 2), ({"passphrase": None}, 0), ({"rules": DrawRules(helps_per_user_per_day=2)}, 0)],
)
def test_users_are_not_asked_for_an_impossible_help(
    system: InMemorySystem, changes: dict[str, Any], helps: int
) -> None:
    system.lottery(**{**PLAN, **changes})

    shown = campaign_view(system.lotteries().get("gala"), [], [], NOW_MS)

    assert shown["rules"]["helps_per_user_per_day"] == helps
