"""The public beacon: which round decides, who believes it, what an operator may choose."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a round may be known when seeds are chosen",
        "CampaignBeacon.round_of",
        "max(day_starts_at_ms, self.committed_at_ms)",
        "day_starts_at_ms",
    ),
    Mutant(
        "a day takes a round of the day before",
        "CampaignBeacon.round_of",
        "max(day_starts_at_ms, self.committed_at_ms)",
        "self.committed_at_ms",
    ),
    Mutant("a round comes at once", "CampaignBeacon.round_of", "+ MARGIN_MS", "+ 0"),
    Mutant(
        "a round may be before its time",
        "BeaconChain.first_round",
        "-(-since_ms //",
        "(since_ms //",
    ),
    Mutant(
        "a clock that is behind commits to known rounds",
        "NewRounds.committed_at_ms",
        "max(self._clock.now_ms(), self.chain.time_ms(newest_no))",
        "self._clock.now_ms()",
    ),
    Mutant(
        "a draw waits for no round",
        "draw_prize:_round_of",
        "return ports.rounds.recall(campaign.beacon.chain, round_no)",
        "return None",
    ),
    Mutant(
        "a point has nothing of the round",
        "draw_prize:_ask",
        "round_.randomness if round_ else NO_BEACON",
        "NO_BEACON",
    ),
    Mutant(
        "a crowd asks for a round before its time",
        "CachedRounds._read",
        "self._clock.now_ms() < chain.time_ms(key[1]) or ",
        "",
    ),
    Mutant(
        "a crowd asks for a late round each time",
        "CachedRounds._read",
        " or self._missed.find(key)",
        "",
    ),
    Mutant(
        "a forged round is kept",
        "DrandBeacon.fetch",
        "if self._key.has_signed(round_no, signature):",
        "if signature:",
    ),
    Mutant(
        "the key at infinity signs everything",
        "PublicKey.__init__",
        "len(key) != PUBLIC_KEY_BYTES or key[0] & _INFINITY_BIT",
        "len(key) != PUBLIC_KEY_BYTES",
    ),
    Mutant(
        "an edit turns the beacon on or off",
        "edit_campaign:_check_beacon",
        "if draw_beacon not in {None, before.draw_beacon}:",
        "if False:",
    ),
    Mutant(
        "an edit of the zone chooses another round",
        "edit_campaign:edit_campaign",
        "before.beacon or (table and table.prizes)",
        "table and table.prizes",
    ),
    Mutant(
        "an edit forgets the beacon",
        "edit_campaign:edit_campaign",
        "plan = replace(plan, beacon=before.beacon)",
        "pass",
    ),
    Mutant(
        "a campaign without a beacon says that it has one",
        "edit_campaign:_new_beacon",
        "if draw_beacon is DrawBeacon.DAY and new_beacon is None:",
        "if False:",
    ),
    Mutant(
        "a rain hands out a share before its round",
        "grab_packet:grab_packet",
        "ports.complete_terms(terms)",
        "pass",
    ),
    Mutant(
        "an open takes a share before its round",
        "open_packet:open_packet",
        "ports.complete_terms(terms)",
        "pass",
    ),
    Mutant(
        "amounts are of the seed alone",
        "Terms.split_seed",
        "if not self.beacon:",
        "if True:",
    ),
    Mutant(
        "amounts have nothing of the round",
        "Terms.split_seed",
        ",{randomness_of(self.signature)}",
        "",
    ),
    Mutant(
        "a packet's commitment leaves the round open",
        "Terms._text",
        "*([self.beacon] if self.beacon else [])",
        "*[]",
    ),
    Mutant(
        "a packet's round may come before its start",
        "PacketBeacon.round_no",
        "max(self.starts_at_ms, self.committed_at_ms)",
        "self.committed_at_ms",
    ),
    Mutant(
        "a packet's round may be known when it is sent",
        "PacketBeacon.round_no",
        "max(self.starts_at_ms, self.committed_at_ms)",
        "self.starts_at_ms",
    ),
    Mutant(
        "a send asks for no round",
        "send_packet:_with_round",
        "new_rounds.want(beacon.round_no)",
        "pass",
    ),
    Mutant(
        "a round that is not there is taken from the list",
        "fetch_rounds:fetch_rounds",
        "if round_no in awaited & there:",
        "if round_no in awaited:",
    ),
    Mutant(
        "a round is given up while claims may know it",
        "expire_packets:_awaits_round",
        "is_unknown and now_ms < packet.expires_at_ms + ROUND_AWAITED_MS",
        "False",
    ),
    Mutant(
        "a round that came late changes what has gone back",
        "DynamoPackets.begin_close",
        '{"round": packet.terms.signature} if packet.terms.beacon else {}',
        "{}",
    ),
    Mutant(
        "a rain opens before its start",
        "CachedRounds.complete",
        "if self._clock.now_ms() < beacon.starts_at_ms:",
        "if False:",
    ),
    Mutant(
        "the commitment leaves the round open",
        "lottery:chain_commitment",
        ",{beacon}",
        "",
    ),
    Mutant(
        "a round is written over",
        "DynamoRounds.keep",
        'put(self._table, {**row, "signature": found.signature.hex()})',
        'put(self._table, {**row, "signature": found.signature.hex()},'
        ' condition="sk <> :none", none="")',
    ),
]
