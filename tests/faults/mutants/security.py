"""Who may see, guess and credit what."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    # Seeds at rest
    Mutant(
        "a packet's row tells its seed",
        "Terms.stored",
        "return self._text(_SEALED, self.sealed) if self.sealed else str(self)",
        "return str(self)",
    ),
    Mutant(
        "all packets of one salt have one seed",
        "SeedKeys.open_terms",
        'f"packet {packet_id}"',
        '"packet"',
    ),
    Mutant(
        "sealed terms compute amounts",
        "Terms._check_seed",
        "if not self.seed:",
        "if False:",
    ),
    Mutant(
        "a closed packet needs its key for ever",
        "items:_terms_of",
        'if "opened_seed" in row:',
        "if False:",
    ),
    Mutant(
        "a campaign's row tells the seeds of its days",
        "DynamoCampaigns._new_root",
        '{"sealed": self._seeds.seal(salt).hex()} if self._seeds else {"seed": salt.hex()}',
        '{"seed": salt.hex()}',
    ),
    Mutant(
        "a user may have any number of packets open",
        "DynamoFunding._open",
        "condition=HOLDS_ENOUGH if open_max is None else HAS_ROOM",
        "condition=HOLDS_ENOUGH",
    ),
    Mutant(
        "a full sender may spend what they don't have",
        "HAS_ROOM",
        'f" OR {HOLDS_ENOUGH} AND open_count < :open_max"',
        '" OR open_count < :open_max"',
    ),
    Mutant(
        "the end of a packet frees no place",
        "DynamoLedger.close",
        '["open_count"] = -1',
        '["open_count"] = 0',
    ),
    Mutant(
        "the end of a campaign's packet frees a place of its operator",
        "DynamoLedger.close",
        "        if packet.counts_as_open:\n            counts[",
        "        if packet:\n            counts[",
    ),
    Mutant(
        "a text holds blanks",
        "is_visible",
        "return not _BLANK.search(text) and all(",
        "return all(",
    ),
    Mutant(
        "a selector may follow anything",
        "is_visible",
        "if character in _SELECTORS",
        "if character in _SELECTORS and not before",
    ),
    Mutant(
        "a reserved name spelled out is taken", "is_reserved", "joined in words\n        or ", ""
    ),
    Mutant(
        "a reserved phrase within a name is taken",
        "is_reserved",
        "any(phrase in joined for phrase in phrases)",
        "joined in phrases",
    ),
    Mutant(
        "a name that looks like a reserved one is taken",
        "edit_profile:edit_profile",
        " or is_reserved(nickname, skeleton_of)",
        "",
    ),
    Mutant(
        "avatars lie anywhere",
        "is_on_hosts",
        "    if not found:\n        return False",
        "    return True",
    ),
    Mutant(
        "a parser may read another host than a browser",
        "_HOST",
        "(?:/[!-\\[\\]-~]*)?",
        "[!-~]*",
    ),
    Mutant(
        "covers lie anywhere",
        "send_order",
        "not is_on_hosts(body.cover_url, settings.cover_hosts)",
        "False",
    ),
    Mutant(
        "amounts that are hidden until the end are shown",
        "Packet.hides_amounts",
        "self.amounts_shown is AmountsShown.END and",
        "False and",
    ),
    Mutant(
        "amounts appear while shares may be returned",
        "Packet.hides_amounts",
        "{PacketStatus.EMPTIED, PacketStatus.CLOSED}",
        "{PacketStatus.EMPTIED, PacketStatus.CLOSED, PacketStatus.CLOSING}",
    ),
    Mutant(
        "amounts stay hidden for ever",
        "Packet.hides_amounts",
        "{PacketStatus.EMPTIED, PacketStatus.CLOSED}",
        "{PacketStatus.EMPTIED}",
    ),
    Mutant(
        "a taker sees the amounts of the others",
        "Record.shows_amount",
        "share.share_no == self.mine.share_no",
        "True",
    ),
    Mutant(
        "a campaign's packet shows amounts at once",
        "send_packet:_packet_of",
        "campaign.amounts_shown if campaign else AmountsShown.LIVE",
        "AmountsShown.LIVE",
    ),
    Mutant(
        "the sum of hidden amounts is in the record",
        "record_view",
        "None if record.hides_amounts else record.claimed_fen",
        "record.claimed_fen",
    ),
    Mutant(
        "the sum of hidden amounts is in the feed",
        "feed_view",
        "None if record.hides_amounts else record.claimed_fen",
        "record.claimed_fen",
    ),
    Mutant(
        "an exclusive packet is shown to all",
        "Packet.may_be_read_by",
        "if not invited:",
        "if True:",
    ),
    Mutant(
        "operators credit themselves",
        "deposit:deposit",
        "if payee.user_id == request.user_id:",
        "if not payee:",
    ),
    Mutant("a deposit has no cap", "deposit:deposit", "amount_fen > amount_fen_max", "False"),
    Mutant(
        "a repeat of a deposit is refused once the cap is lowered",
        "deposit:deposit",
        "if transfer_id := deposits.find_deposited(request):",
        "if transfer_id := None:",
    ),
    Mutant(
        "a code that is only alike opens",
        "_bears_tolerance",
        "any(letter.isdecimal() for letter in phrase) or ",
        "",
    ),
    Mutant(
        "a code in Chinese numerals that is only alike opens",
        "_bears_tolerance",
        " or 2 * numerals >= len(phrase)",
        "",
    ),
    Mutant(
        "a short word that is only alike opens",
        "_bears_tolerance",
        "return weight >= _TOLERANT_WEIGHT_MIN",
        "return True",
    ),
    Mutant(
        "guesses at a packet are not counted together",
        "grab_packet:_check_passphrase",
        "is_spent=not has_said_it",
        "is_spent=False",
    ),
    Mutant(
        "right words use up tries",
        "grab_packet:_check_passphrase",
        "is_spent=not has_said_it",
        "is_spent=True",
    ),
    Mutant(
        "a group's limit lets everybody through",
        "limit_take_within.lua",
        ", group_due_ms - now - group_burst * group_interval_ms)",
        ")",
    ),
    Mutant(
        "a right guess is let through once no tries are left",
        "limit_take_within.lua",
        "if wait_ms > 0 then",
        "if wait_ms > 0 and is_spent then",
    ),
]
