"""List of the winners of a campaign's goods and codes, prize by prize."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.lottery.model.winners import Winner, WinnerStatus

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes
    from redpacket.lottery.dynamodb.winners import DynamoWinners

ROWS_MAX = 400


def list_winners(
    campaign_id: str,
    prize_id: str | None,
    status: WinnerStatus | None,
    after: tuple[str, int] | None,
    limit: int,
    *,
    prizes: DynamoPrizes,
    winners: DynamoWinners,
) -> tuple[list[tuple[Winner, int]], tuple[str, int] | None]:
    """Return winners of goods and codes with their draw times in ms, and the next cursor.

    A page may be short without being the last. Raises CampaignNotFound.
    """
    snapshot = prizes.find_snapshot(campaign_id)
    if snapshot is None:
        raise CampaignNotFound
    goods = sorted(
        prize.prize_id
        for prize in snapshot.prizes
        if prize.kind is not PrizeKind.PACKET and prize_id in {None, prize.prize_id}
    )
    listed: list[Winner] = []
    place: tuple[str, int] | None = None
    for count, winner in enumerate(_from(campaign_id, goods, after or ("", 0), limit, winners)):
        if len(listed) == limit or count == ROWS_MAX:
            break
        place = winner.prize_id, winner.unit_no
        if status in {None, winner.status}:
            listed.append(winner)
    else:
        place = None
    return list(zip(listed, winners.find_won_at_ms(listed), strict=True)), place


def _from(
    campaign_id: str, goods: list[str], after: tuple[str, int], limit: int, winners: DynamoWinners
) -> Iterator[Winner]:
    first, after_no = after
    for prize_id in goods:
        if prize_id < first:
            continue
        at_no: int | None = after_no if prize_id == first else 0
        while at_no is not None:
            page = winners.list_winners(campaign_id, prize_id, at_no, limit + 1)
            yield from page
            at_no = page[-1].unit_no if len(page) > limit else None
