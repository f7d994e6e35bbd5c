"""WeChat Pay's daily statements, verified by their signed hash.

The format of lines for merchant transfers (商家转账) is an assumption until a real fund statement
is available. WeChat documents two values of 收支类型: 支出 (money out) and 收入 (money in). Its FAQ
says that a transfer locks the merchant's money until the user confirms or the money is
returned. Therefore 支出 is a lock or a payment, and 收入 is a return. Any other value is an error,
because it could mean either.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from hashlib import sha1

from redpacket.payments.model.provider import (
    STATEMENT_ZONE,
    StatementKind,
    StatementLine,
    statement_day_start_ms,
)
from redpacket.payments.providers.wechat.client import WeChatClient
from redpacket.platform.errors import InvariantViolated, Unavailable

_ZONE = timezone(STATEMENT_ZONE)
_MS_PER_S = 1_000
# Statements are complete at 10:00. If one is missing at 14:00, the day had no movements.
_SURELY_MADE_AFTER_MS = (24 + 14) * 60 * 60 * _MS_PER_S
_NO_BILL = "NO_STATEMENT_EXIST"
_BEING_MADE = "STATEMENT_CREATING"
# WeChat puts this mark before each field, so commas inside a field are not separators.
_MARK = "`"
_CENTS = 2
_IS_RETURN = {"支出": False, "收入": True}


class StatementReader:
    """Reader of one merchant's statements."""

    def __init__(self, client: WeChatClient, now_ms: Callable[[], int]) -> None:
        self._client = client
        self._now_ms = now_ms

    def trades(self, day: str) -> list[StatementLine] | None:
        """Return a day's payments and refunds, or None if the statement does not exist yet."""
        path = f"/v3/bill/tradebill?bill_date={_date(day)}&bill_type=ALL"
        rows = self._rows(day, path)
        return None if rows is None else [_trade(row) for row in rows]

    def transfers(self, day: str) -> list[StatementLine] | None:
        """Return a day's transfers, or None if the statement does not exist yet."""
        path = f"/v3/bill/fundflowbill?bill_date={_date(day)}&account_type=OPERATION"
        rows = self._rows(day, path)
        if rows is None:
            return None
        return [_transfer(row) for row in rows if row["业务类型"] == "商家转账"]

    def _rows(self, day: str, path: str) -> list[dict[str, str]] | None:
        answer = self._client.get(path)
        if answer.code == _BEING_MADE:
            return None
        if answer.code == _NO_BILL:
            return [] if self._is_surely_made(day) else None
        named = [answer.body.get(name) for name in ("download_url", "hash_type", "hash_value")]
        if not answer.is_ok or not all(isinstance(value, str) for value in named):
            raise Unavailable(f"the gateway answered {answer.status} {answer.code} to a statement")
        url, hash_type, hash_value = map(str, named)
        content = self._client.download(url)
        digest = sha1(content, usedforsecurity=False).hexdigest()
        if hash_type != "SHA1" or not hmac.compare_digest(digest, hash_value.lower()):
            raise Unavailable("a statement file does not match the hash that the gateway signed")
        return list(_read(content))

    def _is_surely_made(self, day: str) -> bool:
        return self._now_ms() >= statement_day_start_ms(day) + _SURELY_MADE_AFTER_MS


def _read(content: bytes) -> Iterator[dict[str, str]]:
    """Yield rows, keyed by header name. Raises Unavailable if fields or the summary are missing."""
    lines = content.decode("utf-8-sig").splitlines()
    if not lines:
        raise Unavailable("a statement file is empty")
    names, rows = lines[0].split(","), 0
    for line in lines[1:]:
        if not line.startswith(_MARK):
            break
        fields = [field.strip() for field in line[1:].split(f",{_MARK}")]
        if len(fields) != len(names):
            raise Unavailable("a statement line has another number of fields than the header")
        rows += 1
        yield dict(zip(names, fields, strict=True))
    # The summary has a header and one line.
    if len(lines) != rows + 3:
        raise Unavailable("a statement file does not end with its summary")


def _trade(row: dict[str, str]) -> StatementLine:
    at_ms = _at_ms(row["交易时间"])
    if row["交易状态"] == "SUCCESS":
        kind_of = StatementKind.PAYMENT, row["商户订单号"], row["微信订单号"]
        return StatementLine(*kind_of, _fen(row["订单金额"]), at_ms)
    if row["交易状态"] == "REFUND":
        kind_of = StatementKind.REFUND, row["商户退款单号"], row["微信退款单号"]
        return StatementLine(*kind_of, _fen(row["申请退款金额"]), at_ms, row["商户订单号"])
    raise Unavailable("a statement file has an unknown transaction status")


def _transfer(row: dict[str, str]) -> StatementLine:
    kind_of = StatementKind.TRANSFER, row["业务凭证号"], row["微信支付业务单号"]
    is_return = _IS_RETURN.get(row["收支类型"])
    if is_return is None:
        raise InvariantViolated(
            f"line {row['业务凭证号']} has the unknown 收支类型 {row['收支类型']!r}"
        )
    moved = _fen(row["收支金额(元)"]), _at_ms(row["记账时间"])
    return StatementLine(*kind_of, *moved, is_return=is_return)


def _fen(yuan: str) -> int:
    whole, _, rest = yuan.partition(".")
    cents = rest.ljust(_CENTS, "0")
    digits = whole + cents
    if not (digits.isascii() and digits.isdecimal()) or len(cents) != _CENTS or not whole:
        raise Unavailable("a statement file has an unreadable amount")
    return int(digits)


def _at_ms(text: str) -> int:
    try:
        at = datetime.fromisoformat(text).replace(tzinfo=_ZONE)
    except ValueError:
        raise Unavailable("a statement file has an unreadable time") from None
    return int(at.timestamp()) * _MS_PER_S


def _date(day: str) -> str:
    return datetime.fromisoformat(day).date().isoformat()
