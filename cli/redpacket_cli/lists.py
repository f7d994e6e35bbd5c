"""Operators' lists, page by page: on the terminal, in a file, or as CSV on standard output."""

import csv
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from redpacket.platform.http.csv_pages import csv_text
from redpacket_cli import files
from redpacket_cli import show as shown
from redpacket_cli.amounts import money
from redpacket_cli.api import Api, again
from redpacket_cli.failures import no_target
from redpacket_cli.session import Session, an_id, session_of

winners = typer.Typer(help="Winners of goods and codes: export, decide.", no_args_is_help=True)
claims = typer.Typer(help="Claims of a packet: export, sharers, unthank.", no_args_is_help=True)
packets = typer.Typer(
    help="Packets of a campaign or a sender, or all open packets: list, export, end.",
    no_args_is_help=True,
)
audit_log = typer.Typer(help="Actions of operators: list, export.", no_args_is_help=True)
approvals = typer.Typer(
    help="Changes that wait for another operator: list, approve, reject.", no_args_is_help=True
)

PAGE_ITEMS = 100
"""Maximum number of items in a page of the API."""

To = Annotated[
    Path,
    typer.Option(
        "--to",
        help="A .csv or .xlsx file; - is CSV on standard output. A failed export leaves no file.",
    ),
]
Rows = Annotated[int, typer.Option("--rows", help="Maximum number of rows, newest first.", min=1)]
STDOUT = Path("-")


@winners.command("export")
def export_winners(
    context: typer.Context,
    campaign_id: Annotated[str, typer.Argument(help="The campaign's id.", callback=an_id)],
    prize: Annotated[str, typer.Option(help="Only winners of this prize.")] = "",
    status: Annotated[str, typer.Option(help="won, handed_over or forfeited.")] = "",
    to: To = STDOUT,
) -> None:
    """Export winners of goods and codes: unit, prize, host id, decision and delivery address."""
    query = {"prize_id": prize, "status": status}
    _export(session_of(context), f"/admin/campaigns/{campaign_id}/winners", query, to)


@winners.command("decide")
def decide_winner(
    context: typer.Context,
    campaign_id: Annotated[str, typer.Argument(help="The campaign's id.", callback=an_id)],
    unit: Annotated[
        str, typer.Argument(help="Unit in the exported list, PRIZE.NUMBER.", callback=an_id)
    ],
    status: Annotated[
        Literal["handed_over", "forfeited"],
        typer.Argument(
            help="`forfeited` lets users draw the unit again. The first decision is final."
        ),
    ],
    note: Annotated[str, typer.Option(help="Note for other operators.")] = "",
) -> None:
    """Record that goods were handed over, or let users draw them again."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/winners/{unit}"
    body = {"status": status, **({"note": note} if note else {})}
    session.screen.report(again(lambda: session.target.operator.put(path, body)))


@claims.command("export")
def export_claims(
    context: typer.Context,
    packet_id: Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)],
    to: To = STDOUT,
) -> None:
    """Export the claims of a packet, with their amounts."""
    _export(session_of(context), f"/admin/packets/{packet_id}/claims", {}, to)


@claims.command("sharers")
def export_sharers(
    context: typer.Context,
    packet_id: Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)],
    to: To = STDOUT,
) -> None:
    """Export the number of claims through each user's shared link."""
    _export(session_of(context), f"/admin/packets/{packet_id}/sharers", {}, to)


@claims.command("unthank")
def remove_thanks(
    context: typer.Context,
    packet_id: Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)],
    share_no: Annotated[int, typer.Argument(help="Share number in GET /packets/{packet_id}.")],
) -> None:
    """Remove the text of a claimer's thanks. Safe to repeat."""
    session, path = session_of(context), f"/admin/packets/{packet_id}/thanks/{share_no}"
    session.screen.report(again(lambda: session.target.operator.delete(path)))


@packets.command("list")
def list_packets(
    context: typer.Context,
    campaign: Annotated[str, typer.Option(help="Only packets of this campaign.")] = "",
    sender: Annotated[str, typer.Option(help="Only packets of the user with this host id.")] = "",
    status: Annotated[str, typer.Option(help="Only packets with this status.")] = "",
    packet: Annotated[
        str,
        typer.Option(help="Look up a packet's id by packet_ref; the audit log records the lookup."),
    ] = "",
    rows: Rows = 50,
) -> None:
    """Show the packets of a campaign or a sender, or all open packets."""
    session = session_of(context)
    query = {"campaign_id": campaign, "sender": sender, "status": status, "packet": packet}
    items = some(session.target.operator, "/admin/packets", query, rows)
    columns = ("packet", "sender", "is", "total", "shares", "created at")
    table = (
        (
            each["packet_id"] or each["packet_ref"],
            _sender(each),
            each["status"],
            money(each["total_fen"]),
            each["count"],
            shown.moment(each["created_at_ms"]),
        )
        for each in items
    )
    session.screen.report({"items": items}, shown.table(columns, table))


def _sender(packet: Mapping[str, Any]) -> str:
    """Return the sender's host id with the quoted nickname, or an erased sender's token."""
    host_id, name = packet["sender"], packet["sender_name"]
    if not host_id:
        return str(packet["sender_token"])
    return host_id if name in {None, host_id} else f'{host_id} "{name}"'


@packets.command("export")
def export_packets(
    context: typer.Context,
    campaign: Annotated[str, typer.Option(help="Only packets of this campaign.")] = "",
    sender: Annotated[str, typer.Option(help="Only packets of this user.")] = "",
    status: Annotated[str, typer.Option(help="Only packets with this status.")] = "",
    to: To = STDOUT,
) -> None:
    """Export the packets of a campaign or a sender, or all open packets."""
    query = {"campaign_id": campaign, "sender": sender, "status": status}
    _export(session_of(context), "/admin/packets", query, to)


@packets.command("end")
def end_packet(
    context: typer.Context,
    packet_id: Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)],
    reason: Annotated[str, typer.Option(help="For the audit log.")],
) -> None:
    """End a packet now: claimed shares stay, and the rest is refunded within a minute.

    A campaign's packet needs the scope hongbao/operate; any other packet needs hongbao/admin.
    """
    session, path = session_of(context), f"/admin/packets/{packet_id}/end"
    session.screen.report(again(lambda: session.target.operator.post(path, {"reason": reason})))


Subject = Annotated[
    str,
    typer.Option(
        help="campaign:ID, user:TOKEN, switch:NAME, limit:NAME, webhook:NAME, ledger or reads."
    ),
]


@audit_log.command("list")
def list_actions(context: typer.Context, subject: Subject = "", rows: Rows = 50) -> None:
    """Show operators' actions, newest first."""
    session = session_of(context)
    items = some(session.target.operator, "/admin/journal", {"subject": subject}, rows)
    columns = ("at", "what", "changes")
    table = (
        (
            shown.moment(each["at_ms"]),
            each["summary"],
            "; ".join(_change(change) for change in each["changes"]),
        )
        for each in items
    )
    session.screen.report({"items": items}, shown.table(columns, table))


@audit_log.command("export")
def export_journal(context: typer.Context, subject: Subject = "", to: To = STDOUT) -> None:
    """Export operators' actions, newest first."""
    _export(session_of(context), "/admin/journal", {"subject": subject}, to)


def _change(change: Mapping[str, Any]) -> str:
    before = "" if change["before"] is None else f"{change['before']} -> "
    return f"{change['field']}: {before}{change['after']}"


@approvals.command("list")
def list_approvals(
    context: typer.Context,
    status: Annotated[
        Literal["awaiting", "approved", "rejected", "expired", "all"],
        typer.Option(help="Only approvals with this status."),
    ] = "awaiting",
    rows: Rows = 50,
) -> None:
    """Show pending or decided approvals, newest first."""
    session = session_of(context)
    query = {"status": "" if status == "all" else status}
    items = some(session.target.operator, "/admin/approvals", query, rows)
    columns = ("approval", "what", "amount", "asked at", "status")
    table = (
        (
            each["approval_id"],
            # Show every change, because the operator approves all of them.
            "\n".join([each["summary"], *map(_change, each["changes"])]),
            money(each["amount_fen"]),
            shown.moment(each["asked_at_ms"]),
            each["status"],
        )
        for each in items
    )
    session.screen.report({"items": items}, shown.table(columns, table))


ApprovalId = Annotated[
    str, typer.Argument(help="Id from `redpacket approvals list`.", callback=an_id)
]


@approvals.command("approve")
def approve(context: typer.Context, approval_id: ApprovalId) -> None:
    """Approve another operator's request, which is then applied immediately and only once."""
    _decide(session_of(context), approval_id, "approve")


@approvals.command("reject")
def reject(context: typer.Context, approval_id: ApprovalId) -> None:
    """Reject another operator's request."""
    _decide(session_of(context), approval_id, "reject")


def _decide(session: Session, approval_id: str, word: str) -> None:
    path = f"/admin/approvals/{approval_id}/{word}"
    # Retries are safe, because the change's key or version prevents a second execution.
    session.screen.report(again(lambda: session.target.operator.post(path)))


def pages(api: Api, path: str, filters: Mapping[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Yield the pages of a list."""
    cursor: str | None = None
    while True:
        query = {**_given(filters), "limit": PAGE_ITEMS, "cursor": cursor}
        page = again(partial(api.get, path, query))
        yield page["items"]
        cursor = page["next"]
        if cursor is None:
            return


def some(api: Api, path: str, filters: Mapping[str, Any], rows: int) -> list[dict[str, Any]]:
    """Return at most *rows* items of a list."""
    items: list[dict[str, Any]] = []
    for page in pages(api, path, filters):
        items += page
        if len(items) >= rows:
            break
    return items[:rows]


def _given(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value}


def _export(session: Session, path: str, filters: Mapping[str, Any], to: Path) -> None:
    """Write a list page by page, or as JSON to standard output with --json."""
    api = session.target.operator
    if session.screen.is_json and to == STDOUT:
        items = [item for page in pages(api, path, filters) for item in page]
        session.screen.report({"items": items})
        return
    if to.suffix.lower() == files.XLSX:
        # Take the columns from a CSV page, and the values from JSON, because JSON has types.
        page = again(partial(api.get_csv, path, {**_given(filters), "limit": 1}))
        rows = (item for page in pages(api, path, filters) for item in page)
        write_items(session, next(csv.reader([page.head])), rows, to)
    else:
        _write_csv(session, _csv(session, api, path, filters), to)


def write_items(
    session: Session, columns: Sequence[str], items: Iterator[files.Item], to: Path
) -> None:
    """Write rows to an .xlsx file, or as CSV to another file or to standard output."""
    if to.suffix.lower() == files.XLSX:
        _save(session, partial(files.write_xlsx, columns=columns, items=items), to)
        return
    head = csv_text(columns, [])
    lines = (csv_text(columns, [item]).removeprefix(head) for item in items)
    _write_csv(session, chain([head], lines), to)


def _write_csv(session: Session, texts: Iterator[str], to: Path) -> None:
    if to != STDOUT:
        _save(session, partial(files.write_csv, texts=texts), to)
        return
    for text in texts:
        sys.stdout.write(text)


def _save(session: Session, write: Callable[[Path], int], to: Path) -> None:
    part = to.with_name(f"{to.name}.part")
    try:
        count = write(part)
        part.replace(to)
    except OSError as error:
        raise no_target(
            f"{to} can't be written: {error}. No file was left; name another one with --to"
        ) from None
    finally:
        part.unlink(missing_ok=True)
    session.screen.report({"file": str(to), "count": count})


def _csv(session: Session, api: Api, path: str, filters: Mapping[str, Any]) -> Iterator[str]:
    """Yield the header once, then the lines of each page. Report progress on standard error."""
    cursor, count, is_first = None, 0, True
    while True:
        query = {**_given(filters), "limit": PAGE_ITEMS, "cursor": cursor}
        page = again(partial(api.get_csv, path, query))
        yield (page.head if is_first else "") + page.lines
        is_first = False
        count += files.records(page.lines)
        cursor = page.cursor
        if cursor is None:
            return
        session.screen.note(f"{count} rows so far")
