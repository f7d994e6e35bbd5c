"""Who may see, guess and credit what."""

from __future__ import annotations

from tests.faults.mutants.mutant import GATE, LEDGER, Mutant

PACKET = "shared/redpacket/domain/packet.py"
DEPOSIT = "shared/redpacket/flows/accounts/deposit.py"
PASSPHRASE = "shared/redpacket/domain/passphrase.py"
TEXT = "shared/redpacket/domain/text.py"
PROFILE = "shared/redpacket/flows/accounts/edit_profile.py"
LIMIT = "lua/limit_take_within.lua"

MUTANTS = [
    Mutant(
        "a user may have any number of packets open",
        LEDGER,
        "condition=HOLDS_ENOUGH if open_max is None else HAS_ROOM",
        "condition=HOLDS_ENOUGH",
    ),
    Mutant(
        "a full sender may spend what they don't have",
        LEDGER,
        'f" OR {HOLDS_ENOUGH} AND open_count < :open_max"',
        '" OR open_count < :open_max"',
    ),
    Mutant(
        "the end of a packet frees no place",
        LEDGER,
        '["open_count"] = -1',
        '["open_count"] = 0',
    ),
    Mutant(
        "the end of a campaign's packet frees a place of its operator",
        LEDGER,
        "        if packet.counts_as_open:\n            counts[",
        "        if packet:\n            counts[",
    ),
    Mutant("a text holds blanks", TEXT, "return not _BLANK.search(text) and all(", "return all("),
    Mutant(
        "a selector may follow anything",
        TEXT,
        "if character in _SELECTORS",
        "if character in _SELECTORS and not before",
    ),
    Mutant("a reserved name spelled out is taken", TEXT, "joined in words\n        or ", ""),
    Mutant(
        "a reserved phrase within a name is taken",
        TEXT,
        "any(phrase in joined for phrase in phrases)",
        "joined in phrases",
    ),
    Mutant(
        "a name that looks like a reserved one is taken",
        PROFILE,
        " or is_reserved(nickname, skeleton_of)",
        "",
    ),
    Mutant(
        "avatars lie anywhere",
        PROFILE,
        "    if not found:\n        return False",
        "    return True",
    ),
    Mutant(
        "a parser may read another host than a browser",
        PROFILE,
        "(?:/[!-\\[\\]-~]*)?",
        "[!-~]*",
    ),
    Mutant("an exclusive packet is shown to all", PACKET, "if not invited:", "if True:"),
    Mutant(
        "operators credit themselves",
        DEPOSIT,
        "if payee.user_id == request.user_id:",
        "if not payee:",
    ),
    Mutant("a deposit has no cap", DEPOSIT, "amount_fen > amount_fen_max and", "False and"),
    Mutant(
        "a repeat of a deposit is refused once the cap is lowered",
        DEPOSIT,
        " and not ledger.find_deposited(request)",
        "",
    ),
    Mutant(
        "a code that is only alike opens",
        PASSPHRASE,
        "any(letter.isdecimal() for letter in phrase) or ",
        "",
    ),
    Mutant(
        "a code in Chinese numerals that is only alike opens",
        PASSPHRASE,
        " or 2 * numerals >= len(phrase)",
        "",
    ),
    Mutant(
        "a short word that is only alike opens",
        PASSPHRASE,
        "return weight >= _TOLERANT_WEIGHT_MIN",
        "return True",
    ),
    Mutant(
        "guesses at a packet are not counted together",
        GATE,
        "is_spent=not has_said_it",
        "is_spent=False",
    ),
    Mutant("right words use up tries", GATE, "is_spent=not has_said_it", "is_spent=True"),
    Mutant(
        "a group's limit lets everybody through",
        LIMIT,
        ", group_due_ms - now - group_burst * group_interval_ms)",
        ")",
    ),
    Mutant(
        "a right guess is let through once no tries are left",
        LIMIT,
        "if wait_ms > 0 then",
        "if wait_ms > 0 and is_spent then",
    ),
]
