"""Repository of prize codes in CodesTable, which only PrizeFunction and LotteryFunction access.

Code *n* belongs to unit *n*, so the winner of unit *n* gets code *n*. A row for the digest of each
code prevents duplicates within a prize.
"""

import hashlib
from collections.abc import Sequence

from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.lottery import UNITS_MAX, Draw
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Operation,
    Row,
    TransactionCanceled,
    put,
    update,
)
from redpacket.platform.errors import Contended, InvalidRequest

IS_AS_COUNTED = "attribute_not_exists(pk) OR code_count = :before"

_CODES_PER_TRANSACTION = 49
"""Codes per transaction: two rows for each code and one for the count, of at most 100 rows."""

_TRIES = 6


class DynamoCodes:
    """Repository of prize codes, each numbered like its unit."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.codes

    def add(self, campaign_id: str, prize_id: str, codes: Sequence[str], until_ms: int) -> int:
        """Add the codes that the prize lacks; return how many codes the prize then has.

        The new codes expire at *until_ms*. Raises InvalidRequest above UNITS_MAX codes.
        """
        for start in range(0, len(codes), _CODES_PER_TRANSACTION):
            chunk = codes[start : start + _CODES_PER_TRANSACTION]
            self._add((campaign_id, prize_id), chunk, until_ms)
        return self._count((campaign_id, prize_id))

    def find(self, draws: Sequence[Draw]) -> dict[str, str]:
        """Return the codes of won units, keyed by draw id; expired codes are deleted."""
        where = {draw.draw_id: _code_of(draw) for draw in draws}
        rows = self._dynamo.get_many(self._table, list(where.values()), is_strong=True)
        codes = {(row["pk"], row["sk"]): str(row["code"]) for row in rows}
        named = {draw_id: codes.get((key["pk"], key["sk"])) for draw_id, key in where.items()}
        return {draw_id: code for draw_id, code in named.items() if code}

    def _add(self, where: tuple[str, str], codes: Sequence[str], until_ms: int) -> None:
        left = list(codes)
        for _ in range(_TRIES):
            if not left:
                return
            count = self._count(where)
            try:
                self._dynamo.transact(self._numbered(where, left, count, until_ms))
            except TransactionCanceled as canceled:
                # An existing digest means that the prize already has the code.
                digests = canceled.rows[1 : len(left) + 1]
                left = [code for code, row in zip(left, digests, strict=True) if row is None]
            else:
                return
        raise Contended

    def _numbered(
        self, where: tuple[str, str], codes: Sequence[str], count: int, until_ms: int
    ) -> list[Operation]:
        total = count + len(codes)
        if total > UNITS_MAX:
            message = f"would exceed the limit of {UNITS_MAX} codes for one prize"
            raise InvalidRequest.of("add", message)
        counted = update(
            self._table,
            draw_keys.code_count(*where),
            "SET code_count = :total",
            condition=IS_AS_COUNTED,
            total=total,
            before=count,
        )
        expires: Row = {"expires_at_s": until_ms // 1000}
        digests: list[Row] = [
            {**draw_keys.code_digest(*where, hashlib.sha256(code.encode()).hexdigest()), **expires}
            for code in codes
        ]
        numbered: list[Row] = [
            {**draw_keys.code(*where, unit_no), "code": code, **expires}
            for unit_no, code in enumerate(codes, count + 1)
        ]
        return [counted, *(put(self._table, row) for row in (*digests, *numbered))]

    def _count(self, where: tuple[str, str]) -> int:
        row = self._dynamo.get(self._table, draw_keys.code_count(*where))
        return int(row["code_count"]) if row else 0


def _code_of(draw: Draw) -> dict[str, str]:
    assert draw.prize
    return draw_keys.code(draw.campaign_id, draw.prize.prize_id, draw.unit_no)
