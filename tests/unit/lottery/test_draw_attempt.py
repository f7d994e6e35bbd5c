"""Draws that the ledger refuses: the effects that are undone, and the user's answer."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock, patch

import pytest

from redpacket.campaigns.errors import CampaignEnded
from redpacket.lottery.model.lottery import Draw, RecordDrawStatus
from redpacket.lottery.use_cases import draw_attempt
from testing.in_memory_system import InMemorySystem

ENDS_AT_MS = 1_000


@pytest.fixture
def draw(system: InMemorySystem) -> Draw:
    system.lottery()
    system.load_campaign("gala")
    draw: Draw = system.draw("gala", "ann", "key").draw
    assert draw.prize
    return draw


def _record(draw: Draw, status: RecordDrawStatus, durable: Draw | None, now_ms: int) -> Any:
    """Record *draw*; return the undone effects, whether the cache was loaded, and the draw."""
    ports, snapshot = Mock(), Mock()
    ports.draws.record_draw.return_value = status
    ports.draws.find_draw.return_value = durable
    ports.clock.now_ms.return_value = now_ms
    snapshot.campaign.ends_at_ms = ENDS_AT_MS
    attempt = draw_attempt.DrawAttempt(Mock(), "", snapshot, Mock(), Mock(), ports)
    with patch.object(draw_attempt, "load_campaign") as load:
        recorded = attempt._record(draw, snapshot)
    undone = [call.kwargs["is_unit_free"] for call in ports.draw_cache.undo.call_args_list]
    return undone, load.call_count, recorded


def test_the_result_of_a_concurrent_request_is_kept(draw: Draw) -> None:
    assert draw.prize
    miss = replace(draw, prize=None, unit_no=0, day_no=0)
    other = replace(draw, prize=replace(draw.prize, prize_id="pen"))

    for status in (RecordDrawStatus.DRAWN_BEFORE, RecordDrawStatus.NUMBER_TAKEN):
        for made, durable, undone in (
            (draw, draw, []),
            (miss, miss, []),
            (draw, miss, [True]),
            (draw, other, [True]),
            (draw, None, [True]),
        ):
            assert _record(made, status, durable, 0) == (undone, 0, None)


@pytest.mark.parametrize("status", [RecordDrawStatus.UNIT_TAKEN, RecordDrawStatus.UNIT_REFUNDED])
def test_a_missing_unit_is_not_offered_again_and_the_cache_is_loaded(
    draw: Draw, status: RecordDrawStatus
) -> None:
    assert _record(draw, status, None, ENDS_AT_MS - 1) == ([False], 1, None)


def test_a_unit_refunded_at_the_end_is_reported_as_the_end(draw: Draw) -> None:
    with pytest.raises(CampaignEnded):
        _record(draw, RecordDrawStatus.UNIT_REFUNDED, None, ENDS_AT_MS)

    taken = _record(draw, RecordDrawStatus.UNIT_TAKEN, None, ENDS_AT_MS)
    assert taken == ([False], 1, None)
