"""Keys of PaymentsTable: money that enters and leaves through a provider."""

from __future__ import annotations

from redpacket.ledger.dynamodb.keys import work_shard
from redpacket.packets.dynamodb.keys import USER_PREFIX


def payment(number: str) -> dict[str, str]:
    """Return the key of a payment; its returns and refunds share the partition."""
    return {"pk": f"{PAYMENT_PREFIX}{number}", "sk": PAYMENT}


def payment_return(number: str, transaction_id: str) -> dict[str, str]:
    """Return the key of a transaction's return; a payment may have several transactions."""
    return {**payment(number), "sk": f"{RETURN_PREFIX}{transaction_id}"}


def payment_refund(number: str, refund_no: str) -> dict[str, str]:
    """Return the key of a payment's outside refund."""
    return {**payment(number), "sk": f"{REFUND_PREFIX}{refund_no}"}


def resolution(reference: str) -> dict[str, str]:
    """Return the key that marks a deposit or outside transfer as used to resolve a return."""
    return {"pk": f"resolution#{reference}", "sk": "resolution"}


PAYMENT_PREFIX = "payment#"
PAYMENT = "payment"
RETURN_PREFIX = "return#"
REFUND_PREFIX = "refund#"


def withdrawal(withdrawal_id: str) -> dict[str, str]:
    """Return the key of a withdrawal."""
    return {"pk": f"{WITHDRAWAL_PREFIX}{withdrawal_id}", "sk": WITHDRAWAL}


WITHDRAWAL_PREFIX = "withdrawal#"
WITHDRAWAL = "withdrawal"


def withdrawn(user_id: str, day: str) -> dict[str, str]:
    """Return the key of the sum of a user's withdrawals on one day."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{WITHDRAWN_PREFIX}{day}"}


WITHDRAWN_PREFIX = "withdrawn#"


def payments_begun(user_id: str, day: str) -> dict[str, str]:
    """Return the key of a user's payment count for one day; the row has a TTL."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{BEGUN_PREFIX}{day}"}


BEGUN_PREFIX = "begun#"


def outside_line(channel: str, kind: str, day: str, number: str, outside_no: str) -> dict[str, str]:
    """Return the key of an expected statement line, with our number and the provider's number."""
    shard = work_shard(number)
    return {"pk": outside_lines(channel, kind, day, shard), "sk": f"{number}#{outside_no}"}


def outside_lines(channel: str, kind: str, day: str, shard: int) -> str:
    """Return the partition for one shard of the lines that a day's statement must contain."""
    return f"{OUTSIDE_PREFIX}{channel}#{kind}#{day}#{shard}"


OUTSIDE_PREFIX = "outside#"


def provider_row(channel: str, name: str) -> dict[str, str]:
    """Return the key of a provider's shared state, such as its circuit breaker."""
    return {"pk": f"gateway#{channel}", "sk": name}


def notice(channel: str, notice_id: str) -> dict[str, str]:
    """Return the key that marks a callback as queued; the row has a TTL."""
    return {"pk": f"notice#{channel}#{notice_id}", "sk": "notice"}


def payee(channel: str, user_id: str) -> dict[str, str]:
    """Return the key of the row with a user's payout account and the number of the consent."""
    return {"pk": f"payee#{channel}#{user_id}", "sk": "payee"}


def outside_account(channel: str, name_hash: str) -> dict[str, str]:
    """Return the key of the row that names the owner of a payout account."""
    return {"pk": f"account#{channel}#{name_hash}", "sk": "account"}


def authorization(number: str) -> dict[str, str]:
    """Return the key of a user's consent to transfers without confirmation."""
    return {"pk": f"{AUTHORIZATION_PREFIX}{number}", "sk": "authorization"}


AUTHORIZATION_PREFIX = "authorization#"


def payment_list(user_id: str) -> str:
    """Return the partition of a user's payments in index by_list."""
    return f"payments#{user_id}"


def authorization_list(user_id: str) -> str:
    """Return the partition of a user's consents in index by_list."""
    return f"authorizations#{user_id}"


def withdrawal_list(user_id: str) -> str:
    """Return the partition of a user's withdrawals in index by_list."""
    return f"withdrawals#{user_id}"


LISTED_RETURNS = "returns"

DEBTS = "debts"
