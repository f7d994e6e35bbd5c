"""The campaign of the guide, by its own file and commands, in a phone's browser."""

import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect
from typer.testing import CliRunner

from local import places
from local.stack import Stack
from redpacket_cli.main import app
from tests.browser.conftest import MakePerson, Operator

GUIDE = places.ROOT / "docs" / "guide" / "first-campaign.md"


def _blocks(language: str) -> list[str]:
    """Return the blocks of the guide in *language*, without their indentation."""
    matches = re.findall(
        rf"^    ```{language}\n(.*?)^    ```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in matches]


def test_the_guides_own_campaign_has_a_rain_and_a_lottery(
    a_person: MakePerson,
    operator: Operator,
    stack: Stack,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator.fund("operator", 1_000_000)
    monkeypatch.chdir(tmp_path)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    [plan] = _blocks("yaml")
    plan = re.sub(r"ends_at: \S+", f"ends_at: {tomorrow.isoformat(timespec='seconds')}", plan)
    Path("new-year.yaml").write_text(plan, encoding="utf-8")
    Path("users.txt").write_text("guide-reader\n", encoding="utf-8")

    for line in _blocks("sh")[0].splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "redpacket"
        result = CliRunner().invoke(app, ["--state", str(stack.state_dir), *words])
        assert result.exit_code == 0, (line, result.output)

    reader = a_person("guide-reader", "/campaigns/new-year")
    reader.page.get_by_role("button", name="开始抢").click()
    tap = reader.page.get_by_role("button", name="抢一个")
    tap.click()
    expect(reader.page.locator(".rain-result")).to_contain_text("你抢到 1 个")
    reader.shoot("guide-rain")
    reader.page.get_by_role("button", name="抽大奖").click()
    expect(reader.page.get_by_text("61.7%").first).to_be_visible()
    reader.page.get_by_role("button", name="抽奖", exact=True).click()

    expect(reader.page.get_by_text(re.compile("今天还能抽 4 次|收下")).first).to_be_visible()
    reader.shoot("guide-lottery", full=False)
