"""Changes of rows by operators with AWS credentials; each leaves its row in the audit log."""

import json
import time
from secrets import token_hex
from typing import Annotated, Any

import typer

from redpacket_cli.failures import Exit, Failure
from redpacket_cli.inspect_stack import ledger
from redpacket_cli.rows import rows_of
from redpacket_cli.session import session_of
from redpacket_cli.target import Target

Change = tuple[str, str | None, str]
"""Field with its text before and after."""


def add_to() -> None:
    """Add the command to the group `ledger`."""
    ledger.command()(correct)


def correct(
    context: typer.Context,
    account: Annotated[str, typer.Argument(help="Account of a finding, like user:ID.")],
    wrong_fen: Annotated[
        int, typer.Option("--wrong", help="Its balance in fen, from the finding.")
    ],
    reason: Annotated[str, typer.Option(help="For the audit log.")],
) -> None:
    """Set an account's balance to the sum of its entries, and write that into the audit log."""
    session = session_of(context)
    target = session.target
    rows = list(rows_of(target, "AccountsTable", account))
    right_fen = sum(
        row["amount_fen"] for row in rows if row["sk"] != "balance" and "amount_fen" in row
    )
    changes: list[Change] = [
        ("balance_fen", str(wrong_fen), str(right_fen)),
        ("reason", None, reason),
    ]
    corrected = {
        "TableName": target.outputs["AccountsTable"],
        "Key": {"pk": {"S": account}, "sk": {"S": "balance"}},
        "UpdateExpression": "SET balance_fen = :right",
        "ConditionExpression": "balance_fen = :wrong",
        "ExpressionAttributeValues": {
            ":right": {"N": str(right_fen)},
            ":wrong": {"N": str(wrong_fen)},
        },
    }
    client = target.aws("dynamodb")
    try:
        client.transact_write_items(
            TransactItems=[
                {"Update": corrected},
                {"Put": audit_row(target, "balance_corrected", account, changes)},
            ]
        )
    except client.exceptions.TransactionCanceledException:
        raise Failure(
            Exit.REFUSED, f"the balance is not {wrong_fen} any more: run redpacket reconcile again"
        ) from None
    session.screen.report({"account": account, "before_fen": wrong_fen, "after_fen": right_fen})


def note_decision(target: Target, kind: str, subject: str, changes: list[Change]) -> None:
    """Write an operator's decision into the audit log before a function carries it out."""
    row = audit_row(target, kind, subject, changes)
    target.aws("dynamodb").transact_write_items(TransactItems=[{"Put": row}])


def note_command(target: Target, *words: str) -> None:
    """Write a command that cannot be taken back into the audit log before it runs."""
    note_decision(target, "command_run", "ledger", [("command", None, " ".join(words))])


def audit_row(target: Target, kind: str, subject: str, changes: list[Change]) -> dict[str, Any]:
    """Return the put of an action by the caller of AWS; a test compares it with the package's."""
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
