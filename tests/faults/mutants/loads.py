"""Ids, loads and refusals (docs/adr/0015, 0016)."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    Mutant(
        "an owner is refused while a number waits: by a grab",
        "grab_packet:grab_packet",
        "answer.is_certain and asked.is_certain",
        "asked.is_certain",
    ),
    Mutant(
        "an owner is refused while a number waits: by an open",
        "open_packet:open_packet",
        "answer.is_certain and asked.is_certain",
        "asked.is_certain",
    ),
    Mutant(
        "an owner is refused while a number waits: by an admission",
        "grab_packet:_admit",
        "status is not GrabStatus.PACKET_EMPTIED or ports.claim_cache.knows_takers(\n"
        "        packet_id, user_id\n"
        "    )",
        "True",
    ),
    Mutant(
        "an owner is refused while a number waits: by the script of a grab",
        "RedisClaims._doubted",
        "is_certain=self.knows_takers(packet_id, user_id)",
        "is_certain=True",
    ),
    # Ids, loads and refusals (docs/adr/0015, 0016)
    Mutant(
        "any tag will do",
        "PacketIds.has_signed",
        "return hmac.compare_digest(tag, _tag(key, head + packet_id[TAGGED_LENGTH:]))",
        "return True",
    ),
    Mutant(
        "the tag does not cover the number of parts",
        "PacketIds.has_signed",
        "_tag(key, head + packet_id[TAGGED_LENGTH:])",
        "_tag(key, head)",
    ),
    Mutant(
        "earlier keys are refused",
        "PacketIds.has_signed",
        "key = self._keys.get(head[-1])",
        "key = self._keys[self._version] if head[-1] == self._version else None",
    ),
    Mutant(
        "a key that was not resolved signs",
        "settings:_resolved",
        'if "{{resolve" in text:',
        "if False:",
    ),
    Mutant(
        "a made-up user token is taken",
        "UserIds.has_made",
        "return hmac.compare_digest(user_id, self._tagged(user_id[:_HASH_LENGTH]))",
        "return True",
    ),
    Mutant(
        "user ids are the same in each deployment",
        "UserIds._text",
        "hmac.digest(self._key, ",
        'hmac.digest(b"", ',
    ),
    Mutant(
        "a tag is a hash that another user could have",
        "UserIds._text",
        'f"{use}:{text}".encode()',
        "text.encode()",
    ),
    Mutant(
        "the ledger calls users as the host does",
        "person_of",
        "Person(user_ids().id_of(host_id), nickname, host_id, claims or {})",
        "Person(host_id, nickname, host_id, claims or {})",
    ),
    Mutant(
        "nothing leads back to a taker",
        "note_people",
        "in_parallel(note, ",
        "in_parallel(id, ",
    ),
    Mutant(
        "nothing leads back to a winner",
        "DynamoDraws.record_draw",
        "items.note_person(self._profiles, drawer) if drawer else []",
        "[]",
    ),
    Mutant(
        "nothing leads back to a sender",
        "DynamoFunding.fund",
        "beside = items.note_person(self._profiles, packet.sender)",
        "beside = []",
    ),
    Mutant(
        "nothing leads back to a payee",
        "DynamoDeposits.deposit",
        "people = items.note_person(self._profiles, payee) if payee else []",
        "people = []",
    ),
    Mutant(
        "a chosen name takes the way back with it",
        "DynamoProfiles.put",
        '"REMOVE": [name for name in chosen if name not in kept]',
        '"REMOVE": ["host_id", *(name for name in chosen if name not in kept)]',
    ),
    Mutant(
        "a message with a made-up id is settled",
        "queue:_ref_of",
        " and packet_ids().has_signed(packet_id)",
        "",
    ),
    Mutant(
        "a preheat goes on after a made-up id",
        "preheat_cursor_of",
        '    packet_ids().check(text.partition(".")[0])\n',
        "",
    ),
    Mutant(
        "everybody loads at once what the cache lost",
        "load_among_many",
        """    if not claim_cache.begin_load(packet_id, part, _LOAD_LIFE_MS):
        return False
    try:""",
        "    try:",
    ),
    Mutant(
        "what was loaded meanwhile is loaded again",
        "load_among_many",
        "if not claim_cache.is_loaded(packet_id, part):",
        "if True:",
    ),
    Mutant(
        "a turn to load is kept until it is over",
        "load_among_many",
        "    claim_cache.hold_load(packet_id, part, 0)\n    return True\n",
        "    return True\n",
    ),
    Mutant(
        "a load that failed is tried by the whole crowd, one after the other",
        "load_among_many",
        "    except Rejected:\n",
        "    except (Rejected, Unavailable):\n",
    ),
    Mutant(
        "a packet that is not there keeps others waiting",
        "load_among_many",
        "    except Rejected:\n        claim_cache.hold_load(packet_id, part, 0)\n",
        "    except Rejected:\n",
    ),
    Mutant(
        "a large load gets a small one's time",
        "load_packet:_load",
        "        claim_cache.hold_load(packet_id, part, _LARGE_LOAD_LIFE_MS)\n",
        "        pass\n",
    ),
    Mutant(
        "a user may load as often as they like",
        "load_among_many",
        "            before_read()\n",
        "",
    ),
    Mutant(
        "a user may make the ledger look for their share as often as they like",
        "claim_share:_owned",
        "    ports.costs.count(taker.user_id)\n",
        "",
    ),
    Mutant(
        "a user may make the ledger count their claims as often as they like",
        "CampaignQuota.reserve",
        "            self._ports.costs.count(self._user_id)\n",
        "",
    ),
    Mutant(
        "a cache that is away is waited for by each read",
        "UserLimit.count",
        "            self._away_at_ms = now_ms\n",
        "",
    ),
    Mutant(
        "record pages are not counted",
        "record_page",
        "    guards.guard_read(request)\n    record =",
        "    record =",
    ),
    Mutant(
        "a cache of another life is believed",
        "packet_certain.lua",
        "mark == '@' .. life()",
        "mark and string.sub(mark, 1, 1) == '@'",
    ),
    Mutant(
        "one process is one life, however often it is promoted",
        "life.lua",
        "redis.sha1hex(run_id .. replid)",
        "redis.sha1hex(run_id)",
    ),
    Mutant(
        "any load is taken for a send's",
        "packet_load.lua",
        "if proof == 'sent' and not old and",
        "if not old and",
    ),
    Mutant(
        "a send's load vouches for a hash that was there before",
        "packet_load.lua",
        "proof == 'sent' and not old and",
        "proof == 'sent' and",
    ),
    Mutant(
        "what was told in two lives is believed",
        "packet_load.lua",
        "(told_life == '-' or told_life == now_life)",
        "(told_life or now_life)",
    ),
    Mutant(
        "what was lost while it was told is believed",
        "packet_load.lua",
        "field_count > tonumber(user_count)",
        "tonumber(user_count)",
    ),
    Mutant(
        "a packet is told although shares have no fate",
        "RedisClaims.load",
        'proof = _TOLD if len(shares) == count else ""',
        "proof = _TOLD",
    ),
    Mutant(
        "a hash that missed a claim vouches for all takers",
        "packet_amend.lua",
        "    packet.head = string.gsub(packet.head, '@.*$', '')\n",
        "",
    ),
    Mutant(
        "any cache is believed to know all takers",
        "_own_or_refuse",
        "    if ports.claim_cache.knows_takers(packet_id, taker.user_id):\n",
        "    if True:\n",
    ),
    Mutant(
        "any part vouches for a user",
        "PartedClaims.knows_takers",
        "            cache_id = part_id(packet_id, part_of_user(packet_id, user_id))\n"
        "        return self._claim_cache.knows_takers",
        "            cache_id = part_id(packet_id, 0)\n"
        "        return self._claim_cache.knows_takers",
    ),
    Mutant(
        "everybody loads at once what was behind",
        "reload_among_many",
        "        if claim_cache.begin_load(packet_id, part, _LOAD_LIFE_MS):\n",
        "        if True:\n",
    ),
    Mutant(
        "a collision relies on a loader that may have died",
        "reload_among_many",
        "    for wait_ms in (*WAITS_MS, 0):",
        "    for wait_ms in (0,):",
    ),
]
