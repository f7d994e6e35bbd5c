"""Cursors of claim lists."""

from __future__ import annotations

import re

from redpacket.domain.errors import InvalidRequest
from redpacket.edge.parameters import optional

CLAIM_CURSOR = "^(p[0-9]{1,2}|[0-9]{1,8})$"
"""Share number, or "p" with the next partition of a sharded packet."""


@optional("query", "cursor", missing=0, type="string", pattern=CLAIM_CURSOR)
def claim_cursor_of(text: str) -> int:
    """`next` of the page before."""
    if not re.fullmatch(CLAIM_CURSOR, text, re.ASCII) or text.endswith("\n"):
        raise InvalidRequest([{"field": "cursor", "message": "is not a valid cursor of this list"}])
    return -int(text[1:]) if text.startswith("p") else int(text)


def claim_place(next_no: int | None) -> str | None:
    """Return the cursor of the next page; a negative *next_no* encodes a partition."""
    if next_no is None:
        return None
    return str(next_no) if next_no > 0 else f"p{-next_no}"
