"""Sweep step that moves packets' starts and ends after an edit of their campaign's window."""

from __future__ import annotations

from functools import partial

from redpacket.packets.model.edited_window import EditedWindow
from redpacket.packets.use_cases.expire_packets import SweepPorts
from redpacket.platform.attempt_each import Attempts, attempt_lanes
from redpacket.platform.errors import Unavailable

CAMPAIGNS_PER_SWEEP = 100

PACKETS_AT_ONCE = 100
"""Packets to move before checking the time and storing the position again."""


def move_packets(stop_at_ms: int, *, ports: SweepPorts) -> Attempts[int]:
    """Move the open packets of edited campaigns; return the number of moves per campaign.

    The next sweep continues after the last stored position.
    """
    windows, list_packet_ids = ports.work.windows, ports.campaigns.list_packet_ids

    def move_one(packet_id: str, window: EditedWindow) -> bool:
        try:
            return windows.move(packet_id, window)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
            ports.logger.failure("move_failed", error, item=packet_id)
            return False

    def move(campaign_id: str) -> int:
        window, moved_count = windows.find(campaign_id), 0
        if window is None:
            return 0
        moved_id = window.moved_id or None
        while packet_ids := list_packet_ids(campaign_id, moved_id, PACKETS_AT_ONCE):
            if ports.clock.now_ms() >= stop_at_ms:
                return moved_count
            moved_count += sum(ports.in_parallel(partial(move_one, window=window), packet_ids))
            moved_id = packet_ids[-1]
            windows.checkpoint(window, moved_id)
        windows.finish(window)
        return moved_count

    return attempt_lanes(
        [ports.work.list_edited(CAMPAIGNS_PER_SWEEP)],
        move,
        name="move_failed",
        clock=ports.clock,
        logger=ports.logger,
        stop_at_ms=stop_at_ms,
        in_parallel=ports.in_parallel,
    )
