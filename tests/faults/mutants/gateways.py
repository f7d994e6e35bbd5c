"""What a gateway's word is worth: who signed it, for what, and what it does not say."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a callback may name any key",
        "WeChatCallbacks.read",
        'if not hmac.compare_digest(given["wechatpay-serial"].encode(), public_key_id.encode())',
        "if not public_key_id",
    ),
    Mutant(
        "a callback of WeChat may be of any age",
        "WeChatCallbacks.read",
        'if not _is_fresh(given["wechatpay-timestamp"], now_ms)',
        "if not now_ms",
    ),
    Mutant(
        "a callback may be for another merchant",
        "WeChatCallbacks._notice",
        "resource.get(merchant_name) != self._client.merchant.mch_id or not number",
        "not number",
    ),
    Mutant(
        "a callback of the host may be of any age",
        "HostCallbacks.read",
        "if not is_fresh(headers, now_ms)",
        "if not now_ms",
    ),
    Mutant(
        "an answer of the host is taken for a result",
        "HostCallbacks.read",
        'kind[0] in set(NoticeKind) and kind[2] and "." not in kind[2]',
        "kind[0] in set(NoticeKind)",
    ),
    Mutant(
        "an answer of the host may be for another call",
        "HostClient.call",
        'answer.status != _OK or answer.headers.get("webhook-id") != message_id',
        "answer.status != _OK",
    ),
    Mutant(
        "an answer of the host may be for another kind of call",
        "HostClient.call",
        'told is None or told.get("type") != f"{kind}.answer"',
        "told is None",
    ),
    Mutant(
        "an order of the host may be another one",
        "HostIn._order_found",
        'told.get("number") != number',
        "False",
    ),
    Mutant(
        "a transfer of the host may be another one",
        "HostOut._found",
        'told.get("bill_no") != bill_no',
        "False",
    ),
    Mutant(
        "an order of WeChat may be another one",
        "WeChatIn.query",
        'not answer.is_ok or answer.body.get("out_trade_no") != number',
        "not answer.is_ok",
    ),
    Mutant(
        "a refund of WeChat may be another one",
        "WeChatIn._refund_found",
        'not answer.is_ok or answer.body.get("out_refund_no") != refund_no',
        "not answer.is_ok",
    ),
    Mutant(
        "a transfer of WeChat may be another one",
        "WeChatOut._found",
        'answer.body.get("out_bill_no") != bill_no',
        "False",
    ),
    Mutant(
        "any 404 means that there is no order",
        "WeChatIn.query",
        "if answer.code in _NO_ORDER",
        "if answer.status == 404",
    ),
    Mutant(
        "any 404 means that there is no transfer",
        "WeChatOut.query",
        'if answer.code == "NOT_FOUND"',
        "if answer.status == 404",
    ),
    Mutant(
        "a refusal without a known reason is a refusal",
        "WeChatOut.transfer",
        "if refusal := _REFUSALS.get(answer.code)",
        "if refusal := _REFUSALS.get(answer.code, Refusal.OTHER)",
    ),
    Mutant(
        "a number that is carried out already is refused",
        "WeChatOut.transfer",
        'if answer.code == "ALREADY_EXISTS"',
        "if not answer",
    ),
    Mutant(
        "a refund that a bank sent back has failed for ever",
        "_REFUND_STATES",
        '"ABNORMAL": RefundState.PROCESSING',
        '"ABNORMAL": RefundState.FAILED',
    ),
    Mutant(
        "a bill file need not be the one that was hashed",
        "BillReader._rows",
        'hash_type != "SHA1" or not hmac.compare_digest(found, hash_value.lower())',
        'hash_type != "SHA1"',
    ),
    Mutant(
        "a bill file may be cut off",
        "wechat_bills:_read",
        "if len(lines) != rows + 3",
        "if not lines",
    ),
    Mutant(
        "a bill that is not there yet is empty",
        "BillReader._is_surely_made",
        "self._now_ms() >= bill_day_start_ms(day) + _SURELY_MADE_AFTER_MS",
        "True",
    ),
    Mutant(
        "a bill file may come from anywhere",
        "WeChatClient.download",
        'if not url.startswith(f"{self._url}/")',
        "if not url.startswith(self._url)",
    ),
    Mutant(
        "the library may call the real gateway",
        "_point_at",
        'if not hasattr(core, "_gate_way")',
        "if not core",
    ),
    Mutant(
        "an address inside may be called",
        "Outgoing._address",
        "if not self._allows_private and not _is_global(address)",
        "if not address",
    ),
    Mutant(
        "a name is resolved again to connect",
        "Outgoing._connect",
        "socket.create_connection((address, self._port), timeout=left_s)",
        "socket.create_connection((self._host, self._port), timeout=left_s)",
    ),
    Mutant(
        "headers may drip past their time",
        "_ReadUntil.__init__",
        "self._deadline_s = deadline_s",
        "self._deadline_s = deadline_s + 60",
    ),
    Mutant(
        "an account opens beside the hash of another one",
        "Accounts.open",
        "name is None or not hmac.compare_digest(self.hash_of(name), account.name_hash)",
        "name is None",
    ),
    Mutant(
        "a new key signs at once",
        "IssuerKeys.signing",
        "now_ms >= k.published_at_ms + PUBLISHED_AHEAD_MS",
        "now_ms >= k.published_at_ms",
    ),
    Mutant(
        "a key is gone before its tokens",
        "IssuerKeys.rotated",
        "now_ms < later.published_at_ms + PUBLISHED_AHEAD_MS + TOKEN_LIFE_MS_MAX",
        "now_ms < later.published_at_ms",
    ),
]
