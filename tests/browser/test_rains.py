"""Planned rain in phones' browsers: all users start in the same second."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from testing.platform.servers import wait_for
from tests.browser.conftest import DESK, PHONE, MakePerson, Operator
from tests.browser.test_campaigns import plan

AHEAD_MS = 20_000
SECONDS = 12


def plan_rain(operator: Operator, campaign_id: str, **changes: Any) -> list[dict[str, Any]]:
    """Plan a rain that begins soon, and return its rounds."""
    starts_at_ms = int(time.time() * 1000) + AHEAD_MS
    body = {"starts_at_ms": starts_at_ms, "seconds": SECONDS, "rounds": 2, "packets": 2}
    body |= {"total_fen": 4_000, "count": 5, **changes}
    path = f"/admin/campaigns/{campaign_id}/rains"
    headers = {"Idempotency-Key": campaign_id}
    answer = operator.http.post(path, json=body, headers=headers)
    assert answer.is_success, answer.text
    rounds: list[dict[str, Any]] = answer.json()["rains"]
    return rounds


def catch(operator: Operator, sub: str, packet_id: str) -> int:
    """Grab a share, and retry while a function starts; return its amount."""
    wait_for(lambda: "amount_fen" in operator.grab(sub, packet_id), "a share")
    return int(operator.grab(sub, packet_id)["amount_fen"])


@pytest.mark.parametrize(
    ("locale", "scheme", "viewport"), [("zh-CN", "light", PHONE), ("en-US", "dark", DESK)]
)
def test_a_planned_round_begins_alone_lasts_its_seconds_and_ends_on_a_podium(
    a_person: MakePerson, operator: Operator, locale: str, scheme: str, viewport: Any
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="红包雨", budget_fen=4_000, quota_per_user=4)
    rounds = plan_rain(operator, campaign_id)
    moving: dict[str, Any] = {"reduced_motion": "no-preference", "color_scheme": scheme}
    mia = a_person(
        f"mia-{campaign_id}",
        f"/campaigns/{campaign_id}",
        locale=locale,
        viewport=viewport,
        **moving,
    )
    page, asked = mia.page, []
    expect(page.get_by_role("timer")).to_be_visible()
    mia.audit_views(f"rain-planned-{locale}")
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))

    expect(page.locator(".rain-count")).to_have_text(re.compile("^[321]$"), timeout=30_000)
    sky = page.locator("canvas")
    tap = page.locator(".rain-tap")
    expect(tap).to_be_visible()
    began_ms = time.time() * 1000
    mia.shoot(f"rain-planned-playing-{locale}", full=False, is_moving=True)
    others = [
        catch(operator, name, packet_id)
        for packet_id in rounds[0]["packets"]
        for name in (f"joe-{campaign_id}", f"kim-{campaign_id}")
    ]
    while tap.is_visible():
        for x in range(40, viewport["width"] - 20, 80):
            page.mouse.click(x, 300)
            # Without a frame between the taps, no packet falls.
            page.evaluate("() => new Promise(requestAnimationFrame)")
        # A slow machine draws few frames, and the button always hits.
        tap.evaluate_all("(buttons) => buttons.forEach((button) => button.click())")
    ended_ms = time.time() * 1000

    # The next round is announced.
    expect(page.locator(".countdown")).to_be_visible()
    expect(sky).to_be_hidden()
    podium = page.locator(".rain-podium")
    # Best claims over all packets and players.
    expect(podium.get_by_role("listitem")).to_have_count(3)
    # The next round hides it.
    crowned = podium.locator("span").all_inner_texts()
    api = [request for request in asked if "/api/" in request or "/packets/" in request]
    mia.shoot(f"rain-podium-{locale}")
    assert mia.audit() == []
    # The server's clock began and ended the round, although all shares were claimed at once.
    assert abs(began_ms - rounds[0]["starts_at_ms"]) < 3_000
    assert abs(ended_ms - rounds[0]["ends_at_ms"]) < 3_000
    caught = page.locator(".rain-result").get_by_role("listitem")
    expect(caught).to_have_count(2)
    grabs = [request for request in api if request.endswith("/grab")]
    # One read for the ids, a grab for each packet, and one read for the podium.
    assert len(grabs) == 2
    assert len(api) <= 2 + 3, api
    me = operator.as_user(mia.name)
    own = [round(100 * float(text.removeprefix("¥"))) for text in caught.all_inner_texts()]
    wait_for(lambda: me.get("/me").json()["balance_fen"] == sum(own), "the shares in the purse")
    best = sorted(others + own, reverse=True)[:3]
    shown = operator.http.get(f"/campaigns/{campaign_id}").json()["rains"][0]["podium"]
    assert [each["amount_fen"] for each in shown] == best
    assert crowned == [f"¥{fen / 100:.2f}" for fen in best]
