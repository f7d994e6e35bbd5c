"""Keys of PaymentsTable: money that comes in and goes out through a gateway."""

from __future__ import annotations

from redpacket.adapters.dynamo.keys import USER_PREFIX, work_shard


def payment(number: str) -> dict[str, str]:
    """PaymentsTable: a payment; its returns and refunds are in the same partition."""
    return {"pk": f"{PAYMENT_PREFIX}{number}", "sk": PAYMENT}


def payment_return(number: str, transaction_id: str) -> dict[str, str]:
    """PaymentsTable: a transaction of a payment that is given back."""
    return {**payment(number), "sk": f"{RETURN_PREFIX}{transaction_id}"}


def payment_refund(number: str, refund_no: str) -> dict[str, str]:
    """PaymentsTable: a refund of a payment that was made outside."""
    return {**payment(number), "sk": f"{REFUND_PREFIX}{refund_no}"}


PAYMENT_PREFIX = "payment#"
PAYMENT = "payment"
RETURN_PREFIX = "return#"
REFUND_PREFIX = "refund#"


def withdrawal(withdrawal_id: str) -> dict[str, str]:
    """PaymentsTable: a withdrawal."""
    return {"pk": f"{WITHDRAWAL_PREFIX}{withdrawal_id}", "sk": WITHDRAWAL}


WITHDRAWAL_PREFIX = "withdrawal#"
WITHDRAWAL = "withdrawal"


def withdrawn(user_id: str, day: str) -> dict[str, str]:
    """PaymentsTable: how much a user has withdrawn on one day."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{WITHDRAWN_PREFIX}{day}"}


WITHDRAWN_PREFIX = "withdrawn#"


def payments_begun(user_id: str, day: str) -> dict[str, str]:
    """PaymentsTable: how many payments a user has begun on one day; it goes away by itself."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{BEGUN_PREFIX}{day}"}


BEGUN_PREFIX = "begun#"


def outside_line(channel: str, kind: str, day: str, number: str, outside_no: str) -> dict[str, str]:
    """PaymentsTable: a line that the bill of a day must have, by our number and the gateway's."""
    shard = work_shard(number)
    return {"pk": outside_lines(channel, kind, day, shard), "sk": f"{number}#{outside_no}"}


def outside_lines(channel: str, kind: str, day: str, shard: int) -> str:
    """PaymentsTable: one partition of the lines that the bill of a day must have."""
    return f"{OUTSIDE_PREFIX}{channel}#{kind}#{day}#{shard}"


OUTSIDE_PREFIX = "outside#"


def gateway_row(channel: str, name: str) -> dict[str, str]:
    """PaymentsTable: what is kept of a gateway: its slots, what was promised, its breaker."""
    return {"pk": f"gateway#{channel}", "sk": name}


def notice(channel: str, notice_id: str) -> dict[str, str]:
    """PaymentsTable: that a callback was taken; it goes away by its time to live."""
    return {"pk": f"notice#{channel}#{notice_id}", "sk": "notice"}


def payee(channel: str, user_id: str) -> dict[str, str]:
    """PaymentsTable: a user's account at a gateway, and their consent."""
    return {"pk": f"payee#{channel}#{user_id}", "sk": "payee"}


def outside_account(channel: str, name_hash: str) -> dict[str, str]:
    """PaymentsTable: whose an account at a gateway is."""
    return {"pk": f"account#{channel}#{name_hash}", "sk": "account"}


def authorization(number: str) -> dict[str, str]:
    """PaymentsTable: a user's consent to transfers without a tap."""
    return {"pk": f"{AUTHORIZATION_PREFIX}{number}", "sk": "authorization"}


AUTHORIZATION_PREFIX = "authorization#"


def payment_list(user_id: str) -> str:
    """PaymentsTable, index by_list: a user's payments."""
    return f"payments#{user_id}"


def authorization_list(user_id: str) -> str:
    """PaymentsTable, index by_list: each consent that a user was asked for."""
    return f"authorizations#{user_id}"


def withdrawal_list(user_id: str) -> str:
    """PaymentsTable, index by_list: a user's withdrawals."""
    return f"withdrawals#{user_id}"


LISTED_RETURNS = "returns"
"""PaymentsTable, index by_list: transactions that wait for a person."""

DEBTS = "debts"
"""PaymentsTable, index by_list: refunds made outside that left their user in debt."""
