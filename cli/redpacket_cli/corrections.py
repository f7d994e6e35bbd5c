"""Row corrections by operators with AWS credentials. The audit log records each correction."""

import json
import time
from secrets import token_hex
from typing import Annotated, Any, Literal, NamedTuple

import typer

from redpacket_cli.failures import Exit, Failure
from redpacket_cli.inspect_stack import Account, ledger
from redpacket_cli.packets import PacketId
from redpacket_cli.rows import rows_of
from redpacket_cli.session import session_of
from redpacket_cli.target import Target

Change = tuple[str, str | None, str]
"""Name of a field, and its text before and after the change."""


Reason = Annotated[str, typer.Option(help="For the audit log.")]


def add_to() -> None:
    """Add the commands to the group `ledger`."""
    for function in (correct, correct_count, correct_share):
        ledger.command()(function)


def correct(
    context: typer.Context,
    account: Account,
    wrong_fen: Annotated[
        int, typer.Option("--wrong", help="Wrong balance from the finding, in fen.")
    ],
    reason: Reason,
) -> None:
    """Set an account's balance to the sum of its entries, and record this in the audit log."""
    session = session_of(context)
    rows = list(rows_of(session.target, "AccountsTable", account))
    right_fen = sum(
        row["amount_fen"] for row in rows if row["sk"] != "balance" and "amount_fen" in row
    )
    found = _Value("AccountsTable", account, "balance", "balance_fen", wrong_fen)
    _replace(session.target, found, right_fen, ("balance_corrected", account, []), reason)
    session.screen.report({"account": account, "before_fen": wrong_fen, "after_fen": right_fen})


def correct_count(
    context: typer.Context,
    account: Account,
    field: Annotated[
        Literal["open_count", "unpaid_count"], typer.Argument(help="The counter's name.")
    ],
    wrong: Annotated[int, typer.Option(help="Current value.")],
    right: Annotated[int, typer.Option(help="New value.", min=0)],
    reason: Reason,
) -> None:
    """Set a counter of an account, and record this in the audit log."""
    session, found = session_of(context), _Value("AccountsTable", account, "balance", field, wrong)
    command: Change = ("command", None, "ledger correct-count")
    _replace(session.target, found, right, ("command_run", account, [command]), reason)
    session.screen.report({"account": account, "before": wrong, "after": right})


def correct_share(
    context: typer.Context,
    packet_id: PacketId,
    share_no: Annotated[int, typer.Argument(help="Number of the share.", min=1)],
    wrong_fen: Annotated[int, typer.Option("--wrong", help="Amount in the row, in fen.")],
    right_fen: Annotated[
        int, typer.Option("--right", help="Amount that follows from the terms, in fen.", min=1)
    ],
    reason: Reason,
) -> None:
    """Set the amount of an unsettled share, and record this in the audit log."""
    from redpacket.packets.model.packet import partition_count

    session = session_of(context)
    pk = f"shares#{packet_id}#{(share_no - 1) % partition_count(packet_id)}"
    sk = f"share#{share_no:07d}"
    found = _Value("SharesTable", pk, sk, "amount_fen", wrong_fen, _IS_UNSETTLED)
    command: Change = ("command", None, f"ledger correct-share {share_no}")
    noted = "command_run", f"packet:{packet_id}", [command]
    _replace(session.target, found, right_fen, noted, reason)
    session.screen.report({"share": share_no, "before_fen": wrong_fen, "after_fen": right_fen})


_IS_UNSETTLED = " AND attribute_not_exists(settled_at_ms)"


class _Value(NamedTuple):
    """Numeric field of a row, with the wrong value from a finding."""

    table: str
    pk: str
    sk: str
    field: str
    wrong: int
    more: str = ""
    """Additional update condition."""


def _replace(
    target: Target,
    found: _Value,
    right: int,
    noted: tuple[str, str, list[Change]],
    reason: str,
) -> None:
    """Replace a number and write an audit row together. Raises Failure if the row has changed."""
    kind, subject, changes = noted
    changes = [*changes, (found.field, str(found.wrong), str(right)), ("reason", None, reason)]
    corrected = {
        "TableName": target.outputs[found.table],
        "Key": {"pk": {"S": found.pk}, "sk": {"S": found.sk}},
        "UpdateExpression": f"SET {found.field} = :right",
        "ConditionExpression": f"{found.field} = :wrong{found.more}",
        "ExpressionAttributeValues": {
            ":right": {"N": str(right)},
            ":wrong": {"N": str(found.wrong)},
        },
    }
    client = target.aws("dynamodb")
    try:
        client.transact_write_items(
            TransactItems=[
                {"Update": corrected},
                {"Put": audit_row(target, kind, subject, changes)},
            ]
        )
    except client.exceptions.TransactionCanceledException:
        detail = f"the row's value is not {found.wrong}: run redpacket reconcile again"
        raise Failure(Exit.REFUSED, detail) from None


def note_decision(target: Target, kind: str, subject: str, changes: list[Change]) -> None:
    """Write an operator's decision to the audit log before it is carried out."""
    row = audit_row(target, kind, subject, changes)
    target.aws("dynamodb").transact_write_items(TransactItems=[{"Put": row}])


def note_command(target: Target, *words: str) -> None:
    """Write an irreversible command to the audit log before it runs."""
    note_decision(target, "command_run", "ledger", [("command", None, " ".join(words))])


def audit_row(target: Target, kind: str, subject: str, changes: list[Change]) -> dict[str, Any]:
    """Return the Put of the AWS caller's audit row. A test compares the row with the package's."""
    at_ms = int(time.time() * 1000)
    position = f"{at_ms:013d}#{token_hex(8)}"
    told = [dict(zip(("field", "before", "after"), change, strict=True)) for change in changes]
    row = {
        "pk": "journal",
        "sk": position,
        "list_pk": subject,
        "list_sk": position,
        "operator_id": target.aws("sts").get_caller_identity()["Arn"],
        "kind": kind,
        "subject": subject,
        "changes": json.dumps(told, ensure_ascii=False, separators=(",", ":")),
    }
    return {
        "TableName": target.outputs["JournalTable"],
        "Item": {name: {"S": text} for name, text in row.items()} | {"at_ms": {"N": str(at_ms)}},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
