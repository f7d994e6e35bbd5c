"""Packed row of a campaign: unpacking restores it, and a real one costs at most one read unit."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.model import CampaignStatus, DrawRules, WhenSoldOut
from redpacket.lottery.dynamodb.campaign_snapshot import (
    PACKED_BYTES_MAX,
    note_of,
    note_row,
    packed_prizes,
    shown_row,
    snapshot_of,
)
from redpacket.lottery.model.lottery import CampaignSnapshot, PageNote, Prize
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.errors import InvalidRequest
from testing.builders import a_campaign, a_prize
from testing.lottery.prizes import noisy_prizes, real_prizes
from testing.platform.units import READ_UNIT_BYTES, item_bytes

PLAN = a_campaign(
    campaign_id="gala",
    title="新春好运大转盘，百份好礼等你来",
    description="活动期间每天登录即可抽奖三次，邀请好友说出口令可多抽一次，每日最多助力三次。实物奖品将在活动结束后"
    "七个工作日内寄出，请填写真实的收货地址与联系电话；虚拟奖品即时发放至账户，现金红包自动存入零钱。"
    "同一用户、同一设备、同一手机号视为同一用户，使用作弊手段者将被取消资格。本活动与手机厂商无关，"
    "主办方在法律允许的范围内保留解释权。",
    rules=DrawRules(3, 1, 5, 7),
    when_sold_out=WhenSoldOut.MISS,
    passphrase="恭喜发财",
    status=CampaignStatus.OFF,
).plan


SOME_DIGEST = "0" * 64


def row_of(prizes: list[Prize], note: PageNote | None = None) -> dict[str, Any]:
    row = {**shown_row(PLAN, SOME_DIGEST), "prizes": packed_prizes(prizes), "version": 7}
    return {**row, **note_row(note)} if note else row


@pytest.mark.parametrize("count", [0, 1, 2, 10, 100])
def test_a_packed_snapshot_is_unpacked_unchanged(count: int) -> None:
    prizes = real_prizes("gala", count)
    if prizes:
        prizes[0] = replace(prizes[0], status=CampaignStatus.OFF, image_url=None)

    assert snapshot_of(row_of(prizes[::-1])) == CampaignSnapshot(
        PLAN, tuple(prizes), 7, SOME_DIGEST
    )


def test_a_small_campaign_stays_readable_in_the_console() -> None:
    row = shown_row(a_campaign(campaign_id="gala"), SOME_DIGEST)

    assert isinstance(row["plan"], str)
    assert "红包雨" in row["plan"]
    assert isinstance(packed_prizes([a_prize("gala")]), str)
    assert isinstance(packed_prizes(real_prizes("gala", 3)), bytes)


@pytest.mark.parametrize("count", [10, 100])
def test_a_real_campaign_costs_one_unit_at_most(count: int) -> None:
    prizes = real_prizes("gala", count)
    note = PageNote(frozenset(prize.prize_id for prize in prizes))

    size = item_bytes(to_wire(row_of(prizes, note)))

    # An eventually consistent read of 8 KB costs one unit.
    assert size <= 2 * READ_UNIT_BYTES


def test_a_hundred_random_prizes_fit_the_row() -> None:
    prizes = noisy_prizes("gala", 100)

    packed = packed_prizes(prizes)

    assert len(packed) < PACKED_BYTES_MAX
    assert snapshot_of(row_of(prizes)) == CampaignSnapshot(PLAN, tuple(prizes), 7, SOME_DIGEST)


def test_a_snapshot_larger_than_a_row_is_refused() -> None:
    noise = "".join(prize.description for prize in noisy_prizes("gala", 10))
    prizes = [
        replace(prize, attributes=noise[number : number + 4_000][::-1] + prize.description * 2)
        for number, prize in enumerate(noisy_prizes("gala", 150, seed=8))
    ]

    with pytest.raises(InvalidRequest) as refused:
        packed_prizes(prizes)

    assert refused.value.errors[0]["field"] == "description"


@pytest.mark.parametrize("sold_out", [[], ["cup"], ["cup", "pen"]], ids=str)
def test_a_note_is_read_as_it_was_written(sold_out: list[str]) -> None:
    note = PageNote(frozenset(sold_out))

    assert note_of(note_row(note)) == note
    assert note_of({}) == PageNote()
