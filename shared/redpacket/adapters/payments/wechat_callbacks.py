"""Verification and parsing of WeChat Pay's callbacks."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from redpacket.adapters.payments.wechat_client import WeChatClient
from redpacket.domain.errors import SignatureInvalid
from redpacket.domain.gateway import Notice, NoticeKind

AGE_MS_MAX = 5 * 60 * 1_000
_HEADERS = tuple(
    f"wechatpay-{name}" for name in ("signature", "timestamp", "nonce", "serial", "signature-type")
)
_TIMESTAMP_DIGITS_MAX = 12
_KINDS = {
    "TRANSACTION": (NoticeKind.PAYMENT, "out_trade_no", "transaction_id"),
    "REFUND": (NoticeKind.REFUND, "out_refund_no", "refund_id"),
    "MCHTRANSFER.BILL": (NoticeKind.TRANSFER, "out_bill_no", "transfer_bill_no"),
    "MCHTRANSFER.AUTHORIZATION": (
        *(NoticeKind.AUTHORIZATION, "out_authorization_no", "authorization_id"),
    ),
}
"""Kind and names of both numbers, by the prefix of the event's type."""


class WeChatCallbacks:
    """WeChat Pay implementation of Callbacks."""

    def __init__(self, client: WeChatClient) -> None:
        self._client = client

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Notice:
        given = {name: headers.get(name, "") for name in _HEADERS}
        # The library would fetch certificates for an unknown serial, fail on a malformed one, and
        # accept callbacks of any age.
        public_key_id = self._client.merchant.public_key_id
        if not hmac.compare_digest(given["wechatpay-serial"].encode(), public_key_id.encode()):
            raise SignatureInvalid("a callback names a key that is not configured")
        if not _is_fresh(given["wechatpay-timestamp"], now_ms):
            raise SignatureInvalid("a callback is older or newer than five minutes")
        event = self._client.open_callback(given, body)
        if event is None:
            raise SignatureInvalid("a callback is not signed by the gateway")
        return self._notice(event)

    def _notice(self, event: Mapping[str, object]) -> Notice:
        kind = str(event.get("event_type", "")).rpartition(".")[0]
        resource, notice_id = event.get("resource"), event.get("id")
        if kind not in _KINDS or not isinstance(resource, dict) or not isinstance(notice_id, str):
            raise SignatureInvalid("a callback is of a kind that is not known here")
        notice_kind, number_name, outside_name = _KINDS[kind]
        number = resource.get(number_name)
        # Public WeChat Pay clients disagree about the name.
        mch_id = resource.get("mchid", resource.get("mch_id"))
        if mch_id != self._client.merchant.mch_id or not number:
            raise SignatureInvalid("a callback is for another merchant")
        return Notice(notice_kind, notice_id, str(number), str(resource.get(outside_name, "")))


def _is_fresh(timestamp: str, now_ms: int) -> bool:
    if not timestamp.isascii() or not timestamp.isdecimal():
        return False
    if len(timestamp) > _TIMESTAMP_DIGITS_MAX:
        return False
    return abs(now_ms - int(timestamp) * 1_000) <= AGE_MS_MAX
