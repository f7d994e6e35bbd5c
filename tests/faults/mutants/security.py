"""Who may see, guess and credit what."""

from __future__ import annotations

from tests.faults.mutants.mutant import GATE, Mutant

PACKET = "shared/redpacket/domain/packet.py"
DEPOSIT = "shared/redpacket/flows/deposit.py"
PASSPHRASE = "shared/redpacket/domain/passphrase.py"
LIMIT = "lua/limit_take_within.lua"

MUTANTS = [
    Mutant("an exclusive packet is shown to all", PACKET, "if not invited:", "if True:"),
    Mutant(
        "operators credit themselves", DEPOSIT, "if user_id == request.user_id:", "if not user_id:"
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
