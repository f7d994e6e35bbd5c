"""Audits that check with strong reads what SQL cannot: HMACs, Merkle trees, and packed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from redpacket.campaigns.model import CampaignPlan
from redpacket.fairness.model.days import CHAIN_LAST_DAY, chain_commitment
from redpacket.fairness.model.merkle import EMPTY_ROOT, Peaks
from redpacket.fairness.ports import PublicLog
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    Draw,
    PrizeKind,
    draw_id_of,
    unit_share,
)
from redpacket.lottery.model.odds import draw_point, possible_odds
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.ports import DeadLetters, Ledger, PacketReader
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.difference import Difference
from redpacket.platform.errors import InvariantViolated, Unavailable
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.reconciliation.checks.lottery import check_outcomes, check_unit
from redpacket.reconciliation.use_cases.audit_packet import (
    BETWEEN_LOOKS_MS,
    audit_packet,
    seen_twice,
)

ENDS_DIFFER = "end vs that of its campaign"
"""Difference after an interrupted edit, until an operator repeats the edit (docs/adr/0007)."""

_AT_ONCE = 100
_ENTRIES_AT_ONCE = 1_000
_LOG_AT_ONCE = 1_000

_SETTLED_MS = 2_000
"""Milliseconds between two reads of rows that an edit may be changing."""


@dataclass(kw_only=True)
class Audits:
    """Audits of single packets, draws, and campaigns, and of the public log."""

    packets: PacketReader
    ledger: Ledger
    find_draw: Callable[[str, str, str], Draw | None]
    find_snapshot: Callable[[str], CampaignSnapshot | None]
    day_seed: Callable[[str, str], bytes]
    public_log: PublicLog
    dead_letters: DeadLetters
    clock: Clock
    logger: EventLogger

    def __post_init__(self) -> None:
        self._lottery = cache(self.find_snapshot)
        self._seed = cache(self.day_seed)

    def is_right(self, account: str) -> bool:
        """Return whether a balance equals the sum of its entries in any of three strong reads."""
        for _ in range(3):
            try:
                if self._entries_fen(account) == self.ledger.balance_fen(account):
                    return True
            except (KeyError, ValueError, TypeError, AttributeError):
                return False  # a forged row
            self.clock.sleep_ms(BETWEEN_LOOKS_MS)
        return False

    def _entries_fen(self, account: str) -> int:
        sum_fen, cursor = 0, None
        while True:
            entries, cursor = self.ledger.list_entries(account, cursor, _ENTRIES_AT_ONCE)
            sum_fen += sum(entry.amount_fen for entry in entries)
            if cursor is None:
                return sum_fen

    def packet(self, packet_id: str) -> list[Difference]:
        """Audit a packet."""
        try:
            audit = audit_packet(
                packet_id, packets=self.packets, ledger=self.ledger, clock=self.clock
            )
        except PacketNotFound:
            return []  # SQL checks report the orphaned shares and entries
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a forged row must not end a run
            return [Difference("I3", packet_id, "outcomes that can be read", "all", str(error))]
        return [*audit.differences]

    def draw(self, campaign_id: str, user_id: str, draw_id: str) -> list[Difference]:
        """Audit a draw: the point follows from the seed, and the prize from the point and odds.

        The odds are compared only with the current campaign version; earlier ones are not stored.
        """
        try:
            return self._of_draw(campaign_id, user_id, draw_id)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a forged row must not end a run
            return [Difference("I3", draw_id, "draw that can be read", "all", str(error))]

    def _of_draw(self, campaign_id: str, user_id: str, draw_id: str) -> list[Difference]:
        draw = self.find_draw(campaign_id, user_id, draw_id)
        if draw is None:
            return [Difference("I5", draw_id, "draw that is exported", "one", "none")]
        # The ids come from the key, because the row may be forged.
        draw = replace(draw, campaign_id=campaign_id, user_id=user_id, draw_id=draw_id)
        lottery = self._lottery(campaign_id)
        if lottery and draw.snapshot_version > lottery.version:
            lottery = self.find_snapshot(campaign_id)
        differences = [*check_outcomes([draw]), *self._of_point(draw, lottery)]
        if draw.prize is None:
            return differences
        prizes = lottery.prizes if lottery else ()
        now_total = sum(prize.total for prize in prizes if prize.prize_id == draw.prize.prize_id)
        differences += check_unit(draw, now_total)
        if draw.prize.kind is not PrizeKind.PACKET:
            return differences
        subject = f"{campaign_id} {draw.prize.prize_id}"
        try:
            ref = unit_share(draw.prize, draw.unit_no)
        except InvariantViolated as error:
            return [*differences, Difference("I9", subject, str(error), "a packet", "none")]
        claimed = [(share.claimer, share.amount_fen) for share in self.packets.list_refs([ref])]
        owners = [(claimer.user_id, fen) for claimer, fen in claimed if claimer]
        if owners != [(user_id, draw.prize.amount_fen)]:
            what = f"winner vs owner of share {ref.share_no}"
            differences.append(Difference("I9", ref.packet_id, what, user_id, str(owners)))
        return differences

    def _of_point(self, draw: Draw, lottery: CampaignSnapshot | None) -> Iterator[Difference]:
        """Yield differences for wrong odds, a wrong point, and a wrong draw id."""
        campaign_id, user_id, draw_id = draw.campaign_id, draw.user_id, draw.draw_id
        version = draw.snapshot_version
        if lottery and version >= lottery.version:
            right = possible_odds(draw.odds, lottery)
            if draw.odds not in right or version > lottery.version:
                what = f"odds of version {version}"
                yield Difference("I5", draw_id, what, " or ".join(right), draw.odds)
        meant = draw_point(self._seed(campaign_id, draw.day), campaign_id, user_id, draw.draw_no)
        if draw.point != meant:
            yield Difference("I5", draw_id, "point of its seed", meant, draw.point)
        if draw_id_of(campaign_id, user_id, draw.day, draw.draw_no) != draw_id:
            yield Difference("I5", draw_id, "draw of its number", "one", "none")

    def campaign(self, campaign_id: str) -> list[Difference]:
        """Audit a campaign's seeds and prizes; a second audit must confirm any differences."""
        try:
            return seen_twice(lambda: self._of_campaign(campaign_id), self.clock, _SETTLED_MS)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - a forged row must not end a run
            return [Difference("I3", campaign_id, "campaign that can be read", "all", str(error))]

    def _of_campaign(self, campaign_id: str) -> Iterator[Difference]:
        """Yield differences: a wrong seed commitment, unfunded cash prizes, wrong packet ends."""
        lottery = self.find_snapshot(campaign_id)
        if lottery is None:
            return
        # A sweep with a fast clock may already have begun refunds.
        ends_at_ms = lottery.campaign.ends_at_ms
        is_over = ends_at_ms <= self.clock.now_ms() + CLOCKS_DIFFER_MS
        if not is_over and lottery.commitment != (meant := self._commitment(lottery.campaign)):
            yield Difference(
                "I5", campaign_id, "commitment of its seeds", meant, lottery.commitment
            )
        for prize in lottery.prizes:
            if prize.kind is not PrizeKind.PACKET:
                continue
            counts, funded_count = dict(prize.packets), 0
            for start in range(0, len(counts), _AT_ONCE):
                for packet in self.packets.list_packets(list(counts)[start : start + _AT_ONCE]):
                    is_open = packet.status is PacketStatus.OPEN
                    if is_open and packet.expires_at_ms != ends_at_ms:
                        pair = ends_at_ms, packet.expires_at_ms
                        yield Difference("I9", packet.packet_id, ENDS_DIFFER, *pair)
                    is_its = packet.rules.prize_id == prize.prize_id
                    per_unit_fen = packet.terms.total_fen // packet.terms.count
                    if (is_over or is_open) and is_its and per_unit_fen == prize.amount_fen:
                        funded_count += min(packet.terms.count, counts[packet.packet_id])
            if funded_count < prize.total:
                subject, what = f"{campaign_id} {prize.prize_id}", "units that have their money"
                yield Difference("I9", subject, what, prize.total, funded_count)

    def _commitment(self, campaign: CampaignPlan) -> str:
        root = self._seed(campaign.campaign_id, CHAIN_LAST_DAY)
        return chain_commitment(campaign.campaign_id, root, CHAIN_LAST_DAY)

    def log(self, before: Mapping[str, Any]) -> tuple[dict[str, Any], int, list[Difference]]:
        """Compare the public log with the signed head and with *before*, the last run's log state.

        Return the log state for the next run, the number of entries, and the differences. An
        attacker who can write the tables cannot sign a head or change the last run.
        """
        differences: list[Difference] = []

        def differs(what: str, expected: str, actual: str) -> None:
            differences.append(Difference("log", "the public log", what, expected, actual))

        signed, peaks = self.public_log.find_signed(), Peaks()
        size, root = (signed.head.size, signed.head.root) if signed else (0, EMPTY_ROOT.hex())
        key_id = before.get("key_id") or (signed.key_id if signed else "")
        if signed and not signed.is_signed:
            differs("signature of the head", "its key's", "another")
        if signed and signed.key_id != key_id:
            differs("key of the head", key_id, signed.key_id)
        for leaf in self._leaves(size):
            peaks.append(leaf)
            if peaks.size == before.get("size") and peaks.root.hex() != before["root"]:
                differs("root that was compared before", before["root"], peaks.root.hex())
        if peaks.size < max(size, before.get("size", 0)):
            differs(f"entry {peaks.size}", f"one of {max(size, before.get('size', 0))}", "none")
        elif peaks.root.hex() != root:
            differs(f"root of the signed head, of {size} entries", root, peaks.root.hex())
        else:
            before = {"size": size, "root": root, "key_id": key_id}
        return dict(before), peaks.size, differences

    def _leaves(self, size: int) -> Iterator[bytes]:
        """Yield the hashes of the first *size* entries; stop at the first missing entry."""
        index = 0
        while index < size:
            page = self.public_log.list_entries(index, min(_LOG_AT_ONCE, size - index))
            for place, entry in page:
                if place != index:
                    return
                yield entry.leaf
                index += 1
            if not page:
                return

    def letters(self) -> list[Difference]:
        """Return a difference if the payout DLQ has claims that could not be settled."""
        count = self.dead_letters.count()
        what = "claims that could not be settled"
        return [Difference("queue", "payout DLQ", what, 0, count)] if count else []
