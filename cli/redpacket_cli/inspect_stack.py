"""Commands for incidents: rows, logs, metrics, work lists, scheduled functions."""

import json
import time
from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from redpacket_cli import cache, lists, restore
from redpacket_cli import show as shown
from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.packets import PacketId
from redpacket_cli.rows import cell, query, rows_of, tell_rows
from redpacket_cli.session import an_id, session_of
from redpacket_cli.target import Target

ledger = typer.Typer(
    help="Rows of the ledger: packet, account, restore, and corrections.", no_args_is_help=True
)
payments = typer.Typer(help="Payments: show, returns, resolve, debts.", no_args_is_help=True)
withdrawals = typer.Typer(help="Withdrawals: list, show.", no_args_is_help=True)
work = typer.Typer(help="Work lists of the schedules: list.", no_args_is_help=True)

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S
_LISTED_MAX = 1_000

_PAYMENT_SHARDS = 8
"""Number of partitions of each payment work list. A test compares it with the package's number."""

_LISTS = {
    **dict.fromkeys(("due", "load", "unpaid", "edited"), "PacketsTable"),
    "settle": "SharesTable",
    **dict.fromkeys(("transfer", "look", "payment", "return", "consent"), "PaymentsTable"),
}

_RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "sweep": ("ExpireFunction", {}),
    "dispatch": ("TransferFunction", {"task": "dispatch"}),
    "follow": ("TransferFunction", {"task": "sweep"}),
    "statements": ("TransferFunction", {"task": "compare_bills"}),
    "log": ("LogFunction", {}),
}
"""Function and event of each task that `redpacket run` knows."""


def add_to(app: typer.Typer) -> None:
    """Add the commands and groups of this module."""
    for function in (resource, logs, count, run, cache.cache):
        app.command()(function)
    ledger.command()(restore.restore)
    app.add_typer(ledger, name="ledger")
    app.add_typer(payments, name="payments")
    app.add_typer(withdrawals, name="withdrawals")
    app.add_typer(work, name="work")


def resource(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Output or logical id, like PayoutDlqUrl.")],
) -> None:
    """Print an output of the stack, or the physical name of a resource."""
    session = session_of(context)
    target = session.target
    value = target.outputs[name] if name in target.outputs else target.resource(name)
    session.screen.report({"name": name, "value": value}, Text(value))


Function = Annotated[
    str, typer.Argument(help="Function name, like payout; `api` for API Gateway's access log.")
]


def logs(
    context: typer.Context,
    function: Function,
    words: Annotated[str, typer.Argument(help="Text that the lines must contain.")] = "",
    hours: Annotated[float, typer.Option(help="Hours to search.", min=0)] = 1,
    last: Annotated[int, typer.Option(help="Number of lines.", min=1)] = 20,
) -> None:
    """Print a function's newest log lines with the given text. --json prints complete traces."""
    session = session_of(context)
    if session.target.local is not None and function == "api":
        raise no_target("no such log: the gateway of a local stack writes none")
    group = _log_group(session.target, function)
    logged = session.target.logged(group, words, int(hours * _HOUR_S))
    lines = [line for line in logged if "_aws" not in line][-last:]  # metrics; see `count`
    session.screen.report({"items": lines}, Text("\n".join(map(shown.log_line, lines)) or "none"))


def _log_group(target: Target, function: str) -> str:
    """Return the logical id of a function's log group. Raises Failure."""
    pages = target.aws("cloudformation").get_paginator("list_stack_resources")
    groups = {
        each["LogicalResourceId"].removesuffix("Logs").lower(): each["LogicalResourceId"]
        for page in pages.paginate(StackName=target.stack_name)
        for each in page["StackResourceSummaries"]
        if each["LogicalResourceId"].endswith("Logs")
    }
    if function not in groups:
        raise no_target(f"{function} has no log; choose one of: {', '.join(sorted(groups))}")
    return str(groups[function])


def count(
    context: typer.Context,
    function: Function,
    event: Annotated[str, typer.Argument(help="Event, like claim_refused.")],
) -> None:
    """Print a function's hourly counts of an event in the last 24 hours."""
    session = session_of(context)
    now_s = time.time()
    statistics = session.target.aws("cloudwatch").get_metric_statistics(
        Namespace=session.target.stack_name,
        MetricName=event,
        Dimensions=[{"Name": "service", "Value": function}],
        StartTime=now_s - _DAY_S,
        EndTime=now_s,
        Period=_HOUR_S,
        Statistics=["Sum"],
    )
    items = [
        {"hour": f"{point['Timestamp']:%Y-%m-%d %H:%M}", "count": int(point["Sum"])}
        for point in sorted(statistics["Datapoints"], key=lambda point: point["Timestamp"])
    ]
    rows = ((item["hour"], str(item["count"])) for item in items)
    table = shown.table(("hour (UTC)", "count"), rows) if items else Text("none")
    session.screen.report({"items": items}, table)


def run(
    context: typer.Context,
    name: Annotated[
        Literal["sweep", "dispatch", "follow", "statements", "log"],
        typer.Argument(
            help="sweep: packets; dispatch, follow, statements: payments and withdrawals; "
            "log: waiting commitments."
        ),
    ],
    day: Annotated[str, typer.Option(help="Day of `statements`, like 2026-01-31.")] = "",
    is_skipped: Annotated[
        bool, typer.Option("--skip", help="Mark that day as compared without a statement.")
    ] = False,
    returned: Annotated[
        str, typer.Option("--return", help="Withdrawal to return if no statement lists it as paid.")
    ] = "",
) -> None:
    """Run a scheduled task now and print its report. The run may overlap with a scheduled run."""
    from redpacket_cli import corrections

    session = session_of(context)
    function, event = _RUNS[name]
    if returned:
        if name != "statements" or day or is_skipped:
            raise typer.BadParameter("--return is for `statements`, without another option")
        event = {"task": "return_forgotten", "withdrawal_id": returned}
        subject = f"withdrawal:{returned}"
        corrections.note_decision(session.target, "withdrawal_returned", subject, [])
    elif day or is_skipped:
        if name != "statements" or not day:
            raise typer.BadParameter("--day and --skip are for `statements`; --skip needs --day")
        event = {**event, "day": _a_day(day), **({"skip": True} if is_skipped else {})}
        if is_skipped:
            corrections.note_command(session.target, "run statements --skip --day", event["day"])
    answer = session.target.aws("lambda").invoke(
        FunctionName=session.target.outputs[function],
        Qualifier="live",
        Payload=json.dumps(event).encode(),
    )
    report = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        log = function.removesuffix("Function").lower()
        detail = f"{function} failed: {report.get('errorMessage')}. See redpacket logs {log}"
        raise Failure(Exit.UNAVAILABLE, detail)
    session.screen.report(report)


def _a_day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a day like 2026-01-31") from None


# ---- rows


@ledger.command("packet")
def show_packet(context: typer.Context, packet_id: PacketId) -> None:
    """Show the rows of a packet and of its shares, without their secrets."""
    from redpacket.packets.model.packet import partition_count

    session = session_of(context)
    target = session.target
    rows = [
        *rows_of(target, "PacketsTable", f"packet#{packet_id}"),
        *(
            row
            for partition in range(partition_count(packet_id))
            for row in rows_of(target, "SharesTable", f"shares#{packet_id}#{partition}")
        ),
    ]
    if not rows:
        raise _unknown(packet_id)
    columns = (
        "pk",
        "sk",
        "status",
        "fate",
        "user_id",
        "amount_fen",
        "expires_at_ms",
        "settled_at_ms",
    )
    tell_rows(context, rows, (*columns, "work_pk", "work_at_ms"))


Account = Annotated[
    str,
    typer.Argument(
        help="Account in a finding, or user:USER_TOKEN; `redpacket claims export` lists tokens."
    ),
]


@ledger.command("account")
def show_account(context: typer.Context, account: Account) -> None:
    """Show an account's balance and the sum of its entries, which must be equal."""
    session = session_of(context)
    balance_fen, total_fen, entry_count = None, 0, 0
    rows = list(rows_of(session.target, "AccountsTable", account))
    if not rows:
        raise _unknown(account)
    for row in rows:
        if row["sk"] == "balance":
            balance_fen = row["balance_fen"]
        elif "amount_fen" in row:
            total_fen, entry_count = total_fen + row["amount_fen"], entry_count + 1
    sums = {"balance_fen": balance_fen, "entries_fen": total_fen, "entry_count": entry_count}
    session.screen.report(sums)
    if (balance_fen or 0) != total_fen:
        raise typer.Exit(Exit.FOUND)


def _unknown(name: str) -> Failure:
    detail = f"{name} is not in the tables: take the id from a finding, a list or `claims export`"
    return Failure(Exit.REFUSED, detail)


_PAYMENT_COLUMNS = (
    *("sk", "payment_status", "return_status", "amount_fen", "user_id"),
    *("transaction_id", "outside_no", "attempt_no", "stop_reason", "gateway_reason"),
    *("return_reason", "work_pk", "work_at_ms"),
)


@payments.command("show")
def show_payment(
    context: typer.Context, payment_id: Annotated[str, typer.Argument(callback=an_id)]
) -> None:
    """Show the rows of a payment and its returns."""
    rows = list(rows_of(session_of(context).target, "PaymentsTable", f"payment#{payment_id}"))
    if not rows:
        raise _unknown(payment_id)
    tell_rows(context, rows, _PAYMENT_COLUMNS)


@payments.command("returns")
def list_returns(context: typer.Context) -> None:
    """Show money that a provider took and that an operator must return or credit."""
    _tell_list(context, "/admin/payments/returns")


@payments.command("debts")
def list_debts(context: typer.Context) -> None:
    """Show users who owe money because a provider refunded a payment that they had spent."""
    _tell_list(context, "/admin/payments/debts")


def _tell_list(context: typer.Context, path: str, fields: Sequence[str] = (), **query: str) -> None:
    session = session_of(context)
    items = lists.some(session.target.operator, path, query, _LISTED_MAX)
    columns = fields or list(dict.fromkeys(name for item in items for name in item))
    cells = ([cell(name, item.get(name)) for name in columns] for item in items)
    session.screen.report({"items": items}, shown.table(columns, cells) if items else Text("none"))


@payments.command("resolve")
def resolve_return(
    context: typer.Context,
    payment_id: Annotated[str, typer.Argument(callback=an_id)],
    transaction_id: Annotated[
        str, typer.Argument(help="The provider's transaction number.", callback=an_id)
    ],
    by: Annotated[
        Literal["deposit", "outside"],
        typer.Option(help="How the payer got the money back."),
    ],
    reason: Annotated[str, typer.Option(help="For the audit log.")],
    reference: Annotated[
        str, typer.Option(help="Number of the bank transfer; a deposit needs none.")
    ] = "",
) -> None:
    """Remove a return from the list after the payer got a deposit or a bank transfer."""
    session = session_of(context)
    body = {"payment_id": payment_id, "transaction_id": transaction_id}
    body |= {"by": by, "reason": reason, **({"reference": reference} if reference else {})}
    session.screen.report(session.target.operator.post("/admin/payments/returns", body))


@withdrawals.command("list")
def list_withdrawals(
    context: typer.Context,
    status: Annotated[
        str, typer.Option(help="Only this status; a final status needs --user.")
    ] = "",
    user: Annotated[str, typer.Option(help="User id at the host.")] = "",
) -> None:
    """Show unfinished withdrawals, or all withdrawals of a user. --json prints all fields."""
    shown_fields = ("withdrawal_id", "status", "amount_fen", "waits_for")
    _tell_list(context, "/admin/withdrawals", shown_fields, status=status, user=user)


@withdrawals.command("show")
def show_withdrawal(
    context: typer.Context, withdrawal_id: Annotated[str, typer.Argument(callback=an_id)]
) -> None:
    """Show a withdrawal's pending step, its lease and the provider's last answers."""
    session = session_of(context)
    withdrawal = session.target.operator.get(f"/admin/withdrawals/{withdrawal_id}")
    facts = [(name, cell(name, value)) for name, value in withdrawal.items() if name != "calls"]
    answers = [(shown.moment(each["at_ms"]), each["answer"]) for each in withdrawal["calls"]]
    session.screen.report(withdrawal, shown.table(("what", "is"), [*facts, *answers]))


@work.command("list")
def list_work(
    context: typer.Context,
    kind: Annotated[
        Literal[
            "due",
            "load",
            "unpaid",
            "edited",
            "settle",
            "transfer",
            "look",
            "payment",
            "return",
            "consent",
        ],
        typer.Argument(help="The first five belong to packets, the others to payment providers."),
    ],
) -> None:
    """Show the entries that are due in a work list of the scheduled functions."""
    from redpacket.ledger.provider_name import ProviderName

    session = session_of(context)
    table = _LISTS[kind]
    lists: list[str] = [kind]
    shards = int(session.target.outputs["WorkShards"])
    if table == "PaymentsTable":
        lists, shards = [f"{kind}-{provider}" for provider in ProviderName], _PAYMENT_SHARDS
    now_ms = int(time.time() * 1000)
    rows = [
        row
        for name in lists
        for shard in range(shards)
        for row in query(
            session.target,
            TableName=session.target.outputs[table],
            IndexName="by_work",
            KeyConditionExpression="work_pk = :list AND work_at_ms <= :now",
            ExpressionAttributeValues={
                ":list": {"S": f"{name}#{shard}"},
                ":now": {"N": str(now_ms)},
            },
        )
    ]
    rows.sort(key=lambda row: int(row["work_at_ms"]))
    tell_rows(context, rows, ("pk", "sk", "work_pk", "work_at_ms"))
