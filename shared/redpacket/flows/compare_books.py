"""Compare fates with books, receipts and takers' rows by keyed sums in buckets.

Each fact adds a number that only itself makes, and the fact that must stand against it takes the
same number away. A bucket that is not zero at the end holds a difference; its packets are read
again. A thief who may write shares can't balance a bucket: the key is new in each run.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Set as AbstractSet
from zlib import crc32

from redpacket.domain.checks import PacketFacts
from redpacket.domain.claim import Fate, ShareFate, Taker, taker_of
from redpacket.domain.ledger import Entry, Receipt, packet_of
from redpacket.domain.postings import expected_entries, expected_receipts

_BUCKETS = 1 << 16
_WORD = 1 << 64


class Suspects:
    """Packets to look at again: those in buckets that are not zero."""

    def __init__(self, buckets: AbstractSet[int]) -> None:
        self._buckets = buckets

    def __bool__(self) -> bool:
        return bool(self._buckets)

    def has(self, packet_id: str) -> bool:
        """Tell whether a packet is one of them."""
        return _bucket(packet_id) in self._buckets


class Comparison:
    """The sums of one run; what was posted after *until_ms* is left out on both sides."""

    def __init__(self, until_ms: int) -> None:
        self._until_ms = until_ms
        self._key = secrets.token_bytes(16)
        self._sums = [0] * _BUCKETS
        self._has_receipts = False
        self._receipts = [0] * _BUCKETS

    def add_entry(self, entry: Entry) -> None:
        """Take an entry; it counts if its other side is a packet."""
        packet_id = packet_of(entry.counterparty)
        if packet_id and entry.at_ms < self._until_ms:
            self._add(self._sums, packet_id, _entry_text(entry), 1)

    def add_receipt(self, receipt: Receipt) -> None:
        """Take a receipt."""
        self._has_receipts = True
        if receipt.at_ms < self._until_ms:
            self._add(self._receipts, receipt.packet_id, str(receipt), 1)

    def add_fates(self, facts: PacketFacts) -> None:
        """Take what a packet's row and its fates ask for."""
        packet_id = facts.packet.packet_id
        for entry in expected_entries(facts):
            if entry.at_ms < self._until_ms:
                self._add(self._sums, packet_id, _entry_text(entry), -1)
        for receipt in expected_receipts(facts):
            if receipt.at_ms < self._until_ms:
                self._add(self._receipts, packet_id, str(receipt), -1)
        for share in facts.shares:
            if share.decided_at_ms < self._until_ms:
                self._add(self._sums, packet_id, _fate_text(share), -1)

    def add_row(self, row: ShareFate | Taker) -> None:
        """Take a fate or a taker's row: a claim and its row are one, and a fate has its packet."""
        if isinstance(row, Taker):
            if row.claimed_at_ms < self._until_ms:
                self._add(self._sums, row.packet_id, _taker_text(row), 1)
            return
        if row.decided_at_ms >= self._until_ms:
            return
        self._add(self._sums, row.packet_id, _fate_text(row), 1)
        if row.fate is Fate.CLAIMED:
            self._add(self._sums, row.packet_id, _taker_text(taker_of(row)), -1)

    def suspects(self) -> Suspects:
        """Return where to look again."""
        found = {number for number, total in enumerate(self._sums) if total}
        if self._has_receipts:
            found |= {number for number, total in enumerate(self._receipts) if total}
        return Suspects(found)

    def _add(self, sums: list[int], packet_id: str, text: str, sign: int) -> None:
        digest = hashlib.blake2b(f"{packet_id} {text}".encode(), key=self._key, digest_size=8)
        number = _bucket(packet_id)
        sums[number] = (sums[number] + sign * int.from_bytes(digest.digest(), "big")) % _WORD


def _bucket(packet_id: str) -> int:
    return crc32(packet_id.encode()) % _BUCKETS


def _entry_text(entry: Entry) -> str:
    moved = f"{entry.amount_fen} {entry.at_ms} {entry.placed_at_ms} {entry.commitment}"
    return f"entry {entry.account} {entry.transfer_id} {moved}"


def _fate_text(share: ShareFate) -> str:
    return f"fate {share.share_no} {share.fate} {share.amount_fen} {share.decided_at_ms}"


def _taker_text(taker: Taker) -> str:
    return f"taker {taker.user_id} {taker.share_no} {taker.amount_fen} {taker.claimed_at_ms}"
