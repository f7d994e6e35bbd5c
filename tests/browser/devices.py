"""Hostile devices: phones, browsers and networks that users have and developers do not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import BrowserContext, Page, Route

from tests.browser.conftest import NARROW

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
CPU_SLOWDOWN = 6
SLOW_NETWORK = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 200_000,
    "uploadThroughput": 90_000,
}
"""Slow 4G as in `bench/page.py`, in milliseconds and bytes per second."""

STORAGE = """for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { %s } });"""
CLOCK = """(() => {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...parts) { super(...(parts.length ? parts : [Real.now() + %d])); }
    static now() { return Real.now() + %d; }
  };
})();"""
LARGE_FONTS = """(() => {
  const grown = new WeakSet();
  const SIZE = /((?:font|font-size|--text-\\w+):[^;]*?)([\\d.]+)px/g;
  const twice = (_, before, px) => `${before}${2 * px}px`;
  const grow = ({ style, cssRules = [] }) => {
    if (style) style.cssText = style.cssText.replace(SIZE, twice);
    for (const rule of cssRules) grow(rule);
  };
  const look = (root) => {
    for (const sheet of [...root.styleSheets, ...root.adoptedStyleSheets]) {
      if (!grown.has(sheet)) grow(sheet);
      grown.add(sheet);
    }
    for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) look(shadowRoot);
  };
  setInterval(() => look(document), 50);
})();"""
"""Script that doubles the style sheets' font sizes, as font settings in WeChat and Android can."""

Prepare = Callable[[BrowserContext, Page], None]


def _nothing(_context: BrowserContext, _page: Page) -> None:
    """Prepare nothing."""


def _lose_each_module_once(_context: BrowserContext, page: Page) -> None:
    """Fail the first request for each script that is loaded on demand."""
    lost: set[str] = set()

    def lose(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name in lost or name.startswith(("begin-", "app-", "operator-", "rolldown")):
            route.continue_()
            return
        lost.add(name)
        route.abort()

    page.route("**/assets/**/*.js", lose)


def _slow_down(context: BrowserContext, page: Page) -> None:
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    session.send("Network.emulateNetworkConditions", SLOW_NETWORK)


@dataclass(frozen=True, slots=True)
class Device:
    """Device that differs from a developer's, and what the tests expect on it."""

    name: str
    script: str = ""
    """Script that runs before each page's own scripts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the browser context."""
    prepare: Prepare = _nothing
    remembers: bool = True
    """Whether a page load restores the signed-in user."""
    comma: str = "."
    """Decimal separator of the device's keyboard."""
    nickname: str = "小明"
    language: str = "zh-CN"
    """Expected language of the page."""


DEVICES = {
    device.name: device
    for device in (
        Device("storage-throws", STORAGE % "throw new DOMException('denied')", remembers=False),
        Device("storage-null", STORAGE % "return null", remembers=False),
        Device("clock-2h-fast", CLOCK % (2 * HOUR_MS, 2 * HOUR_MS)),
        Device("clock-10min-slow", CLOCK % (-10 * MINUTE_MS, -10 * MINUTE_MS)),
        Device("decimal-comma", options={"locale": "de-DE"}, comma=",", language="en"),
        Device("module-fails-once", prepare=_lose_each_module_once),
        Device("zh-TW", options={"locale": "zh-TW"}, language="zh-TW"),
        Device("unknown-language", options={"locale": "fr-FR"}, language="en"),
        Device("large-fonts-320px", LARGE_FONTS, options={"viewport": NARROW}),
        Device("slow-phone", prepare=_slow_down),
        Device("reduced-motion"),
        Device("right-to-left-name", nickname="محمد علي"),
        Device("joined-emoji-name", nickname="👨‍👩‍👧‍👦 小明❤️‍🔥"),
        Device("two-tabs"),
    )
}
