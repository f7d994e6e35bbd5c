"""Who may be erased, and what comes after it."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a user with a balance is erased",
        "erase_user:_check_empty",
        "if standing.balance_fen:",
        "if False:",
    ),
    Mutant(
        "a sender of an open packet is erased",
        "erase_user:_check_empty",
        "if standing.open_count:",
        "if False:",
    ),
    Mutant(
        "a taker is erased before the claim is settled",
        "erase_user:_check_empty",
        "if holdings.count_claims(user_id) > standing.received_count:",
        "if False:",
    ),
    Mutant(
        "who funded a campaign's packet is erased",
        "erase_user:_check_empty",
        "if any(packet.status not in _OVER for packet in sent):",
        "if False:",
    ),
    Mutant(
        "a payer is erased while the payment is pending",
        "erase_user:_check_empty",
        "payment.status is PaymentStatus.PENDING for payment in outside.payments",
        "False for payment in outside.payments",
    ),
    Mutant(
        "a payer is erased while money goes back to them",
        "erase_user:_check_empty",
        "outside.returning_count or any(",
        "any(",
    ),
    Mutant(
        "a user is erased while a withdrawal is under way",
        "erase_user:_check_empty",
        "if any(withdrawal.ended_at_ms is None for withdrawal in outside.withdrawals):",
        "if False:",
    ),
    Mutant(
        "an index that is late hides money",
        "_check_complete",
        "if found_count < count:",
        "if False:",
    ),
    Mutant(
        "an erasure is noted after it",
        "erase_user:erase_user",
        "note()\n",
        "\n",
    ),
    Mutant(
        "a message of before brings an erased user back",
        "IS_SAID_SINCE",
        '"attribute_not_exists(erased_at_ms) OR erased_at_ms < :said_at_ms"',
        '"attribute_exists(pk) OR attribute_not_exists(pk) OR erased_at_ms < :said_at_ms"',
    ),
    Mutant(
        "an erasure forgets an account that was bound meanwhile",
        "DynamoErasure.erase_payees",
        'raise Unavailable("the user\'s account at a gateway changes at this moment")',
        "pass",
    ),
    Mutant(
        "a payment that is pending loses its payer",
        "IS_PENDING_NO_MORE",
        " AND payment_status <> :pending",
        "",
    ),
    Mutant(
        "a withdrawal that is under way loses its payee",
        "HAS_ENDED",
        "attribute_exists(ended_at_ms)",
        "attribute_exists(pk)",
    ),
    Mutant(
        "a consent that is in use loses its name",
        "IS_USED_NO_MORE",
        " AND authorization_status <> :awaited AND authorization_status <> :active",
        "",
    ),
]
