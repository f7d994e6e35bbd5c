"""Won codes, visible only to their winner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redpacket.lottery.model.lottery import PrizeKind

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.codes import DynamoCodes
    from redpacket.lottery.model.lottery import Draw
    from redpacket.users.ports import ProfileRepository


def show_codes(
    user_id: str, draws: Sequence[Draw], *, codes: DynamoCodes, profiles: ProfileRepository
) -> dict[str, str]:
    """Return the codes that *draws* won after the user's last erasure, keyed by draw id."""
    won = [draw for draw in draws if draw.prize and draw.prize.kind is PrizeKind.CODE]
    if not won:
        return {}
    erased_at_ms = profiles.find_erased_at_ms(user_id)
    return codes.find([draw for draw in won if draw.drawn_at_ms > erased_at_ms])
