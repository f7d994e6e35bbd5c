"""The claim board on Redis or Valkey: one hash per packet, one script per move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.packet_state import read_terms, write_head
from redpacket.adapters.redis_cache import Cache, Client, Script
from redpacket.domain.claim import (
    AdmitOutcome,
    AdmitStatus,
    Fate,
    GrabOutcome,
    GrabStatus,
    ShareFate,
)
from redpacket.domain.packet import Packet, PacketStatus, part_id, part_size

STATE = "#"
"""The field of a packet's hash that is no user (lua/lib/state.lua)."""

_GATED = "!"
"""Follows the terms of a packet that has rules."""
_FORGETFUL = "?"
"""Follows the terms, and that, of a part whose notes may be lost."""

_REFUSED_BY_LETTER = {"E": GrabStatus.PACKET_EMPTIED, "C": GrabStatus.PACKET_EXPIRED}

_KEEP_AFTER_EXPIRY_MS = 24 * 3600 * 1000
"""Latecomers of a day are answered without the ledger; then the key goes, and a load brings it.

The scripts tell by what is left of the key's life whether the packet has ended (lua/lib/open.lua).
"""

_PAIRS_PER_LOAD = 1_000
"""ElastiCache Serverless takes 3,999 arguments a script."""


class RedisClaims(Cache):
    """Implements PartBoard."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._grab = Script.read("packet_grab")
        self._load = Script.read("packet_load")
        self._amend = Script.read("packet_amend")
        self._close = Script.read("packet_close")
        self._admit = Script.read("packet_admit")

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        key = keys.board(packet_id)
        with self.translated():
            # The crowd loses, and one native read is cheaper than any script: ADR 0002.
            state, owned_no = self.client.hmget(key, [STATE, user_id])
        terms, marks = read_terms(str(state)) if state else ("", "")
        is_gated, is_certain = _GATED in marks, _FORGETFUL not in marks
        if owned_no:
            return GrabOutcome(GrabStatus.ALREADY_CLAIMED, int(owned_no), terms, is_gated)
        if not state:
            return GrabOutcome(GrabStatus.PACKET_NOT_LOADED)
        if refused := _REFUSED_BY_LETTER.get(str(state)[0]):
            return GrabOutcome(refused, None, terms, is_certain=is_certain)
        if is_gated:
            gated = GrabStatus.PACKET_GATED
            return GrabOutcome(gated, None, terms, is_gated, is_certain=is_certain)
        outcome = self._take(packet_id, user_id, terms, is_gated=False)
        return outcome if is_certain else replace(outcome, is_certain=False)

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        return self._take(packet_id, user_id, terms, is_gated=True)

    def _take(self, packet_id: str, user_id: str, terms: str, *, is_gated: bool) -> GrabOutcome:
        with self.translated():
            answer = self.run(self._grab, keys.board(packet_id), user_id)
        status, _, share_no = answer.partition(" ")
        if not share_no:
            return GrabOutcome(GrabStatus(status))
        return GrabOutcome(GrabStatus(status), int(share_no), terms, is_gated)

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        script_keys = [keys.board(packet_id), keys.admitted(packet_id)]
        with self.translated():
            answer = self.run(self._admit, script_keys, user_id, life_ms, admitted_max)
        status, _, number = answer.partition(" ")
        return AdmitOutcome(AdmitStatus(status), int(number or 0))

    def load(
        self,
        packet: Packet,
        shares: Sequence[ShareFate],
        part: int | None = None,  # noqa: ARG002 - a packet that isn't cut is one part
    ) -> None:
        marks = "" if packet.rules.is_plain else _GATED
        self._bring(packet.packet_id, packet, packet.terms.count, shares, marks)

    def load_part(
        self, packet: Packet, part: int, shares: Sequence[ShareFate], *, is_whole: bool
    ) -> None:
        marks = ("" if packet.rules.is_plain else _GATED) + ("" if is_whole else _FORGETFUL)
        count = part_size(packet, part)
        self._bring(part_id(packet.packet_id, part), packet, count, shares, marks)

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        with self.translated():
            return bool(self.client.set(keys.loading(packet_id, part), "", nx=True, px=life_ms))

    def note(self, board_id: str, numbers: Mapping[str, int]) -> None:
        pairs = list(numbers.items())
        with self.translated():
            for start in range(0, len(pairs), _PAIRS_PER_LOAD):
                args: list[str | int] = [0, "", "", 0, ""]
                args += chain.from_iterable(pairs[start : start + _PAIRS_PER_LOAD])
                self.run(self._load, keys.board(board_id), *args)

    def _bring(
        self,
        board_id: str,
        packet: Packet,
        count: int,
        shares: Sequence[ShareFate],
        marks: str,
    ) -> None:
        key = keys.board(board_id)
        keep_until_ms = packet.expires_at_ms + _KEEP_AFTER_EXPIRY_MS
        opens_ms = keep_until_ms - packet.starts_at_ms
        head = write_head(packet.terms, count, opens_ms, marks)
        numbers = {share.share_no for share in shares}
        durable_no = max(numbers, default=0)
        free = ",".join(str(no) for no in range(1, durable_no) if no not in numbers)
        # Refunded shares have nobody to remember them for.
        pairs: list[tuple[str, int]] = [
            (share.taker.user_id, share.share_no) for share in shares if share.taker
        ]
        last_start = max(0, (len(pairs) - 1) // _PAIRS_PER_LOAD * _PAIRS_PER_LOAD)
        with self.translated():
            for start in range(0, last_start + 1, _PAIRS_PER_LOAD):
                letter = _letter(packet, count, shares) if start == last_start else ""
                args: list[str | int] = [keep_until_ms, letter, head, durable_no, free]
                for user_id, share_no in pairs[start : start + _PAIRS_PER_LOAD]:
                    args += [user_id, share_no]
                self.run(self._load, key, *args)

    def disown(self, packet_id: str, user_id: str, share_no: int) -> None:
        with self.translated():
            self.run(self._amend, keys.board(packet_id), user_id, share_no, "")

    def give_back(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        with self.translated():
            self.run(self._amend, keys.board(packet_id), user_id, share_no, owned_no)

    def free(self, packet_id: str, user_id: str, share_no: int) -> None:
        with self.translated():
            self.run(self._amend, keys.board(packet_id), user_id, share_no, 0)

    def close(self, packet_id: str) -> None:
        with self.translated():
            self.run(self._close, keys.board(packet_id))

    def holders(self, packet_id: str) -> dict[str, int]:
        with self.translated():
            fields = self.client.hscan_iter(keys.board(packet_id), count=1_000)
            return {user: int(no) for user, no in fields if user != STATE}

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        with self.translated():
            fields: dict[Any, Any] = self.client.hgetall(keys.board(packet_id))
        is_emptied = str(fields.get(STATE, "")).startswith("E")
        return frozenset(fields.keys() - {STATE}) if is_emptied else None


def _letter(packet: Packet, count: int, shares: Sequence[ShareFate]) -> str:
    # The script itself sees that all is handed out; to latecomers that is "emptied", not "expired".
    claimed_count = sum(share.fate is Fate.CLAIMED for share in shares)
    return "O" if packet.status is PacketStatus.OPEN or claimed_count == count else "C"
