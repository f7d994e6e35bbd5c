"""Commands for operations: switches, risk decisions, reconciliation, dead letters."""

import hmac
import json
import time
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from redpacket_cli import show as shown
from redpacket_cli.failures import Exit
from redpacket_cli.session import an_id, session_of
from redpacket_cli.words import translate

switch = typer.Typer(help="Switches that turn features off and on.", no_args_is_help=True)
limits = typer.Typer(
    help="Limits that operators change while the system runs.", no_args_is_help=True
)
staging = typer.Typer(help="Testers of a staging stack.", no_args_is_help=True)
dlq = typer.Typer(help="Dead letters: list, redrive, purge.", no_args_is_help=True)

QUEUES = {
    "payout": ("PayoutDlqUrl", "PayoutQueueUrl"),
    "notices": ("NoticeDlqUrl", "NoticeQueueUrl"),
    "deliveries": ("DeliveryDlqUrl", "DeliveryQueueUrl"),
    "cards": ("CardDlqUrl", "CardQueueUrl"),
}
"""Stack outputs of each queue: the dead-letter queue's URL, then the queue's URL."""

QueueName = Annotated[
    Literal["payout", "notices", "deliveries", "cards"], typer.Argument(help="Name of the queue.")
]

_LOOKS_MAX = 7_200
"""Maximum number of polls of a run, one per second. A large export takes an hour."""


def add_to(app: typer.Typer) -> None:
    """Register the commands of this module."""
    for function in (reconcile, risk):
        app.command()(function)


@switch.command("status", help="Alias of `list`.")
@switch.command("list")
def list_switches(context: typer.Context) -> None:
    """Show every switch with its last change and reason."""
    session = session_of(context)
    answer = session.target.operator.get("/admin/switches")
    rows = (
        (
            each["name"],
            "on" if each["on"] else "OFF",
            each["reason"],
            shown.moment(each["changed_at_ms"]),
        )
        for each in answer["items"]
    )
    session.screen.report(answer, shown.table(("switch", "is", "why", "since"), rows))


Name = Annotated[str, typer.Argument(help="Name in `redpacket switch list`.", callback=an_id)]


@switch.command("off")
def turn_off(
    context: typer.Context,
    name: Name,
    reason: Annotated[str, typer.Argument(help="Reason for other operators.")],
) -> None:
    """Turn a switch off. This takes effect everywhere within ten seconds."""
    _turn(context, name, {"on": False, "reason": reason})


@switch.command("on")
def turn_on(context: typer.Context, name: Name) -> None:
    """Turn a switch on again."""
    _turn(context, name, {"on": True})


def _turn(context: typer.Context, name: str, body: dict[str, Any]) -> None:
    session = session_of(context)
    session.screen.report(session.target.operator.put(f"/admin/switches/{name}", body))


@limits.command("show")
def show_limits(context: typer.Context) -> None:
    """Show every limit with its default and bounds."""
    session = session_of(context)
    answer = session.target.operator.get("/admin/limits")
    names = ("name", "value", "default", "lowest", "highest")
    rows = (tuple(str(each[name]) for name in names) for each in answer["items"])
    session.screen.report(answer, shown.table(names, rows))


@limits.command("set")
def set_limit(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name in `redpacket limits show`.", callback=an_id)],
    value: Annotated[str, typer.Argument(help="A number within the bounds, or `default`.")],
) -> None:
    """Set a limit. This takes effect everywhere within ten seconds."""
    if value != "default" and not value.isdecimal():
        raise typer.BadParameter(
            f"{value!r} is neither a number nor `default`: see `redpacket limits show`"
        )
    body = {"value": None if value == "default" else int(value)}
    session = session_of(context)
    session.screen.report(session.target.operator.put(f"/admin/limits/{name}", body))


@staging.command("link")
def staging_link(
    context: typer.Context,
    path: Annotated[str, typer.Option(help="Path that the link opens.")] = "/",
    days: Annotated[int, typer.Option(help="Days until the link expires.", min=1)] = 7,
) -> None:
    """Sign a link that gives a tester access to the staging stack's page and API."""
    session = session_of(context)
    secret = session.target.aws("secretsmanager").get_secret_value(
        SecretId=session.target.outputs["StagingSecretArn"]
    )
    key = json.loads(secret["SecretString"])["key"]
    word = staging_word(key, int(time.time()) + days * 86_400)
    page = session.target.outputs["PageUrl"]
    session.screen.report({"url": f"{page}{path}?to={word}", "leave": f"{page}/?to=live"})


def staging_word(key: str, until_s: int) -> str:
    """Return the signed word that CloudFront's functions accept in a link or a cookie."""
    word = f"staging.{until_s}"
    return f"{word}.{hmac.digest(key.encode(), word.encode(), 'sha256').hex()}"


def risk(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="The user's id at the host.")],
    verdict: Annotated[Literal["allow", "deny"], typer.Argument(help="The decision.")],
    hours: Annotated[float, typer.Option(help="Hours until it expires.", min=0)] = 24,
) -> None:
    """Deny a user all grabs and draws, or allow them, until the decision expires."""
    session = session_of(context)
    until_ms = int((time.time() + hours * 3600) * 1000)
    body = {"user": user, "verdict": verdict, "until_ms": until_ms}
    session.screen.report(session.target.operator.post("/admin/risk", body))


def reconcile(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Start the run without waiting for it.")
    ] = False,
) -> None:
    """Export and compare the ledger's tables; exit code 1 if something differs."""
    session = session_of(context)
    run = session.target.operator.post("/admin/reconcile")
    run_id = run["run_id"]
    if once:
        session.screen.report(run, Text(run_id))
        return
    step = None
    for _ in range(_LOOKS_MAX):
        run = session.target.operator.get(f"/admin/reconcile/{run_id}")
        if run["status"] != "running":
            break
        if run["step"] not in {None, step}:
            step = run["step"]
            session.screen.note(step)
        time.sleep(1)
    if run["status"] != "done":
        session.screen.report(run, Text(run["status"]))
        raise typer.Exit(Exit.FOUND)
    counts = (
        (check["name"], str(check["examined"]), str(check["differences"]))
        for check in run["checks"]
    )
    table = shown.table(("check", "examined", "differences"), counts)
    status = " ".join(word for word in (run["status"], run.get("export")) if word)
    session.screen.report(run, Group(Text(status), table, _result(run)))
    if run["differences"]:
        raise typer.Exit(Exit.FOUND)


def _result(run: dict[str, Any]) -> RenderableType:
    """Return a view of the run's differences, or of its clean checks and the time they cover."""
    if run["differences"]:
        more = "The run found more differences than these." if run["is_truncated"] else ""
        return Group(shown.differences(run["differences"]), Text(more))
    used = sum(bool(check["examined"]) for check in run["checks"])
    count, since = len(run["checks"]), shown.moment(run["until_ms"])
    return Group(
        Text(f"Everything adds up in {used} of {count} checks; the others examined no rows."),
        Text(f"Rows since {since} are left to the next run."),
    )


@dlq.command("list")
def list_letters(context: typer.Context, queue: QueueName) -> None:
    """Show up to ten dead letters, and the number of all dead letters."""
    session = session_of(context)
    sqs, url = session.target.aws("sqs"), session.target.outputs[QUEUES[queue][0]]
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get(
        "Messages", []
    )
    items = [{"message_id": each["MessageId"], "body": _body_of(each)} for each in received]
    letters = {"count": _count(sqs, url), "items": items}
    rows = ((each["message_id"], json.dumps(each["body"], ensure_ascii=False)) for each in items)
    table = shown.table(("message_id", "message"), rows, f"about {letters['count']}")
    session.screen.report(letters, table)


@dlq.command("redrive")
def redrive(context: typer.Context, queue: QueueName) -> None:
    """Move all messages back to the queue. A message whose work is already done has no effect."""
    session = session_of(context)
    sqs, outputs, moved = session.target.aws("sqs"), session.target.outputs, 0
    dead, alive = (outputs[name] for name in QUEUES[queue])
    while messages := sqs.receive_message(QueueUrl=dead, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            # Copy first: an interrupted redrive may duplicate a message, but never loses one.
            sqs.send_message(QueueUrl=alive, MessageBody=message["Body"], **_fifo(alive, message))
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
            moved += 1
    session.screen.report({"moved": moved})


@dlq.command("purge")
def purge(
    context: typer.Context,
    queue: QueueName,
    is_sure: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
) -> None:
    """Delete all dead letters permanently. First check that each is done or forged."""
    from redpacket_cli import corrections

    session = session_of(context)
    sqs, url = session.target.aws("sqs"), session.target.outputs[QUEUES[queue][0]]
    count = _count(sqs, url)
    if not is_sure:
        words = translate(f"Delete about {count} messages of {queue} permanently?")
        typer.confirm(words, abort=True, err=True)
    corrections.note_command(session.target, "dlq purge", queue)
    sqs.purge_queue(QueueUrl=url)
    session.screen.report({"purged": count})


def _fifo(url: str, message: dict[str, Any]) -> dict[str, str]:
    """Return the attributes that a FIFO queue requires for *message*."""
    if not url.endswith(".fifo"):
        return {}
    return {
        "MessageGroupId": json.loads(message["Body"])["packet_id"],
        "MessageDeduplicationId": message["MessageId"],
    }


def _count(sqs: Any, url: str) -> int:  # noqa: ANN401 - boto3's clients have no type at run time
    name = "ApproximateNumberOfMessages"
    counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"]
    return int(counted[name])


def _body_of(message: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON, or text
    try:
        return json.loads(message["Body"])
    except ValueError:
        return message["Body"]
