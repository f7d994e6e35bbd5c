"""A campaign's wall on a projector, as a stage with a countdown, a code, names and a podium."""

import re
import time
from typing import Any

from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import HOUR_MS, plan
from tests.browser.test_rains import catch, plan_rain

SCREENS: tuple[ViewportSize, ...] = (
    {"width": 1280, "height": 720},
    {"width": 1920, "height": 1080},
    {"width": 3840, "height": 2160},
)
# Minimum font size as a fraction of the screen's height, for distant readers; the operator's
# buttons are excluded.
LEAST_TEXT = 0.025
LEAST_CODE = 0.75
BUDGET_FEN = 87_654
COUNTED = """() => {
    window.counted = [];
    new MutationObserver(() => {
        const text = document.querySelector(".wall [role=timer]")?.textContent;
        if (text && text !== counted.at(-1)) counted.push(text);
    }).observe(document, { subtree: true, childList: true, characterData: true });
}"""
"""Script that records each text of the timer, because a busy test would miss some."""


def _stage(boss: BrowserUser, name: str) -> None:
    """Assert that the stage fits each screen in both languages, and save screenshots."""
    found: dict[str, Any] = {}
    for language in ("zh-CN", "en"):
        boss.speak(language)
        for screen in SCREENS:
            boss.page.set_viewport_size(screen)
            # The stage is dark even if the device prefers the light color scheme.
            boss.page.emulate_media(color_scheme="light")
            view = f"{name}-{language[:2]}-{screen['height']}"
            found[view] = [*boss.audit(is_strict=True), *_wrong(boss, screen)]
            boss.shoot(view, full=False)
    assert {view: wrong for view, wrong in found.items() if wrong} == {}


def _wrong(boss: BrowserUser, screen: ViewportSize) -> list[str]:
    """Return the elements that do not fit, are too small to read, or are not dark."""
    wrong: list[str] = boss.page.evaluate(
        """([least_text, least_code]) => {
          const wrong = [];
          const rect = (selector) => document.querySelector(selector).getBoundingClientRect();
          const { scrollWidth, scrollHeight } = document.documentElement;
          if (scrollWidth > innerWidth || scrollHeight > innerHeight) wrong.push("overflow");
          const texts = ".wall :is(h1, h2, header p, .join p, li b, li span, .hint)";
          for (const each of document.querySelectorAll(texts)) {
            const { left, right, bottom } = each.getBoundingClientRect();
            const is_cut = right > innerWidth || left < 0 || bottom > innerHeight;
            if (is_cut) wrong.push(`cut: ${each.textContent}`);
            const px = parseFloat(getComputedStyle(each).fontSize);
            if (px < least_text * innerHeight) wrong.push(`${px} px: ${each.textContent}`);
          }
          const code = rect(".wall .qr img");
          if (code.height < least_code * innerHeight) wrong.push(`code: ${code.height} px`);
          if (rect(".party").right > code.left) wrong.push("the code covers names");
          const last = [...document.querySelectorAll(".lucky li")].at(-1);
          const bottom = last?.getBoundingClientRect().bottom ?? 0;
          if (bottom > rect(".ways").top) wrong.push("names are cut");
          const { colorScheme } = getComputedStyle(document.documentElement);
          if (colorScheme !== "dark") wrong.push(colorScheme);
          return wrong;
        }""",
        [LEAST_TEXT, LEAST_CODE],
    )
    assert boss.page.viewport_size == screen
    return wrong


def test_the_stage_counts_down_to_the_start_and_shows_a_code_to_the_audience(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, starts_in_ms=2 * HOUR_MS, title="年会红包雨")
    boss = a_person("Operator", f"/operator/campaigns/{campaign_id}/wall", viewport=SCREENS[0])

    expect(boss.page.get_by_role("timer")).to_have_text(re.compile(r"^01:5\d:\d\d$"))
    expect(boss.page.get_by_role("img", name="活动二维码")).to_be_visible()
    expect(boss.page.get_by_text("等你来抢")).to_be_visible()
    _stage(boss, "stage-before")


def test_the_stage_shows_names_sums_and_a_podium_but_no_operator_balances(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, title="年会红包雨", budget_fen=BUDGET_FEN, amounts_shown="live")
    operator.fund("operator")
    packet_id = operator.send(operator.http, campaign_id=campaign_id, count=120, total_fen=20_000)
    boss = a_person("Operator", f"/operator/campaigns/{campaign_id}/wall", viewport=SCREENS[0])
    expect(boss.page.get_by_text("等你来抢")).to_be_visible()
    names = [f"来自很远很远的城市的同事 {number}" for number in range(1, 10)]
    caught = [
        operator.grab(f"stage-{number}-{campaign_id}", packet_id, name)["amount_fen"]
        for number, name in enumerate(names)
    ]

    shown = boss.page.locator(".lucky li")
    expect(shown).to_have_count(8)
    podium = boss.page.locator(".podium li span")
    expect(podium).to_have_text([f"¥{fen / 100:.2f}" for fen in sorted(caught)[:-4:-1]])
    expect(shown.first).to_contain_text(names[-1])
    feed = operator.http.get(f"/packets/{packet_id}/feed").json()
    assert sorted(claim["amount_fen"] for claim in feed["claims"]) == sorted(caught)
    assert "876.54" not in boss.page.locator("body").inner_text()
    _stage(boss, "stage-party")
    # The operators' list also counts claims of open packets.
    boss.go(f"/operator/packets?campaign_id={campaign_id}")
    expect(boss.page.locator("td[data-label='Claimed']")).to_have_text("9")


def test_the_stage_counts_down_to_a_round_and_through_it_and_ends_on_a_podium(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="年会红包雨", budget_fen=4_000, quota_per_user=4)
    boss = a_person("Operator", f"/operator/campaigns/{campaign_id}/wall", viewport=SCREENS[0])
    expect(boss.page.get_by_text("等你来抢")).to_be_visible()
    first = plan_rain(operator, campaign_id)[0]
    boss.page.evaluate(COUNTED)

    expect(boss.page.get_by_text("下一轮红包雨")).to_be_visible()
    expect(boss.page.get_by_role("timer")).to_have_text(re.compile("^00:00:[01]"))
    boss.shoot("stage-round", full=False)
    expect(boss.page.get_by_text("红包雨进行中")).to_be_visible()
    began_ms = time.time() * 1000
    before = [int(text[-2:]) for text in boss.page.evaluate("counted.slice(0, -1)")]
    caught = [
        catch(operator, f"stage-{number}-{campaign_id}", first["packets"][0]) for number in range(3)
    ]
    # During the round, the timer counts down to the round's end.
    expect(boss.page.get_by_role("timer")).to_have_text(re.compile("^00:00:0"))
    expect(boss.page.get_by_text("下一轮红包雨")).to_be_visible()
    ended_ms = time.time() * 1000

    assert abs(began_ms - first["starts_at_ms"]) < 3_000
    assert abs(ended_ms - first["ends_at_ms"]) < 3_000
    assert {3, 2, 1} <= set(before), before
    best = sorted(caught, reverse=True)
    podium = boss.page.locator(".podium li span")
    expect(podium).to_have_text([f"¥{fen / 100:.2f}" for fen in best])
    shown = operator.http.get(f"/campaigns/{campaign_id}").json()["rains"][0]["podium"]
    assert [each["amount_fen"] for each in shown] == best
    _stage(boss, "stage-podium")
