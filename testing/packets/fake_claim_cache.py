"""In-memory cache of packets, quotas and audiences."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from redpacket.campaigns.model import AudienceMode, audience_bucket
from redpacket.packets.model.claim import (
    EMPTIED_KEPT_MS,
    AdmitOutcome,
    AdmitStatus,
    GrabOutcome,
    GrabStatus,
    Quota,
    QuotaStatus,
    Share,
    ShareStatus,
)
from redpacket.packets.model.packet import Packet, PacketStatus, is_sharded, shard_id, shard_size
from testing.platform.fake_services import FakeClock
from testing.platform.fake_tables import Item

DAY_MS = 24 * 3_600_000

_DECIDED_BY_THE_CLOCK = {GrabStatus.PACKET_EXPIRED, GrabStatus.PACKET_NOT_STARTED}


def _is_decided(claim_cache: Item, seen: GrabOutcome) -> bool:
    """Return whether the cache's clock cannot change the answer; reopening also depends on the
    clock.
    """
    reopens = seen.status is GrabStatus.PACKET_EMPTIED and claim_cache["letter"] == "O"
    return seen.status not in _DECIDED_BY_THE_CLOCK and not reopens


class FakeShards:
    """ShardCache that behaves like the scripts, with its own clock."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.caches: dict[str, Item] = {}
        self._loading_until_ms: dict[tuple[str, int], int] = {}
        self._lives = itertools.count(1)
        self._life = next(self._lives)
        self._life_of_slot: dict[str, int] = {}

    def snapshot(self) -> dict[str, Item]:
        """Return a copy, like a replica, that later claims do not change."""
        return {
            packet_id: {
                **claim_cache,
                "users": dict(claim_cache["users"]),
                "returned": list(claim_cache["returned"]),
                "admitted": dict(claim_cache.get("admitted", {})),
            }
            for packet_id, claim_cache in self.caches.items()
        }

    def fail_over(self, snapshot: dict[str, Item], slots: Collection[str] | None = None) -> None:
        """Restore *snapshot*, or only its *slots* if one of several nodes is lost."""
        life = next(self._lives)
        if slots is None:
            self._life, self._life_of_slot = life, {}
        else:
            self._life_of_slot |= dict.fromkeys(slots, life)
        for packet_id in list(self.caches) if slots is None else slots:
            self.caches.pop(packet_id, None)
        for packet_id in snapshot if slots is None else set(slots) & snapshot.keys():
            self.caches[packet_id] = snapshot[packet_id]

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        seen = self._look(packet_id, user_id)
        claim_cache = self.caches.get(packet_id, {"terms": ""})
        if (
            claim_cache["terms"]
            and claim_cache["is_gated"]
            and not (seen and _is_decided(claim_cache, seen))
        ):
            if claim_cache["letter"] == "C":
                seen = GrabOutcome(GrabStatus.PACKET_EXPIRED)
            else:
                terms = claim_cache["terms"]
                seen = GrabOutcome(GrabStatus.PACKET_GATED, None, terms, is_gated=True)
        outcome = seen or self._hand_out(packet_id, user_id)
        is_certain = claim_cache.get("is_whole", True)
        if outcome.status is GrabStatus.PACKET_EMPTIED:
            is_certain = is_certain and self.has_all_claimers(packet_id, user_id)
        return replace(outcome, is_certain=is_certain)

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        outcome = self._look(packet_id, user_id) or self._hand_out(packet_id, user_id)
        if outcome.status is GrabStatus.PACKET_EMPTIED:
            return replace(outcome, is_certain=self.has_all_claimers(packet_id, user_id))
        return outcome

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        seen = self._look(packet_id, user_id)
        noted_no = self.holders(packet_id).get(user_id)
        if seen and seen.status is GrabStatus.PACKET_NOT_LOADED and noted_no:
            # The script also finds users who were noted before the packet was loaded.
            return AdmitOutcome(AdmitStatus.ALREADY_CLAIMED, noted_no)
        if seen:
            return AdmitOutcome(AdmitStatus(seen.status), seen.share_no or 0)
        now_ms = self.clock.now_ms()
        ends = self.caches[packet_id].setdefault("admitted", {})
        for other in [user for user, end_ms in ends.items() if end_ms <= now_ms]:
            del ends[other]
        if user_id not in ends and len(ends) >= admitted_max:
            return AdmitOutcome(AdmitStatus.CROWDED, min(ends.values()))
        return AdmitOutcome(AdmitStatus.ADMITTED, ends.setdefault(user_id, now_ms + life_ms))

    def _look(self, packet_id: str, user_id: str) -> GrabOutcome | None:
        """Return the outcome of a grab that takes no share, or None if the grab may take one."""
        claim_cache = self.caches.get(packet_id) or self._a_claim_cache()
        terms, now_ms = claim_cache["terms"], self.clock.now_ms()
        if not terms:
            return GrabOutcome(GrabStatus.PACKET_NOT_LOADED)
        if user_id in claim_cache["users"]:
            share_no = claim_cache["users"][user_id]
            return GrabOutcome(
                GrabStatus.ALREADY_CLAIMED,
                share_no,
                terms,
                claim_cache["is_gated"],
                is_last=claim_cache["letter"] == "E",
                is_closed=claim_cache["letter"] == "C",
            )
        if claim_cache["letter"] == "E":
            return GrabOutcome(GrabStatus.PACKET_EMPTIED, None, terms)
        if claim_cache["letter"] == "C" or now_ms >= claim_cache["expires_at_ms"]:
            return GrabOutcome(GrabStatus.PACKET_EXPIRED)
        if now_ms < max(claim_cache["starts_at_ms"], claim_cache.get("reopens_at_ms", 0)):
            was_emptied = "reopens_at_ms" in claim_cache
            status = GrabStatus.PACKET_EMPTIED if was_emptied else GrabStatus.PACKET_NOT_STARTED
            return GrabOutcome(status)
        return None

    def _hand_out(self, packet_id: str, user_id: str) -> GrabOutcome:
        claim_cache = self.caches[packet_id]
        if claim_cache["given_no"] < claim_cache["count"]:
            share_no = claim_cache["given_no"] = claim_cache["given_no"] + 1
        else:
            share_no = claim_cache["returned"].pop(0)
        claim_cache["users"][user_id] = share_no
        self._note_emptied(claim_cache)
        return GrabOutcome(
            GrabStatus.CLAIMED,
            share_no,
            claim_cache["terms"],
            claim_cache["is_gated"],
            is_last=claim_cache["letter"] == "E",
        )

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        part: int | None = None,
        *,
        is_new: bool = False,
        is_whole: bool = True,
    ) -> None:
        cache_id, count = packet.packet_id, packet.terms.count
        if part is not None and is_sharded(packet.packet_id):
            cache_id, count = shard_id(cache_id, part), shard_size(packet, part)
        misses_nobody = is_new and not self.is_loaded(cache_id, 0)
        self._bring(cache_id, packet, count, shares, is_whole=is_whole)
        if misses_nobody:
            self.caches[cache_id]["sign"] = self._life_of(cache_id)
        elif cache_id == packet.packet_id and len(shares) == count:
            self.caches[cache_id]["sign"] = "told"

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        sign = self.caches.get(packet_id, {}).get("sign")
        return sign in {"told", self._life_of(packet_id)}

    def _life_of(self, packet_id: str) -> int:
        return self._life_of_slot.get(packet_id, self._life)

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        claim_cache = self.caches.setdefault(cache_id, self._a_claim_cache())
        for user_id, number in numbers.items():
            claim_cache["users"].setdefault(user_id, number)

    def _bring(
        self,
        cache_id: str,
        packet: Packet,
        count: int,
        shares: Sequence[Share],
        *,
        is_whole: bool,
    ) -> None:
        claimed_count = sum(share.status is ShareStatus.CLAIMED for share in shares)
        is_open = packet.status is PacketStatus.OPEN or claimed_count == count
        claim_cache = self.caches.setdefault(cache_id, self._a_claim_cache())
        if not claim_cache["terms"]:
            claim_cache |= {
                "terms": packet.terms.stored,
                "is_gated": not packet.rules.is_plain,
                "is_whole": is_whole,
                "count": count,
                "starts_at_ms": 0 if packet.rules.campaign_id else packet.starts_at_ms,
                "expires_at_ms": 0,
            }
        # The key of a campaign's packet outlives the packet's end, because edits may move the end.
        # A load extends the key's lifetime.
        ends_at_ms = packet.expires_at_ms + (DAY_MS if packet.rules.campaign_id else 0)
        claim_cache["expires_at_ms"] = max(claim_cache["expires_at_ms"], ends_at_ms)
        for share in shares:
            if share.claimer:
                claim_cache["users"].setdefault(share.claimer.user_id, share.share_no)
        numbers = {share.share_no for share in shares}
        durable_no = max(numbers, default=0)
        claim_cache["returned"] += [
            number
            for number in range(claim_cache["given_no"] + 1, durable_no)
            if number not in numbers
        ]
        claim_cache["given_no"] = max(claim_cache["given_no"], durable_no)
        if not is_open:
            claim_cache["letter"] = "C"
        self._note_emptied(claim_cache)

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        return self.begin_load(packet_id, -1, life_ms)

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        now_ms = self.clock.now_ms()
        if self._loading_until_ms.get((packet_id, part), 0) > now_ms:
            return False
        self._loading_until_ms[packet_id, part] = now_ms + life_ms
        return True

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        now_ms = self.clock.now_ms()
        if self._loading_until_ms.get((packet_id, part), 0) > now_ms:
            self._loading_until_ms[packet_id, part] = now_ms + life_ms

    def is_loaded(self, packet_id: str, part: int) -> bool:
        return bool(self.caches.get(packet_id, self._a_claim_cache())["terms"])

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        claim_cache = self.caches.get(packet_id)
        if claim_cache and claim_cache["users"].get(user_id) == share_no:
            del claim_cache["users"][user_id]
            self._doubt(claim_cache)

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        claim_cache = self.caches.get(packet_id)
        if claim_cache and claim_cache["users"].get(user_id) == share_no:
            claim_cache["users"][user_id] = owned_no
            self._doubt(claim_cache)
            self._offer_again(claim_cache, share_no)

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        claim_cache = self.caches.get(packet_id)
        if claim_cache and claim_cache["users"].get(user_id) == share_no:
            del claim_cache["users"][user_id]
            self._offer_again(claim_cache, share_no)

    def close(self, packet_id: str) -> None:
        claim_cache = self.caches.get(packet_id)
        if claim_cache and claim_cache["letter"] == "O":
            claim_cache["letter"] = "C"

    def holders(self, packet_id: str) -> dict[str, int]:
        claim_cache = self.caches.get(packet_id)
        return dict(claim_cache["users"]) if claim_cache else {}

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        claim_cache = self.caches.get(packet_id)
        return (
            frozenset(claim_cache["users"])
            if claim_cache and claim_cache["letter"] == "E"
            else None
        )

    @staticmethod
    def _doubt(claim_cache: Item) -> None:
        """Record that the ledger has a claim which this cache lacked."""
        if claim_cache.get("sign") != "told":
            claim_cache["sign"] = None

    def _offer_again(self, claim_cache: Item, share_no: int) -> None:
        if not claim_cache["terms"]:
            return  # Only users are noted. At the load, outcomes decide which shares are free.
        if claim_cache["letter"] == "E":
            claim_cache["reopens_at_ms"] = self.clock.now_ms() + EMPTIED_KEPT_MS
        claim_cache["returned"].append(share_no)
        self._note_emptied(claim_cache)

    @staticmethod
    def _a_claim_cache() -> Item:
        """Return the state that a note creates if nothing is loaded."""
        return {
            "letter": "",
            "terms": "",
            "is_gated": False,
            "users": {},
            "given_no": 0,
            "returned": [],
        }

    @staticmethod
    def _note_emptied(claim_cache: Item) -> None:
        has_left = claim_cache["given_no"] < claim_cache["count"] or claim_cache["returned"]
        if claim_cache["letter"] != "C":
            claim_cache["letter"] = "O" if has_left else "E"


class FakeAudiences:
    """AudienceCache like the scripts, but without lease expiry; *lists* are the loaded parts."""

    def __init__(self) -> None:
        self.lists: dict[tuple[str, int], set[str]] = {}
        self.turns: dict[tuple[str, int], str] = {}
        self._numbers = itertools.count(1)

    def begin_load(self, campaign_id: str, bucket: int, life_ms: int) -> str | None:
        if (campaign_id, bucket) in self.turns:
            return None
        turn = self.turns[campaign_id, bucket] = str(next(self._numbers))
        return turn

    def load(self, campaign_id: str, bucket: int, turn: str, user_ids: Sequence[str]) -> bool:
        if self.turns.get((campaign_id, bucket)) != turn:
            return False
        self.lists[campaign_id, bucket] = set(user_ids)
        del self.turns[campaign_id, bucket]
        return True

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        for user_ids, is_member in ((add, True), (remove, False)):
            for user_id in user_ids:
                key = campaign_id, audience_bucket(user_id)
                self.turns.pop(key, None)
                if key in self.lists:
                    change = self.lists[key].add if is_member else self.lists[key].discard
                    change(user_id)

    def forget(self) -> None:
        """Delete everything."""
        self.lists.clear()
        self.turns.clear()


class FakeQuotas:
    """Quotas that behave like the script."""

    def __init__(self, audiences: FakeAudiences | None = None) -> None:
        self.audiences = audiences or FakeAudiences()
        self.reserved: dict[tuple[str, str], set[str]] = {}
        self._known: dict[tuple[str, str], int] = {}

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        if quota.audience_mode:
            is_member = self.find_member(quota.campaign_id, user_id)
            if is_member is None:
                return QuotaStatus.AUDIENCE_NOT_LOADED
            if is_member is not (quota.audience_mode is AudienceMode.ALLOW):
                return QuotaStatus.NOT_IN_AUDIENCE
        key = quota.campaign_id, user_id
        if claimed_count is not None:
            self._known[key] = claimed_count
        if self._known.get(key, 0) >= quota.count_max:
            return QuotaStatus.EXHAUSTED
        reserved = self.reserved.setdefault(key, set())
        if packet_id not in reserved and len(reserved) >= quota.count_max:
            return QuotaStatus.FULL
        reserved.add(packet_id)
        return QuotaStatus.RESERVED

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        members = self.audiences.lists.get((campaign_id, audience_bucket(user_id)))
        return None if members is None else user_id in members

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        self.reserved.get((quota.campaign_id, user_id), set()).discard(packet_id)

    def forget(self) -> None:
        """Delete everything."""
        self.reserved.clear()
        self._known.clear()
