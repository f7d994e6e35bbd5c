"""Writes that post transfers: the entries, and one balance change per account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import entry_row
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import (
    Transfer,
    TransferKind,
    entries,
    is_outside,
    may_go_below_zero,
    year_of,
)
from redpacket.platform.dynamodb.client import Dynamo, Guarded, Operation, Row, put, update
from redpacket.platform.errors import Forbidden, InvalidRequest, InvariantViolated, RedPacketError

HOLDS_ENOUGH = "balance_fen >= :needed"
IS_FREE = "attribute_not_exists(is_for_campaigns)"
IS_FOR_CAMPAIGNS = "attribute_exists(is_for_campaigns)"
MAY_BE_FOR_CAMPAIGNS = f"attribute_not_exists(pk) OR {IS_FOR_CAMPAIGNS}"
OWES_AS_MUCH = "balance_fen <= :at_most"


def post(
    accounts_table: str,
    transfers: Sequence[Transfer],
    counts: Mapping[str, Mapping[str, int]] | None = None,
    for_campaigns: str | None = None,
) -> list[Guarded[RedPacketError]]:
    """Return the writes that post *transfers*; *counts* are increments, keyed by account and name.

    The account *for_campaigns* is marked to pay only for campaigns. It must be unused or already
    marked, because the mark would lock the user's own money.
    """
    moved: dict[str, list[Transfer]] = defaultdict(list)
    outside = {each.transfer_id: each.at_ms for each in transfers if is_outside(each)}
    posted: list[Guarded[RedPacketError]] = [
        Guarded(put(accounts_table, {**keys.posted(name), "at_ms": at_ms}), exists)
        for name, at_ms in outside.items()
    ]
    for transfer in transfers:
        for entry in entries(transfer):
            moved[entry.account].append(transfer)
            posted.append(Guarded(put(accounts_table, entry_row(entry)), exists))
    changes: list[Guarded[RedPacketError]] = [
        Guarded(
            change_balance(
                accounts_table,
                account,
                movement,
                (counts or {}).get(account),
                is_for_campaigns=account == for_campaigns,
            ),
            _is_used if account == for_campaigns else _refusal(account, movement),
        )
        for account, movement in moved.items()
    ]
    return posted + changes


def _refusal(account: str, transfers: Sequence[Transfer]) -> Callable[[Row], RedPacketError]:
    if transfers[0].kind is not TransferKind.CAMPAIGN_MONEY:
        return is_not_covered
    return _is_not_left if account == transfers[0].debit else _is_not_for_campaigns


def post_operations(
    accounts_table: str,
    transfers: Sequence[Transfer],
    counts: Mapping[str, Mapping[str, int]] | None = None,
) -> list[Operation]:
    """Return the operations of the writes that `post` returns."""
    return [write.operation for write in post(accounts_table, transfers, counts)]


def find_posted_at_ms(dynamo: Dynamo, accounts_table: str, transfer_id: str) -> int | None:
    """Return the time when a transfer from or to a provider was posted, or None."""
    row = dynamo.get(accounts_table, keys.posted(transfer_id))
    return int(row["at_ms"]) if row else None


def change_balance(
    accounts_table: str,
    account: str,
    transfers: Sequence[Transfer],
    counts: Mapping[str, int] | None = None,
    at_most_fen: int | None = None,
    *,
    is_for_campaigns: bool = False,
) -> Operation:
    """Return the update of an account's balance; *at_most_fen* limits the old balance."""
    fen = sum(
        transfer.amount_fen if transfer.credit == account else -transfer.amount_fen
        for transfer in transfers
    )
    sums = {**kept_sums(transfers), **(counts or {})}
    condition: str | None = None
    bound: dict[str, int] = {}
    mark = "SET is_for_campaigns = :is_for_campaigns " if is_for_campaigns else ""
    if is_for_campaigns:
        condition, bound = MAY_BE_FOR_CAMPAIGNS, {"is_for_campaigns": True}
    if fen < 0 and not may_go_below_zero(account):
        condition, bound = HOLDS_ENOUGH, {"needed": -fen}
        if any(transfer.kind is TransferKind.WITHDRAWAL for transfer in transfers):
            condition = f"{HOLDS_ENOUGH} AND {IS_FREE}"
    elif at_most_fen is not None:
        condition, bound = OWES_AS_MUCH, {"at_most": at_most_fen}
    if any(transfer.kind is TransferKind.CAMPAIGN_MONEY for transfer in transfers):
        condition = f"{condition} AND {IS_FOR_CAMPAIGNS}" if condition else IS_FOR_CAMPAIGNS
    expression = mark + ", ".join(["ADD balance_fen :fen", *(f"{name} :{name}" for name in sums)])
    return update(
        accounts_table,
        keys.account(account),
        expression,
        condition=condition,
        fen=fen,
        **sums,
        **bound,
    )


def kept_sums(transfers: Sequence[Transfer]) -> dict[str, int]:
    """Return the increments for the yearly sums of the user who sends or receives *transfers*."""
    sums: dict[str, int] = defaultdict(int)
    for transfer in transfers:
        year = year_of(transfer.placed_at_ms or transfer.at_ms)
        if transfer.kind is TransferKind.SETTLE:
            sums[f"received_fen_{year}"] += transfer.amount_fen
            sums[f"received_count_{year}"] += 1
        elif transfer.kind is TransferKind.SEND:
            sums[f"sent_fen_{year}"] += transfer.amount_fen
            sums[f"sent_count_{year}"] += 1
    return dict(sums)


def exists(_row: Row) -> RedPacketError:
    """Return the error for an id that already exists, which indicates a bug."""
    return InvariantViolated("a packet or transfer with this id already exists")


def _is_used(_row: Row) -> RedPacketError:
    message = "is only allowed for a new account or one that already pays only for campaigns"
    return InvalidRequest.of("is_for_campaigns", message)


def _is_not_for_campaigns(_row: Row) -> RedPacketError:
    return InvalidRequest.of("user", "must be an account that pays only for campaigns")


def _is_not_left(_row: Row) -> RedPacketError:
    return InsufficientFunds("The account does not hold this much campaign money.")


def is_not_covered(row: Row) -> RedPacketError:
    """Return the error for an uncovered debit, or a debit that a campaign account refuses."""
    return is_only_for_campaigns(row) if row.get("is_for_campaigns") else InsufficientFunds()


def is_only_for_campaigns(_row: Row) -> RedPacketError:
    """Return the error for a transfer that an account with campaign money refuses."""
    return Forbidden("This account is reserved for campaign money. Use another account.")


def use_account(accounts_table: str, account: str) -> Guarded[RedPacketError]:
    """Return a write that fails for a campaign account; on others, it prevents a later mark."""
    operation = update(
        accounts_table, keys.account(account), "ADD balance_fen :none", condition=IS_FREE, none=0
    )
    return Guarded(operation, is_only_for_campaigns)
