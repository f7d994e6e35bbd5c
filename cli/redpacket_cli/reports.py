"""Reports about many packets, as tables and as CSV."""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from redpacket.platform.http.csv_pages import csv_text
from redpacket_cli import lists
from redpacket_cli import show as shown
from redpacket_cli.api import Api
from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.session import Session, session_of

report = typer.Typer(
    help="Reports: `tax` from the API; all others from Athena, as of the last reconciliation.",
    no_args_is_help=True,
)

REPORTS = {
    "winners": "Every win of a campaign: prize, unit, user and draw.",
    "spend": "Money sent, claimed and refunded on each day, by campaign.",
    "dormant": "Balances without an entry for 180 days, the largest first.",
    "refunds": "Refunded fraction of closed packets' money, by day and campaign.",
    "waiting": "Work that waits to be settled, closed, paid or refunded, with its age.",
}
"""Descriptions of the reports, which are Athena views that each finished run recreates."""

_ENDED_BADLY = frozenset({"FAILED", "CANCELLED"})

_COLUMNS = (
    *("campaign_id", "year", "user", "user_token", "claim_count"),
    *("total_fen", "total_yuan", "withholding"),
)


@dataclass(frozen=True, slots=True)
class _Year:
    """Calendar year in a time zone, in milliseconds since the epoch. The end is exclusive."""

    starts_at_ms: int
    ends_at_ms: int

    @classmethod
    def of(cls, year: int, timezone: str) -> "_Year":
        try:
            zone = ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError):
            raise no_target(
                f"--timezone {timezone} is not a time zone, like Asia/Shanghai"
            ) from None
        first, last = (int(datetime(y, 1, 1, tzinfo=zone).timestamp()) for y in (year, year + 1))
        return cls(first * 1000, last * 1000)


def _add(name: str, help_: str) -> None:
    @report.command(name, help=f"{help_} Ids only, no names.")
    def show_report(
        context: typer.Context,
        csv: Annotated[bool, typer.Option("--csv", help="CSV on standard output.")] = False,
    ) -> None:
        session = session_of(context)
        columns, *rows = _asked(session, name)
        items = [dict(zip(columns, row, strict=True)) for row in rows]
        if csv:
            typer.echo(csv_text(columns, items), nl=False)
        else:
            session.screen.report({"items": items}, shown.table(columns, rows))


for _name, _help in REPORTS.items():
    _add(_name, _help)


def _asked(session: Session, name: str) -> list[list[str]]:
    """Return a report's column names, followed by its rows. Raises Failure."""
    athena, outputs = session.target.aws("athena"), session.target.outputs
    database = outputs["ReportsDatabase"]
    query_id = athena.start_query_execution(
        QueryString=f"SELECT * FROM {database}.{name}",  # noqa: S608 - a name of REPORTS
        WorkGroup=outputs["ReportsWorkGroup"],
        QueryExecutionContext={"Database": database},
    )["QueryExecutionId"]
    while True:
        status = athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]
        if status["State"] in _ENDED_BADLY:
            why = status.get("StateChangeReason", "stopped")
            detail = f"{name} can't be read: {why}. Create it with `redpacket reconcile`"
            raise Failure(Exit.UNAVAILABLE, detail)
        if status["State"] == "SUCCEEDED":
            break
        time.sleep(1)
    rows: list[list[str]] = []
    query = {"QueryExecutionId": query_id}
    while True:
        page = athena.get_query_results(**query)
        lines = page["ResultSet"]["Rows"]
        rows += [[cell.get("VarCharValue", "") for cell in line["Data"]] for line in lines]
        if "NextToken" not in page:
            return rows
        query["NextToken"] = page["NextToken"]


@report.command("tax")
def report_tax(
    context: typer.Context,
    year: Annotated[int, typer.Option(help="The calendar year.", min=2000, max=9998)],
    campaign: Annotated[str, typer.Option(help="Only this campaign, instead of all.")] = "",
    timezone: Annotated[
        str, typer.Option(help="Time zone in which the year begins and ends.")
    ] = "Asia/Shanghai",
    to: lists.To = lists.STDOUT,
) -> None:
    """Write totals of each user's claims in a year, by campaign, with an empty withholding column.

    Totals include campaign packets and cash prizes. Goods and codes have no amount.
    """
    session = session_of(context)
    unit = session.target.unit
    if unit.name != "CNY":
        raise Failure(Exit.REFUSED, f"{unit.name} is not money: only CNY has a tax report")
    api, span = session.target.operator, _Year.of(year, timezone)
    campaign_ids = [campaign] if campaign else _ids(api, "/admin/campaigns", "campaign_id")

    def items() -> Iterator[dict[str, object]]:
        for campaign_id in campaign_ids:
            session.screen.note(f"campaign {campaign_id}")
            for user, token, count, fen in _totals(api, campaign_id, span):
                values = (campaign_id, year, user, token, count, fen, unit.digits(fen), "")
                yield dict(zip(_COLUMNS, values, strict=True))

    if session.screen.is_json and to == lists.STDOUT:
        texts = [{name: str(value) for name, value in item.items()} for item in items()]
        session.screen.report({"items": texts})
        return
    lists.write_items(session, _COLUMNS, items(), to)


def _ids(api: Api, path: str, name: str) -> Iterator[str]:
    return (item[name] for page in lists.pages(api, path, {}) for item in page)


def _totals(api: Api, campaign_id: str, span: _Year) -> Iterator[tuple[str, str, int, int]]:
    """Yield a campaign's users by token, each with the number and the sum of their claims."""
    users: dict[str, str] = {}
    claims: dict[str, list[int]] = defaultdict(list)
    for page in lists.pages(api, "/admin/packets", {"campaign_id": campaign_id}):
        for packet in page:
            path = f"/admin/packets/{packet['packet_ref']}/claims"
            for claim in chain.from_iterable(lists.pages(api, path, {})):
                if span.starts_at_ms <= claim["claimed_at_ms"] < span.ends_at_ms:
                    users[claim["user_token"]] = claim["user"] or ""
                    claims[claim["user_token"]].append(claim["amount_fen"])
    for token in sorted(claims):
        yield users[token], token, len(claims[token]), sum(claims[token])
