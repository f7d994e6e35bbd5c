"""Money and packets: token, deposit, balance, send, draw, show, watch, audit, find, verify."""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from redpacket_cli import lists
from redpacket_cli import show as shown
from redpacket_cli.amounts import money, parse_amount
from redpacket_cli.api import Api
from redpacket_cli.failures import Exit, Failure
from redpacket_cli.session import an_id, milliseconds, new_key, session_of
from redpacket_cli.target import Target
from redpacket_cli.words import translate

PacketId = Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)]
Key = Annotated[
    str, typer.Option(help="Idempotency key: retries with the same key have one effect.")
]
As = Annotated[str, typer.Option("--as", help="A user of the local stack.")]
UserToken = Annotated[
    str, typer.Option(envvar="REDPACKET_USER_TOKEN", help="A user's own token.", show_envvar=True)
]

Amount = Annotated[
    int,
    typer.Argument(
        help="Amount in minor units (8888), or with decimals (88.88).",
        parser=parse_amount,
        metavar="AMOUNT",
    ),
]

_OVER = {"emptied", "closing", "closed"}
_POINTS_MAX = 600


def add_to(app: typer.Typer) -> None:
    """Register the commands of this module."""
    for function in (token, deposit, balance, send, draw, show, watch, audit, find, verify):
        app.command()(function)


def token(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="User id in the token.")],
    scope: Annotated[str, typer.Option(help="Scope of the token, like hongbao/admin.")] = "",
) -> None:
    """Print a token from the local stack's issuer."""
    session = session_of(context)
    made = session.target.dev_token(user, scope)
    session.screen.report({"token": made}, Text(made))


def deposit(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="The account owner's user id at the host.")],
    amount_fen: Amount,
    key: Key = "",
    is_for_campaigns: Annotated[
        bool,
        typer.Option("--for-campaigns", help="Reserve the account for campaigns. It must be new."),
    ] = False,
    case: Annotated[
        str, typer.Option(help="Case that the deposit settles; each case accepts only one deposit.")
    ] = "",
) -> None:
    """Put money into a user's account."""
    session = session_of(context)
    body: dict[str, Any] = {"user": user, "amount_fen": amount_fen}
    if is_for_campaigns:
        body["is_for_campaigns"] = True
    if case:
        body["case"] = case
    session.screen.report(session.target.operator.post("/admin/deposits", body, key=new_key(key)))


def send(
    context: typer.Context,
    total_fen: Amount,
    count: Annotated[int, typer.Argument(help="Number of shares.", min=1)],
    kind: Annotated[str, typer.Option(help="lucky or equal.")] = "lucky",
    campaign: Annotated[str, typer.Option(help="Campaign whose budget pays.")] = "",
    greeting: Annotated[str, typer.Option(help="Text that claimers read.")] = "",
    passphrase: Annotated[str, typer.Option(help="Text that claimers must enter.")] = "",
    opening: Annotated[str, typer.Option(help="one_step or two_step.")] = "",
    expires_in_s: Annotated[
        int, typer.Option(help="Seconds until expiry. 0 uses the deployment's setting.", min=0)
    ] = 0,
    starts_at: Annotated[
        str, typer.Option(help="Start time with a zone. Earlier grabs are rejected.")
    ] = "",
    user: As = "",
    user_token: UserToken = "",
    key: Key = "",
) -> None:
    """Send a packet: from a campaign as the operator, otherwise as a user."""
    session = session_of(context)
    optional: dict[str, Any] = {
        "campaign_id": campaign,
        "greeting": greeting,
        "passphrase": passphrase,
        "opening": opening,
        "expires_in_s": expires_in_s,
        "starts_at_ms": milliseconds("--starts-at", starts_at) if starts_at else 0,
    }
    body = {"kind": kind, "total_fen": total_fen, "count": count}
    body |= {name: value for name, value in optional.items() if value}
    if user or user_token:
        sender = session.target.user(user, user_token)
    elif campaign:
        sender = session.target.operator
    else:
        raise typer.BadParameter("name the sender: --as USER on a local stack, --user-token on AWS")
    route = "/packets" if sender is not session.target.operator else "/admin/packets"
    sent = sender.post(route, body, key=new_key(key))
    given = {name: value for name, value in sent.items() if value is not None}
    # The link comes first, because people copy it.
    link = {"share_url": given.pop("share_url")} if "share_url" in given else {}
    session.screen.report(sent, shown.pairs({**link, **given}))


def draw(
    context: typer.Context,
    campaign: Annotated[str, typer.Argument(help="The campaign's id.", callback=an_id)],
    user: As = "",
    user_token: UserToken = "",
    key: Key = "",
) -> None:
    """Draw once in a campaign's lottery, as a user."""
    session = session_of(context)
    drawer = _named_user(session.target, user, user_token)
    session.screen.report(drawer.post(f"/campaigns/{campaign}/draws", key=new_key(key)))


def balance(context: typer.Context, user: As = "", user_token: UserToken = "") -> None:
    """Show the balance of a user's account."""
    session = session_of(context)
    account = _named_user(session.target, user, user_token).get("/me")
    session.screen.report(account, Text(money(account["balance_fen"])))


def _named_user(target: Target, user: str, user_token: str) -> Api:
    """Return the API client of the user that the options name. Raises typer.BadParameter."""
    if not (user or user_token):
        raise typer.BadParameter("name the user: --as USER on a local stack, --user-token on AWS")
    return target.user(user, user_token)


def show(context: typer.Context, packet_id: PacketId) -> None:
    """Show a packet's first page of claims, and the number of shares taken."""
    session = session_of(context)
    record = session.target.operator.get(f"/packets/{packet_id}")
    claims = record["claims"]
    columns = ("share", "nickname", "amount", "claimed at", "payout", "luckiest")
    rows = (
        (
            claim["share_no"],
            claim["nickname"],
            money(claim["amount_fen"]),
            shown.moment(claim["claimed_at_ms"]),
            claim["payout"],
            "*" * claim["is_luckiest"],
        )
        for claim in claims
    )
    status = translate(record["status"])
    title = (
        f"{record['greeting']}  {status}  {record['claimed_count']} of {record['count']} taken, "
        f"{money(record['total_fen'])} in all"
    )
    more = [Text("More pages follow.")] if record["next"] else []
    session.screen.report(record, Group(shown.table(columns, rows, title), *more))


@dataclass
class Course:
    """Progress of a packet: claim counts and their times."""

    seen: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_POINTS_MAX))

    def note(self, at_s: float, claimed_count: int) -> None:
        """Record a count."""
        self.seen.append((at_s, claimed_count))

    @property
    def rates(self) -> list[float]:
        """Claims per second between consecutive counts."""
        pairs = zip(self.seen, list(self.seen)[1:], strict=False)
        return [
            max(0, count - before) / max(at_s - before_s, 0.001)
            for (before_s, before), (at_s, count) in pairs
        ]

    def seconds_left(self, remaining_count: int) -> float | None:
        """Estimate the seconds until the packet is empty. Return None while nobody claims."""
        recent = self.rates[-5:]
        rate = sum(recent) / len(recent) if recent else 0.0
        return remaining_count / rate if rate else None


def watch(
    context: typer.Context,
    packet_id: PacketId,
    every_s: Annotated[float, typer.Option("--every", help="Seconds between polls.", min=0.1)] = 1,
    looks: Annotated[
        int, typer.Option(help="Number of polls. 0 polls until the packet is empty.", min=0)
    ] = 0,
) -> None:
    """Watch a packet until it is emptied: counts, rate, time left, and a plot.

    With --json, the command writes one line per poll.
    """
    from rich.live import Live

    session, course = session_of(context), Course()
    observed = _observed(session.target.passer_by, packet_id, every_s, looks, course)
    if session.screen.is_json:
        for feed, told in observed:
            names = ("status", "count", "claimed_count", "remaining_count")
            session.screen.report({name: feed[name] for name in names} | told)
        return
    with Live(console=session.screen.console, auto_refresh=False) as live:
        for feed, told in observed:
            live.update(_look(feed, told, course), refresh=True)
    if not session.screen.console.is_terminal:
        session.screen.console.print()


def _observed(
    api: Api, packet_id: str, every_s: float, looks: int, course: Course
) -> Iterator[tuple[dict[str, Any], dict[str, float | None]]]:
    """Poll a packet. Skip a poll if the API is unavailable."""
    number = 0
    while True:
        number += 1
        try:
            feed = api.get(f"/packets/{packet_id}/feed")
        except Failure as failure:
            if failure.code is not Exit.UNAVAILABLE or number == looks:
                raise
            time.sleep(every_s)
            continue
        course.note(time.monotonic(), feed["claimed_count"])
        rate = course.rates[-1] if course.rates else 0.0
        left_s = course.seconds_left(feed["remaining_count"])
        yield feed, {"per_second": round(rate, 2), "seconds_left": left_s and round(left_s, 1)}
        if number == looks or feed["status"] in _OVER or not feed["remaining_count"]:
            return
        time.sleep(every_s)


def _look(feed: dict[str, Any], told: dict[str, float | None], course: Course) -> Group:
    from rich.columns import Columns
    from rich.progress_bar import ProgressBar

    left_s = told["seconds_left"]
    until = "" if left_s is None else translate(f", empty in {left_s:.0f} s")
    return Group(
        Text(f"{feed['greeting']}  {translate(feed['status'])}", style="bold"),
        # Put the bar into Columns, because a bar alone does not end its line.
        Columns([ProgressBar(total=feed["count"], completed=feed["claimed_count"], width=60)]),
        Text(
            translate(
                f"{feed['claimed_count']} of {feed['count']} taken, {feed['remaining_count']} "
                f"left, {told['per_second']:.1f} a second{until}"
            )
        ),
        Text(shown.plot(course.rates), style="red"),
    )


def audit(context: typer.Context, packet_id: PacketId) -> None:
    """Check the invariants of one packet; exit code 1 if one is violated."""
    session = session_of(context)
    result = session.target.operator.get(f"/admin/packets/{packet_id}/audit")
    told: RenderableType = (
        Text(f"Everything adds up. Shares examined: {result['share_count']}", style="green")
        if result["ok"]
        else shown.differences(result["differences"])
    )
    if waiting := result["unsettled_count"]:
        since = shown.moment(result["unsettled_since_ms"])
        step = Text(f"Claims not paid out: {waiting}, since {since}. Next: redpacket doctor")
        told = Group(told, step)
    session.screen.report(result, told)
    if not result["ok"]:
        raise typer.Exit(Exit.FOUND)


_NAMED = "packet_id"
_HANDLERS = (
    *("Grab", "Send", "Lottery", "Records", "Profile", "Campaign", "Prize", "Admin", "Approval"),
    *("Payment", "Gateway", "Chat", "Webhooks", "Erasure", "Reconcile"),
)
# The payout function's log names the share that a request took.
_LOGS = ("ApiLogs", *(f"{name}Logs" for name in _HANDLERS), "PayoutLogs")


def find(
    context: typer.Context,
    request_id: Annotated[
        str, typer.Argument(help="`instance` of a problem, or the x-request-id header.")
    ],
    user: Annotated[
        str, typer.Option(help="User id at the host, or the user_token; needs --packet.")
    ] = "",
    packet: Annotated[str, typer.Option(help="The packet's id, if no log line names it.")] = "",
) -> None:
    """Trace a request: its log lines, its packet and the outcome of its share.

    The payout function logs the share that a request took, so the request's id is enough. A refused
    request took no share, and its lines have only the route and status. Add --packet for the audit,
    and --user for a user's share of that packet.
    """
    if user and not packet:
        raise typer.BadParameter("--user needs --packet")
    session = session_of(context)
    target = session.target
    lines = [
        _of_request(line, request_id)
        for group in _LOGS
        if group != "ChatLogs" or "ChatFunction" in target.outputs
        for line in target.logged(group, request_id)
        if _names(line, request_id)
    ]
    claimed = next((claim for line in lines for claim in line.get("claims", [])), "")
    packet_id, _, share_no = claimed.partition(" ")[2].partition("#")
    packet_id = (
        packet or packet_id or next((str(line[_NAMED]) for line in lines if _NAMED in line), "")
    )
    result: dict[str, Any] = {"lines": lines, "packet_id": packet_id or None}
    if packet_id:
        result["audit"] = target.operator.get(f"/admin/packets/{an_id(packet_id)}/audit")
    if share_no:
        result["share"] = _ledger_share(target, packet_id, int(share_no))
    elif user:
        result["share"] = _share_of(target, packet_id, user)
    if not lines and not packet_id:
        detail = f"no log line of the last day has {request_id}: check the id, or give --packet"
        raise Failure(Exit.FOUND, detail)
    view = {**result, "lines": "\n".join(map(shown.log_line, lines)) or translate("none")}
    if view.get("share", result) is None:
        view["share"] = translate(f"none: {user} has no share of this packet")
    session.screen.report(result, shown.pairs(view))


def _names(line: dict[str, Any], request_id: str) -> bool:
    """Return whether a line belongs to the request. The log's filter also matches parts of ids."""
    fields = [line.get("request_id"), *(claim.split(" ")[0] for claim in line.get("claims", []))]
    return request_id in fields


def _of_request(line: dict[str, Any], request_id: str) -> dict[str, Any]:
    """Return a line without the claims of other requests in the same batch."""
    if "claims" not in line:
        return line
    own = [claim for claim in line["claims"] if claim.startswith(f"{request_id} ")]
    return {**line, "claims": own}


def _share_of(target: Target, packet_id: str, user: str) -> dict[str, Any] | None:
    """Return the ledger row of a user's share, or None if the user has no share."""
    taken = _row(target, f"user#{user}", f"claim#{packet_id}") or next(
        (
            claim
            for page in lists.pages(target.operator, f"/admin/packets/{packet_id}/claims", {})
            for claim in page
            if user in {claim["user"], claim["user_token"]}
        ),
        {},
    )
    return _ledger_share(target, packet_id, int(taken["share_no"])) if taken else None


def _ledger_share(target: Target, packet_id: str, share_no: int) -> dict[str, Any]:
    from redpacket.packets.model.packet import partition_count

    partition = (share_no - 1) % partition_count(packet_id)
    share = _row(target, f"shares#{packet_id}#{partition}", f"share#{share_no:07d}")
    return {"share_no": share_no, **share}


def _row(target: Target, pk: str, sk: str) -> dict[str, Any]:
    """Return a row of SharesTable without its keys, or {} if the row is missing."""
    item = target.aws("dynamodb").get_item(
        TableName=target.outputs["SharesTable"],
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        ConsistentRead=True,
    )
    row = item.get("Item", {})
    return {name: _plain(value) for name, value in row.items() if name not in {"pk", "sk"}}


def _plain(value: dict[str, Any]) -> Any:  # noqa: ANN401 - a value of DynamoDB
    ((letter, plain),) = value.items()
    return int(plain) if letter == "N" else plain


def verify(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(help="A proof, then the other API responses to check.")
    ],
    user: Annotated[str, typer.Option(help="The user who drew.")] = "",
    commitment: Annotated[str, typer.Option(help="The commitment that you noted earlier.")] = "",
) -> None:
    """Check offline that amounts or draws match their commitment.

    The exit code is 1 if they do not match, and 3 if nothing differs but not everything was
    checked.
    """
    from redpacket.verify import command as verifier

    session = session_of(context)
    named = {"--user": user, "--commitment": commitment}
    options = [word for name, given in named.items() if given for word in (name, given)]
    # With --json, standard output must hold only JSON.
    output = sys.stderr if session.screen.is_json else sys.stdout
    with contextlib.redirect_stdout(output):
        code = verifier.main([*options, *map(str, files)])
    if session.screen.is_json:
        session.screen.report({"ok": code == verifier.TRUE})
    raise typer.Exit(Exit.NO_TARGET if code == verifier.UNREADABLE else Exit(code))
