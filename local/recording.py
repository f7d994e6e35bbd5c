"""Recorder of docs/tour.webp and of pictures of four of its scenes, on the `make up` stack.

The scenes show a user who opens a packet with a sticker and says thanks, the sender's notices, a
rain round with its podium, the console, the stage, and the proof.

make docs RECORD=1
"""

import base64
import io
import json
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from local import places
from local.client import Client

ADMIN_SCOPE = "hongbao/admin"
TOUR = places.ROOT / "docs" / "tour.webp"
PICTURES = places.ROOT / "docs" / "pictures"
SIZE = 800, 600
PHONE = {"width": 390, "height": 600}
DESK = {"width": 1200, "height": 900}
GROUND = "#efe3d0"
FRAME_MS = 125
STILL_MS = 1800
HOUR_MS = 3_600_000
ROUND_AHEAD_MS = 15_000
"""Milliseconds between planning a round and its start, so that the campaign page can load."""
SENDER = {"sub": f"mother-{uuid.uuid4().hex[:6]}", "nickname": "妈妈"}
NAME = "小美"
CROWD = ("小李", "阿强", "Mia", "老王", "Tom", "小红", "Ken", "佳佳")

Shot = tuple[float, bytes]


class Film:
    """Film that collects the frames of all scenes."""

    def __init__(self) -> None:
        self._frames: list[Image.Image] = []
        self._durations: list[int] = []

    def add(self, shots: list[Shot], speed: float = 1) -> None:
        """Add a scene at *speed*, at most eight frames a second; the last frame stays longer."""
        shots = [(at_s / speed, picture) for at_s, picture in shots]
        kept: list[Shot] = []
        for at_s, picture in shots:
            if not kept or (at_s - kept[-1][0]) * 1000 >= FRAME_MS:
                kept.append((at_s, picture))
        kept[-1] = (kept[-1][0], shots[-1][1])
        ends = [at_s for at_s, _ in kept[1:]]
        for (at_s, picture), end_s in zip(kept, [*ends, kept[-1][0]], strict=True):
            self._frames.append(_on_ground(Image.open(io.BytesIO(picture))))
            self._durations.append(min(STILL_MS, round((end_s - at_s) * 1000)) or STILL_MS)

    def picture(self, name: str) -> None:
        """Write the last frame as a separate picture."""
        PICTURES.mkdir(exist_ok=True)
        self._frames[-1].save(PICTURES / f"{name}.webp", quality=60, method=6)

    def save(self) -> None:
        """Write the film."""
        first, *others = self._frames
        first.save(
            TOUR,
            save_all=True,
            append_images=others,
            duration=self._durations,
            loop=0,
            quality=60,
            method=4,
            minimize_size=True,
        )


def _on_ground(picture: Image.Image) -> Image.Image:
    ground = Image.new("RGB", SIZE, GROUND)
    picture = picture.convert("RGB")
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    left, top = ((whole - part) // 2 for whole, part in zip(SIZE, picture.size, strict=True))
    box = (left - 1, top - 1, left + picture.width, top + picture.height)
    ground.paste(picture, (left, top))
    ImageDraw.Draw(ground).rectangle(box, outline="#d8c4a4")
    return ground


@contextmanager
def _page(browser: Browser, user: dict[str, str], viewport: dict[str, int]) -> Iterator[Page]:
    context = browser.new_context(viewport=viewport, locale="zh-CN", timezone_id="Asia/Shanghai")  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(90_000)
    page.add_init_script(f"sessionStorage.setItem('redpacket.dev-user', JSON.stringify({user!r}))")
    yield page
    context.close()


def _film(page: Page, act: Callable[[], None]) -> list[Shot]:
    """Return the page's frames while *act* runs."""
    shots: list[Shot] = []
    session: CDPSession = page.context.new_cdp_session(page)

    def keep(frame: dict[str, Any]) -> None:
        shots.append((time.monotonic(), base64.b64decode(frame["data"])))
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    session.send("Page.startScreencast", {"format": "jpeg", "quality": 90})
    act()
    session.send("Page.stopScreencast")
    session.detach()
    # Add a final still frame.
    shots.append((time.monotonic(), page.screenshot(type="jpeg", quality=95)))
    return shots


class Stage:
    """Running stack, and the calls that create data for the scenes."""

    def __init__(self, api: str) -> None:
        self.api = api
        self.treasurer = self.client("treasurer", scope=ADMIN_SCOPE)
        self.operator = self.client("operator", nickname="Operator", scope=ADMIN_SCOPE)
        self.campaign_id = f"gala-{uuid.uuid4().hex[:6]}"

    def client(self, sub: str, **claims: str) -> Client:
        """Return an API client for the user *sub*."""
        token = Client(self.api).post("/dev/tokens", {"sub": sub, **claims})["token"]
        return Client(self.api, token)

    def send(self) -> str:
        """Send a packet as the user "mother"."""
        self.treasurer.post("/admin/deposits", {"user": SENDER["sub"], "amount_fen": 100_000})
        packet = {"kind": "lucky", "total_fen": 8_888, "count": 6, "greeting": "新春快乐，万事如意"}
        return str(self.client(**SENDER).post("/packets", packet)["packet_id"])

    def plan(self) -> None:
        """Start a campaign."""
        now_ms = int(time.time() * 1000)
        self.treasurer.post("/admin/deposits", {"user": "operator", "amount_fen": 1_000_000})
        path = f"/admin/campaigns/{self.campaign_id}"
        times = {"starts_at_ms": now_ms, "ends_at_ms": now_ms + HOUR_MS}
        body = {"title": "新春红包雨", "status": "on", "budget_fen": 500_000, **times}
        body |= {"amounts_shown": "live", "quota_per_user": 100}
        self.operator.put(path, body)

    def plan_round(self) -> list[str]:
        """Plan a rain round, and return the packets of the round."""
        starts_at_ms = int(time.time() * 1000) + ROUND_AHEAD_MS
        body = {"starts_at_ms": starts_at_ms, "seconds": 10, "packets": 3}
        body |= {"total_fen": 30_000, "count": 20}
        path = f"/admin/campaigns/{self.campaign_id}/rains"
        packet_ids: list[str] = self.operator.post(path, body)["rains"][0]["packets"]
        return packet_ids

    def send_rain(self) -> list[str]:
        """Send campaign packets that open immediately."""
        rain = {"kind": "lucky", "total_fen": 50_000, "count": 100, "greeting": "恭喜发财"}
        rain["campaign_id"] = self.campaign_id
        return [str(self.operator.post("/admin/packets", rain)["packet_id"]) for _ in range(5)]

    def grab(self, packet_id: str, names: tuple[str, ...]) -> None:
        """Claim a share as each of the users *names*."""
        for name in names:
            self.client(f"fan-{CROWD.index(name)}", nickname=name).post(
                f"/packets/{packet_id}/grab", {}
            )


def main() -> None:
    """Record all scenes on the running stack."""
    running = json.loads((places.STATES / "up" / "stack.json").read_text(encoding="utf-8"))
    stage, film = Stage(running["api"]), Film()
    packet_id = stage.send()
    stage.plan()
    stage.grab(packet_id, CROWD[:2])
    # Leave the nickname empty, so that the page asks for one after the first amount.
    reader = {"sub": f"bob-{uuid.uuid4().hex[:6]}", "nickname": ""}
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with _page(browser, reader, PHONE) as page:
            page.goto(f"{stage.api}/packets/{packet_id}")
            page.get_by_role("button", name="拆开红包").wait_for()
            film.add(_film(page, lambda: _open(page)))
            film.picture("open")
        with _page(browser, SENDER, PHONE) as page:
            page.goto(stage.api)
            page.locator(".ways .badge").wait_for()
            film.add(_film(page, lambda: _read_notices(page)))
        packets = stage.plan_round()
        with _page(browser, reader, PHONE) as page:
            page.goto(f"{stage.api}/campaigns/{stage.campaign_id}")
            page.locator(".rain-count").wait_for()
            film.add(_film(page, lambda: _play(page, stage, packets)), speed=1.5)
            film.picture("rain")
            podium = page.locator(".rain-podium li").first
            podium.wait_for()
            podium.scroll_into_view_if_needed()
            film.add(_film(page, lambda: page.wait_for_timeout(1000)))
        rain = stage.send_rain()
        operator = {"sub": "operator", "nickname": "Operator", "scope": ADMIN_SCOPE}
        with _page(browser, operator, DESK) as page:
            page.goto(f"{stage.api}/operator/campaigns/{stage.campaign_id}")
            page.locator("op-charts polyline").first.wait_for(state="attached")
            film.add(_film(page, lambda: _watch(page, stage, rain[:3])), speed=6)
            film.picture("console")
            page.set_viewport_size({"width": 1280, "height": 720})
            page.goto(f"{stage.api}/operator/campaigns/{stage.campaign_id}/wall")
            page.locator(".lucky li").first.wait_for()
            film.add(_film(page, lambda: _watch(page, stage, rain[3:])), speed=3)
        stage.grab(packet_id, CROWD[2:5])
        with _page(browser, reader | {"nickname": NAME}, PHONE) as page:
            page.goto(f"{stage.api}/packets/{packet_id}/proof")
            page.get_by_text("完全一致").first.wait_for()
            film.add(_film(page, lambda: page.wait_for_timeout(1000)))
            film.picture("proof")
        browser.close()
    film.save()
    print(f"Wrote {TOUR.relative_to(places.ROOT)}: {TOUR.stat().st_size // 1000} kB")


def _open(page: Page) -> None:
    page.wait_for_timeout(1200)
    # Force the click, because the animated coin never stays still.
    page.get_by_role("button", name="拆开红包").click(force=True)
    page.locator(".amount").wait_for()
    sheet = page.get_by_role("dialog", name="让大家认出你")
    sheet.wait_for()
    page.wait_for_timeout(600)
    sheet.get_by_label("昵称", exact=True).press_sequentially(NAME, delay=250)
    sheet.get_by_label("龙", exact=True).check(force=True)
    page.wait_for_timeout(900)
    sheet.get_by_role("button", name="就用这个").click()
    page.locator(".bar .name", has_text=NAME).wait_for()
    page.wait_for_timeout(900)
    bar = page.get_by_role("form", name="给 TA 道声谢")
    bar.get_by_role("textbox").press_sequentially("谢谢老板", delay=200)
    page.wait_for_timeout(500)
    bar.get_by_role("button", name="🙏").click()
    page.get_by_text("已道谢").wait_for()
    page.wait_for_timeout(1500)


def _read_notices(page: Page) -> None:
    page.wait_for_timeout(900)
    page.locator(".ways .badge").click()
    page.locator(".notices li").first.wait_for()
    page.wait_for_timeout(1500)


def _play(page: Page, stage: Stage, packets: list[str]) -> None:
    tap = page.locator(".rain-tap")
    tap.wait_for()
    for caught, packet_id in enumerate(packets):
        page.wait_for_timeout(1200)
        tap.evaluate("button => button.click()")
        stage.grab(packet_id, CROWD[caught : caught + 3])


def _watch(page: Page, stage: Stage, rain: list[str]) -> None:
    for wave, packet_id in enumerate(rain):
        crowd = CROWD[: 2 + 3 * (wave % 3)]
        stage.grab(packet_id, crowd)
        page.wait_for_timeout(3500)


if __name__ == "__main__":
    main()
