"""Parts of a hot packet."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    # Parts of a hot packet
    Mutant(
        "in parts: what is taken elsewhere is not noted where the user begins",
        "PartedClaims._told",
        "            self._claim_cache.note(part_id(packet_id, home), {user_id: -share_no})\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: a part that came back alone is taken for a whole one",
        "PartedClaims.load",
        "is_whole = part is None or",
        "is_whole = True or",
    ),
    Mutant(
        "in parts: a part that lost its notes refuses owners",
        "_refuse",
        "if not answer.is_certain and is_cut(packet_id):",
        "if False:",
    ),
    Mutant(
        "in parts: what is uncertain before the gate is certain behind it",
        "grab_packet:grab_packet",
        "answer.is_certain and asked.is_certain",
        "answer.is_certain",
    ),
    Mutant(
        "in parts: the cache forgets that a part lost its notes",
        "RedisClaims.load_part",
        '("" if is_whole else _FORGETFUL)',
        '""',
    ),
    Mutant(
        "in parts: the users of others are not noted where they begin",
        "PartedClaims.load",
        "            self._claim_cache.note(part_id(packet_id, home), numbers)\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: a part's number is told for the packet's",
        "parted_claims:_share_no",
        "return share_no_of(packet_id, part, number) if number > 0",
        "return number if number > 0",
    ),
    Mutant(
        "in parts: each part hands out the numbers of all",
        "RedisClaims.load_part",
        "count = part_size(packet, part)",
        "count = packet.terms.count",
    ),
    Mutant(
        "in parts: a note hides the rules that a claim counts against",
        "PartedClaims._told",
        "        if not outcome.terms:\n",
        "        if False:\n",
    ),
    Mutant(
        "in parts: other parts are not asked",
        "PartedClaims._first_left",
        "for part in other_parts(packet_id, user_id):",
        "for part in other_parts(packet_id, user_id)[:0]:",
    ),
    Mutant(
        "in parts: what is emptied is remembered for ever",
        "PartedClaims.__init__",
        "kept_ms=EMPTIED_KEPT_MS",
        "kept_ms=None",
    ),
    Mutant(
        "in parts: a number that is somebody else's stays noted",
        "PartedClaims.revoke",
        "for part in dict.fromkeys((of_share, home)):",
        "for part in (of_share,):",
    ),
    Mutant(
        "in parts: a number that is free again stays noted",
        "PartedClaims.release",
        "            self._claim_cache.revoke(part_id(packet_id, home), user_id, -share_no)\n",
        "            pass\n",
    ),
    Mutant(
        "in parts: only the first one is closed",
        "PartedClaims.close",
        "for cache_id in _cache_ids(packet_id):",
        "for cache_id in _cache_ids(packet_id)[:1]:",
    ),
    Mutant(
        "in parts: a collision brings back the wrong one",
        "claim_share:_corrected",
        "PartToLoad(part_of_share(share.packet_id, share.share_no), is_behind=True)",
        "PartToLoad(0, is_behind=True)",
    ),
    Mutant(
        "in parts: a note shortens its part's life",
        "packet_load.lua",
        "until_ms, 'NX')",
        "until_ms)",
    ),
]
