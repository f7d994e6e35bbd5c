"""The one mapper between a campaign with its prizes and its packed row (docs/adr/0014)."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.campaign_items import plan_of, plan_row
from redpacket.adapters.dynamo import Value
from redpacket.domain.campaign import CampaignPlan, CampaignStatus
from redpacket.domain.errors import InvalidRequest
from redpacket.domain.lottery import DrawTable, PageNote, Prize, PrizeKind

PACKED_BYTES_MAX = 300_000
"""An item of DynamoDB has at most 400 KB, and the plan and the note are in this one, too."""

_PLAIN_BYTES_MAX = 400
"""A shorter text stays readable in the console, and would hardly be shorter packed."""

# The smallest window of LZMA is enough: a hundred prizes are some 40 KB of text. Chinese is three
# bytes a sign and aligned to nothing, so that contexts by position only cost.
_FILTERS = [
    {"id": lzma.FILTER_LZMA2, "dict_size": 1 << 18, "lc": 0, "lp": 0, "pb": 0, "nice_len": 273}
]

_PRIZE_FIELDS = [field.name for field in fields(Prize) if field.name != "campaign_id"]


def shown_row(plan: CampaignPlan) -> dict[str, Value]:
    """Return the packed row of a campaign that was just created."""
    return {
        **keys.shown(plan.campaign_id),
        "plan": packed_plan(plan),
        "prizes": packed_prizes(()),
        "version": 1,
    }


def packed_plan(plan: CampaignPlan) -> str | bytes:
    """Return a plan as the packed row has it."""
    return _packed(_text(plan_row(plan)))


def packed_prizes(prizes: Sequence[Prize]) -> str | bytes:
    """Return a campaign's prizes as the packed row has them, in the order of their ids.

    Field by field, since values of one field are alike. Raises InvalidRequest where they are more
    than a row holds.
    """
    ordered = sorted(prizes, key=lambda prize: prize.prize_id)
    columns = {name: [getattr(prize, name) for prize in ordered] for name in _PRIZE_FIELDS}
    packed = _packed(_text(columns))
    if len(packed) > PACKED_BYTES_MAX:
        message = "the texts of all prizes of the campaign together are too long"
        raise InvalidRequest([{"field": "description", "message": message}])
    return packed


def table_of(row: dict[str, Any]) -> DrawTable:
    """Read a packed row."""
    plan = plan_of(json.loads(_unpacked(row["plan"])))
    columns = json.loads(_unpacked(row["prizes"]))
    rows = zip(*columns.values(), strict=True)
    prizes = tuple(
        _prize_of(plan.campaign_id, dict(zip(columns, values, strict=True))) for values in rows
    )
    return DrawTable(plan, prizes, row["version"])


def note_row(note: PageNote) -> dict[str, Value]:
    """Return a note as the packed row has it."""
    # Ids of prizes hold no commas (domain/lottery.PRIZE_ID).
    sold_out = _packed(",".join(sorted(note.sold_out)))
    return {"noted_day": note.day, "noted_commitment": note.commitment, "noted_sold_out": sold_out}


def note_of(row: dict[str, Any]) -> PageNote:
    """Read what was noted beside a table; nothing before the first page."""
    if "noted_day" not in row:
        return PageNote()
    sold_out = _unpacked(row["noted_sold_out"])
    return PageNote(
        row["noted_day"],
        row["noted_commitment"],
        frozenset(sold_out.split(",") if sold_out else ()),
    )


def _prize_of(campaign_id: str, kept: dict[str, Any]) -> Prize:
    kept["kind"] = PrizeKind(kept["kind"])
    kept["status"] = CampaignStatus(kept["status"])
    kept["packets"] = tuple((packet_id, count) for packet_id, count in kept["packets"])
    return Prize(campaign_id=campaign_id, **kept)


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _packed(text: str) -> str | bytes:
    """Return *text* as it is where it is short, else compressed: its type tells which."""
    plain = text.encode()
    if len(plain) <= _PLAIN_BYTES_MAX:
        return text
    return lzma.compress(plain, format=lzma.FORMAT_RAW, filters=_FILTERS)


def _unpacked(packed: str | bytes) -> str:
    if isinstance(packed, str):
        return packed
    return lzma.decompress(packed, format=lzma.FORMAT_RAW, filters=_FILTERS).decode()
