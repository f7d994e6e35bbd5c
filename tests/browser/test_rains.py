"""Planned rain on a phone and a desktop: its round begins and ends for both users together."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from playwright.sync_api import Locator, ViewportSize, expect

from testing.platform.servers import wait_for
from tests.browser.conftest import DESK, PHONE, BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import plan

AHEAD_MS = 10_000
SECONDS = 12
LOOKS: list[tuple[str, str, str, ViewportSize]] = [
    ("mia", "zh-CN", "light", PHONE),
    ("ned", "en-US", "dark", DESK),
]
"""Name, language, colors and screen of each player."""


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
    """Grab a share, and retry while a function starts; return the share's amount."""
    wait_for(lambda: "amount_fen" in operator.grab(sub, packet_id), "a share")
    return int(operator.grab(sub, packet_id)["amount_fen"])


def start_functions(operator: Operator) -> None:
    """Grab as three users at once, so that no grab of the round waits for a function to start."""
    packet_id = operator.send(count=3)
    names = [f"early-{number}-{packet_id[:6].lower()}" for number in range(3)]
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(partial(catch, operator, packet_id=packet_id), names))


def has_balance(operator: Operator, sub: str, fen: int) -> bool:
    """Return whether the user *sub* has a balance of *fen*."""
    return bool(operator.as_user(sub).get("/me").json()["balance_fen"] == fen)


@dataclass(frozen=True)
class Player:
    """Player's page, and the requests that the page sends."""

    person: BrowserUser
    asked: list[str] = field(default_factory=list)

    def listen(self) -> None:
        """Record each request from now on."""
        note = self.asked.append
        self.person.page.on("request", lambda sent: note(f"{sent.method} {sent.url}"))

    @property
    def tap(self) -> Locator:
        """Return the button that hits a packet. It exists only during the round."""
        return self.person.page.locator(".rain-tap")

    def play(self) -> None:
        """Tap across the sky, and then on the button."""
        page = self.person.page
        assert page.viewport_size
        for x in range(40, page.viewport_size["width"] - 20, 80):
            page.mouse.click(x, 300)
            # Wait for the next frame, because packets move only between frames.
            page.evaluate("() => new Promise(requestAnimationFrame)")
        # All taps may miss on a slow machine, because it draws few frames.
        self.hit()

    def hit(self) -> None:
        """If the round is not over, tap on the button, which always hits."""
        self.tap.evaluate_all("(buttons) => buttons.forEach((button) => button.click())")


def test_a_planned_round_begins_alone_lasts_its_seconds_and_ends_on_a_podium(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="红包雨", budget_fen=4_000, quota_per_user=4)
    players = []
    for name, locale, scheme, viewport in LOOKS:
        looks: dict[str, Any] = {"locale": locale, "color_scheme": scheme, "viewport": viewport}
        looks["reduced_motion"] = "no-preference"
        person = a_person(f"{name}-{campaign_id}", f"/campaigns/{campaign_id}", **looks)
        expect(person.page.get_by_role("heading", name="红包雨").first).to_be_visible()
        players.append(Player(person))
    start_functions(operator)
    # The pages are loaded and the functions have started, so the rain may begin soon.
    rounds = plan_rain(operator, campaign_id)
    for player in players:
        player.person.page.reload()
        expect(player.person.page.get_by_role("timer")).to_be_visible()
        player.listen()

    for player in players:
        count = player.person.page.locator(".rain-count")
        expect(count).to_have_text(re.compile("^[321]$"), timeout=30_000)
    for player in players:
        expect(player.tap).to_be_visible()
    began_ms = time.time() * 1000
    for player in players:
        player.person.shoot(f"rain-playing-{player.person.name[:3]}", full=False, is_moving=True)
    # Grab in both pages and through the API as soon as the round begins.
    for player in players:
        player.hit()
    others = [
        catch(operator, name, packet_id)
        for packet_id in rounds[0]["packets"]
        for name in (f"joe-{campaign_id}", f"kim-{campaign_id}")
    ]
    while any(player.tap.is_visible() for player in players):
        for player in players:
            player.play()
    ended_ms = time.time() * 1000

    # The round began and ended by the server's clock, although both players had their shares early.
    assert abs(began_ms - rounds[0]["starts_at_ms"]) < 3_000
    assert abs(ended_ms - rounds[0]["ends_at_ms"]) < 3_000
    own, crowned = list[int](), list[list[str]]()
    for player in players:
        person, page = player.person, player.person.page
        # The page announces the next round.
        expect(page.locator(".countdown")).to_be_visible()
        expect(page.locator("canvas")).to_be_hidden()
        crowns = page.locator(".rain-podium").get_by_role("listitem")
        # The podium has the best claims over all packets and players.
        expect(crowns).to_have_count(3)
        # Read the podium now, because the next round hides it.
        crowned.append(page.locator(".rain-podium span").all_inner_texts())
        person.shoot(f"rain-podium-{person.name[:3]}")
        api = [each for each in player.asked if "/api/" in each or "/packets/" in each]
        # The page sent one grab per packet, and at most three reads, as for the ids and the podium.
        assert len([each for each in api if each.endswith("/grab")]) == 2
        assert len(api) <= 2 + 3, api
        caught = page.locator(".rain-result").get_by_role("listitem")
        expect(caught).to_have_count(2)
        fens = [round(100 * float(text.removeprefix("¥"))) for text in caught.all_inner_texts()]
        in_purse = partial(has_balance, operator, person.name, sum(fens))
        wait_for(in_purse, "the shares in the purse")
        own += fens
    players[0].person.audit_views("rain-podium")
    best = sorted(others + own, reverse=True)[:3]
    shown = operator.http.get(f"/campaigns/{campaign_id}").json()["rains"][0]["podium"]
    assert [each["amount_fen"] for each in shown] == best
    assert crowned == [[f"¥{fen / 100:.2f}" for fen in best]] * len(players)
