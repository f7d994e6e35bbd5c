"""The guide's campaign, created with the guide's file and commands, in a phone's browser."""

import re
from pathlib import Path

from playwright.sync_api import expect

from local import places
from local.stack import Stack
from tests.browser.conftest import MakePerson, Operator
from tests.integration.test_readme import campaign_of, run_tutorial

GUIDE = places.ROOT / "docs" / "guide" / "first-campaign.md"


def test_the_campaign_of_the_guide_has_a_winner_a_rain_and_a_lottery(
    a_person: MakePerson, operator: Operator, stack: Stack, tmp_path: Path
) -> None:
    operator.fund("operator", 1_000_000)

    assert "handed_over" in run_tutorial(GUIDE, stack, tmp_path)

    reader = a_person("guide-reader", f"/campaigns/{campaign_of(GUIDE)}")
    reader.page.get_by_role("button", name="开始抢").click()
    tap = reader.page.get_by_role("button", name="抢一个")
    tap.click()
    expect(reader.page.locator(".rain-result")).to_contain_text("你抢到 1 个")
    reader.shoot("guide-rain")
    reader.page.get_by_role("button", name="抽大奖").click()
    expect(reader.page.get_by_text("50.0%").first).to_be_visible()
    reader.page.get_by_role("button", name="抽奖", exact=True).click()

    expect(reader.page.get_by_text(re.compile("今天还能抽 4 次|收下")).first).to_be_visible()
    reader.shoot("guide-lottery", full=False)
