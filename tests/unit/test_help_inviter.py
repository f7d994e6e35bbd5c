from __future__ import annotations

from typing import Any

import pytest

from redpacket.domain.campaign import Campaign, CampaignStatus, DrawRules
from redpacket.domain.errors import (
    AttemptsExhausted,
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
    HelpQuotaExhausted,
    PassphraseMismatch,
    RateLimited,
    SelfHelp,
)
from redpacket.domain.limits import PASSPHRASE_TRIES
from redpacket.domain.lottery import HelpStatus
from tests.builders import NOW_MS, a_campaign, a_prize
from tests.town import Town

DAY_MS = 24 * 3_600_000
ONE_DRAW = DrawRules(attempts_per_user_per_day=1, helps_per_user_per_day=2)


def a_lottery(town: Town, **changes: Any) -> Campaign:
    plan = {
        "campaign_id": "gala",
        "ends_at_ms": NOW_MS + 3 * DAY_MS,
        "passphrase": "恭喜发财",
        "rules": ONE_DRAW,
        **changes,
    }
    campaign = a_campaign(**plan)
    assert town.campaigns.create(campaign)
    assert town.draws.put_prize(a_prize("gala", total=100), None)
    return campaign


def test_a_help_gives_one_more_attempt(town: Town) -> None:
    a_lottery(town)
    town.draw("gala", "ann", "one")
    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "two")

    helped = town.help("gala", "bob", "ann")

    assert (helped.status, helped.attempts_left) == (HelpStatus.HELPED, 1)
    assert town.draw("gala", "ann", "two").attempts_left == 0
    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "three")


def test_a_help_before_the_first_draw_counts_too(town: Town) -> None:
    a_lottery(town)

    assert town.help("gala", "bob", "ann").attempts_left == 2

    assert [town.draw("gala", "ann", key).attempts_left for key in ("one", "two")] == [1, 0]


def test_a_pair_helps_once_for_ever(town: Town) -> None:
    a_lottery(town)
    town.help("gala", "bob", "ann")

    again = town.help("gala", "bob", "ann")
    town.pass_time(DAY_MS)
    tomorrow = town.help("gala", "bob", "ann")

    assert (again.status, again.attempts_left) == (HelpStatus.HELPED_BEFORE, 2)
    assert (tomorrow.status, tomorrow.attempts_left) == (HelpStatus.HELPED_BEFORE, 1)
    assert town.help("gala", "ann", "bob").status is HelpStatus.HELPED


def test_helps_are_capped_by_the_day(town: Town) -> None:
    a_lottery(town)
    for helper in ("bob", "cat"):
        town.help("gala", helper, "ann")

    with pytest.raises(HelpQuotaExhausted):
        town.help("gala", "dan", "ann")

    town.pass_time(DAY_MS)
    assert town.help("gala", "dan", "ann").attempts_left == 2


def test_a_help_that_the_cache_never_heard_of_counts(town: Town) -> None:
    a_lottery(town)
    town.draw("gala", "ann", "one")
    town.lots.is_away = True

    assert town.help("gala", "bob", "ann").attempts_left == 1

    assert [name for name, _ in town.journal.errors] == ["player_not_corrected"]
    town.lots.is_away = False
    assert town.draw("gala", "ann", "two").attempts_left == 0


def test_without_a_limit_nothing_is_left_to_count(town: Town) -> None:
    a_lottery(town, rules=DrawRules())

    assert town.help("gala", "bob", "ann").attempts_left is None


def test_nobody_helps_themselves(town: Town) -> None:
    a_lottery(town)

    with pytest.raises(SelfHelp):
        town.help("gala", "ann", "ann")


@pytest.mark.parametrize("said", ["恭喜发菜", "恭喜發財!", " 恭喜发财"])
def test_what_sounds_like_the_phrase_is_the_phrase(town: Town, said: str) -> None:
    a_lottery(town)

    assert town.help("gala", "bob", "ann", said).status is HelpStatus.HELPED


@pytest.mark.parametrize(("phrase", "said"), [("恭喜发财", "新年快乐"), (None, "恭喜发财")])
def test_another_phrase_is_refused_and_gives_nothing(
    town: Town, phrase: str | None, said: str
) -> None:
    a_lottery(town, passphrase=phrase)

    with pytest.raises(PassphraseMismatch):
        town.help("gala", "bob", "ann", said)

    assert town.draw("gala", "ann", "one").attempts_left == 0


def test_tries_at_the_phrase_are_limited(town: Town) -> None:
    a_lottery(town)
    for _ in range(PASSPHRASE_TRIES.burst):
        with pytest.raises(PassphraseMismatch):
            town.help("gala", "bob", "ann", "新年快乐")

    with pytest.raises(RateLimited):
        town.help("gala", "bob", "ann")

    assert town.help("gala", "cat", "ann").status is HelpStatus.HELPED


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"starts_at_ms": NOW_MS + 1}, CampaignNotStarted),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"status": CampaignStatus.OFF}, CampaignPaused),
    ],
)
def test_a_campaign_that_does_not_give_takes_no_helps(
    town: Town, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    a_lottery(town, **changes)

    with pytest.raises(refusal):
        town.help("gala", "bob", "ann")


def test_there_is_no_help_in_no_campaign(town: Town) -> None:
    with pytest.raises(CampaignNotFound):
        town.help("gala", "bob", "ann")
