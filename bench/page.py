"""Size of the page, and time until a packet can be opened on a slow phone.

The bench serves the page's files and a stand-in for the API, which answers after 50 ms. Chromium
emulates slow 4G (1.6 Mbit/s, 150 ms) and a processor that is four times slower. Each visit has a
new browser profile. The page is usable when the coin can be tapped. The time counts from the start
of the visit; the figure is the median of the rounds. The control, visited in the same rounds, is
the minimum for such a page: a document whose script makes one request and shows one button. The
bench also counts axe's serious and critical findings in several views, in light and dark mode.
"""

import asyncio
import gzip
import re
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Request, sync_playwright
from starlette.datastructures import URL, Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from bench.rounds import interleaved, ratio
from local import places
from local.page import OPERATOR_INDEX, File, Page
from local.ports import HOST, Ports, is_open

ROUNDS = 7
ANSWER_S = 0.05
SLOW_4G = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 200_000,
    "uploadThroughput": 90_000,
}
CPU_SLOWDOWN = 4
PACKET_ID = "n9C2D0-tuq_Sc61fJ7WGjQuADXuOZhG"
PERSON = {"user_token": "x" * 24, "nickname": "妈妈", "avatar_url": None}
RECORD: dict[str, Any] = {
    "packet_id": PACKET_ID,
    "sender": PERSON,
    "kind": "lucky",
    "split": "double_mean",
    "opening": "one_step",
    "is_exclusive": False,
    "needs_passphrase": False,
    "greeting": "平安喜乐",
    "status": "open",
    "count": 5,
    "total_fen": 1000,
    "remaining_count": 5,
    "starts_at_ms": 0,
    "expires_at_ms": 2**52,
    "commitment": "0" * 64,
    "claims": [],
    "mine": None,
    "next": None,
}
CAMPAIGN_ID = "newyear"
CAMPAIGN: dict[str, Any] = {
    "campaign_id": CAMPAIGN_ID,
    "title": "新春红包雨",
    "description": "",
    "starts_at_ms": 0,
    "ends_at_ms": 2**52,
    "timezone": "Asia/Shanghai",
    "state": "running",
    "quota_per_user": 0,
    "rules": {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 3},
    "prizes": [
        {
            "prize_id": "tea",
            "title": "明前龙井",
            "kind": "goods",
            "status": "on",
            "is_sold_out": False,
            "amount_fen": None,
            "image_url": None,
            "description": "",
            "attributes": {},
            "once_per_user": False,
            "weight": 1,
            "probability": 0.5,
        }
    ],
    "packets": [{"packet_id": PACKET_ID, "count": 5}],
    "rains": [],
    "day": "20261128",
    "commitment": None,
}
ANSWERS: dict[str, Any] = {
    f"/campaigns/{CAMPAIGN_ID}": CAMPAIGN,
    f"/campaigns/{CAMPAIGN_ID}/draws": {
        "user_token": "x" * 24,
        "items": [],
        "next": None,
        "attempts_left": 3,
        "wins_left_today": 3,
    },
    f"/packets/{PACKET_ID}": RECORD,
    "/dev/tokens": {"token": "e30.e30.x"},
    "/me": {**PERSON, "balance_fen": 8888},
    "/me/received": {"items": [], "total_fen": 0, "count": 0, "luckiest_count": 0, "next": None},
}
WATCH = """
const watch = () => {
  if (FIND) window.usableMs = performance.now();
  else setTimeout(watch, 5);
};
watch();
sessionStorage.setItem("redpacket.dev-user", JSON.stringify({ sub: "bob", nickname: "Bob" }));
"""
_COIN = """document.querySelector("red-packet")?.shadowRoot
    ?.querySelector("button.coin[aria-disabled=false]")"""
_CONTROL_BUTTON = """document.querySelector("button.control")"""
CONTROL = {
    "/control.html": b'<!doctype html><meta charset="utf-8"><title>Control</title>'
    b'<script type="module" src="/control.js"></script><main></main>',
    "/control.js": f"""
const record = await (await fetch("/api/packets/{PACKET_ID}")).json();
const button = document.createElement("button");
button.className = "control";
button.textContent = record.greeting;
document.querySelector("main").append(button);
""".encode(),
}
_GAME = """document.querySelector("rp-rain .primary")"""
AXE = places.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


_ON_DEMAND = re.compile(r"[a-z]{2}-[A-Z]{2}-|sheet-")
"""Names of files that load on demand: the languages' files and the writer of spreadsheets."""


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or not places.PAGE.exists():
        raise SystemExit("needs Chromium (apt-get install chromium) and the page (make page)")
    with _served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        link = f"/packets/{PACKET_ID}"
        kbs: list[float] = []

        def usable_ms(path: str, usable: str) -> float:
            kb, ms = _visit(browser, address, path, usable)
            kbs.append(kb)
            return ms

        figures = interleaved(
            {
                "control": partial(usable_ms, "/control.html", _CONTROL_BUTTON),
                "usable": partial(usable_ms, link, _COIN),
            },
            ROUNDS,
        )
        line = {
            "page_kb": max(kbs),
            "campaign_kb": _visit(browser, address, f"/campaigns/{CAMPAIGN_ID}", _GAME)[0],
            "element_kb": _packed_kb([places.PAGE / "red-packet.js"]),
            "operator_kb": _packed_kb(path for path in _files() if _is_operators(path)),
            "usable_ms": round(median(figures["usable"])),
            "usable_over_control": ratio(figures, "control", "usable"),
            "axe_serious": sum(
                _axe_serious(browser, address, scheme) for scheme in ("light", "dark")
            ),
        }
        browser.close()
    return line


def _files() -> list[Path]:
    return [path for path in sorted(places.PAGE.rglob("*")) if path.is_file()]


def _is_operators(path: Path) -> bool:
    """Return whether a file belongs to the operators' console and is not loaded on demand."""
    is_extra = _ON_DEMAND.match(path.name)
    return not is_extra and (path.name == OPERATOR_INDEX[1:] or path.parent.name == "operator")


def _packed_kb(paths: Iterable[Path]) -> float:
    return round(sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths) / 1024, 1)


class _PageWithControl:
    """Server for the page and the control."""

    def __init__(self) -> None:
        self._page = Page(places.PAGE, _api)
        self._control = {path: File.of(path, content) for path, content in CONTROL.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = self._control.get(scope.get("path", ""))
        answer = file.response(Headers(scope=scope)) if file else self._page
        await answer(scope, receive, send)


async def _api(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.sleep(ANSWER_S)
    path = URL(scope=scope).path
    body = ANSWERS.get(path)
    answer = JSONResponse(body if body is not None else {"code": "packet_not_found"})
    answer.status_code = 200 if body is not None else 404
    await answer(scope, receive, send)


@contextmanager
def _served() -> Iterator[str]:
    port = Ports.free().front
    config = uvicorn.Config(
        _PageWithControl(), host=HOST, port=port, log_level="critical", lifespan="off"
    )
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not is_open(port):
        time.sleep(0.01)
    try:
        yield f"http://{HOST}:{port}"
    finally:
        server.should_exit = True


def _visit(browser: Browser, address: str, path: str, usable: str) -> tuple[float, float]:
    """Return the KB of all bodies that a link loads, and the ms until *usable* finds an element."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.emulateNetworkConditions", SLOW_4G)
    session.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    page.add_init_script(WATCH.replace("FIND", usable))
    loaded: list[Request] = []

    def note(request: Request) -> None:
        loaded.append(request)

    page.on("requestfinished", note)
    page.goto(address + path)
    # Poll, because the page's policy forbids the string scripts of wait_for_function.
    while (usable_ms := page.evaluate("window.usableMs")) is None:
        page.wait_for_timeout(20)
    page.wait_for_load_state("networkidle")
    kb = round(sum(request.sizes()["responseBodySize"] for request in loaded) / 1024, 1)
    context.close()
    return kb, float(usable_ms)


def _axe_serious(browser: Browser, address: str, scheme: Any) -> int:
    context = browser.new_context(color_scheme=scheme, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(WATCH.replace("FIND", _COIN))
    serious_count = 0
    for path, seen in (
        (f"/packets/{PACKET_ID}", "red-packet button.coin"),
        (f"/packets/{PACKET_ID[::-1]}", "red-packet .note strong"),
        ("/", ".empty"),
        ("/send", ".send"),
    ):
        page.goto(address + path)
        page.wait_for_selector(seen)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = page.evaluate("axe.run().then((told) => told.violations)")
        serious_count += sum(
            1 for violation in violations if violation["impact"] in {"serious", "critical"}
        )
    context.close()
    return serious_count
