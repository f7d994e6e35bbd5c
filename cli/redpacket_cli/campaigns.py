"""Commands for campaigns, their prizes and their lists of users."""

import csv
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import typer
from rich.console import Group
from rich.text import Text

from redpacket_cli import show as shown
from redpacket_cli.amounts import money
from redpacket_cli.api import Api, again
from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.lists import Rows, some
from redpacket_cli.packets import Amount, Key
from redpacket_cli.session import an_id, milliseconds, new_key, read_document, read_text, session_of
from redpacket_cli.words import translate

campaign = typer.Typer(help="Campaigns: list, edit, show, rain, preheat.", no_args_is_help=True)
prize = typer.Typer(help="Prizes of a campaign: edit, stock, codes.", no_args_is_help=True)
audience = typer.Typer(
    help="A campaign's list of allowed or denied users: import, add, remove, check.",
    no_args_is_help=True,
)

CampaignId = Annotated[str, typer.Argument(help="The campaign's id.", callback=an_id)]
PrizeId = Annotated[str, typer.Argument(help="The prize's id.", callback=an_id)]
File = Annotated[Path, typer.Argument(help="A YAML or JSON file; - is standard input.")]

USERS_PER_CALL = CODES_PER_CALL = 500
_TIMES = {"starts_at": "starts_at_ms", "ends_at": "ends_at_ms"}


@campaign.command("edit")
def edit_campaign(context: typer.Context, campaign_id: CampaignId, file: File) -> None:
    """Create or edit a campaign and its prizes from a file.

    The file has the fields of PUT /admin/campaigns/{campaign_id}, and `prizes`, which maps each
    prize's id to its fields. `starts_at` and `ends_at` are times with a zone, like
    2027-01-29T20:00:00+08:00.
    """
    session, plan = session_of(context), _in_milliseconds(read_document(file))
    prizes = plan.pop("prizes", {})
    if not isinstance(prizes, dict):
        raise no_target(f"{file}: `prizes` must map the id of each prize to its fields")
    operator, path = session.target.operator, f"/admin/campaigns/{campaign_id}"
    documents = {path: _json(plan, file)} | {
        f"{path}/prizes/{an_id(str(prize_id))}": _json(body, file)
        for prize_id, body in prizes.items()
    }
    for place, body in documents.items():
        try:
            edited = _put_again(operator, place, body)
        except Failure as failure:
            prize_id = place.removeprefix(path).removeprefix("/prizes/")
            if prizes and failure.code is Exit.WAITS:
                session.screen.note("The rest is not saved: repeat the command after the approval.")
            elif prize_id:
                session.screen.note(
                    f"Prize {prize_id} failed; everything before it is saved. Correct it, and "
                    "repeat the command."
                )
            raise failure from None
    if prizes:
        edited = operator.get(path)
    session.screen.report(edited, _campaign(edited))


@campaign.command("list")
def list_campaigns(context: typer.Context, rows: Rows = 50) -> None:
    """Show campaigns, the latest start first."""
    session = session_of(context)
    items = some(session.target.operator, "/admin/campaigns", {}, rows)
    columns = ("campaign", "title", "is", "starts at", "ends at", "budget", "left")
    table = (
        (
            each["campaign_id"],
            each["title"],
            each["status"],
            shown.moment(each["starts_at_ms"]),
            shown.moment(each["ends_at_ms"]),
            money(each["budget_fen"]),
            money(each["budget_left_fen"]),
        )
        for each in items
    )
    session.screen.report({"items": items}, shown.table(columns, table))


@campaign.command("show")
def show_campaign(context: typer.Context, campaign_id: CampaignId) -> None:
    """Show a campaign with its money, prizes and remaining stock."""
    session = session_of(context)
    campaign = session.target.operator.get(f"/admin/campaigns/{campaign_id}")
    session.screen.report(campaign, _campaign(campaign))


@campaign.command("rain")
def plan_rain(
    context: typer.Context,
    campaign_id: CampaignId,
    total_fen: Amount,
    count: Annotated[int, typer.Argument(help="Number of shares in each packet.", min=1)],
    starts_at: Annotated[str, typer.Option(help="Start time with a zone.")],
    seconds: Annotated[int, typer.Option(help="Length of a round.", min=5)] = 20,
    rounds: Annotated[
        int, typer.Option(help="Number of rounds, with 30-second breaks.", min=1)
    ] = 1,
    packets: Annotated[
        int, typer.Option(help="Packets in each round. 0 plans as many as the quota covers.", min=0)
    ] = 0,
    key: Key = "",
) -> None:
    """Schedule packets from the campaign's budget that open for all users in the same second."""
    session = session_of(context)
    body = {"starts_at_ms": milliseconds("--starts-at", starts_at), "seconds": seconds}
    body |= {"rounds": rounds, "total_fen": total_fen, "count": count}
    body |= {"packets": packets} if packets else {}
    path = f"/admin/campaigns/{campaign_id}/rains"
    session.screen.report(session.target.operator.post(path, body, key=new_key(key)))


@campaign.command("preheat")
def preheat(context: typer.Context, campaign_id: CampaignId) -> None:
    """Load a campaign's prizes, users, and packets into the cache, in as many calls as needed."""
    session = session_of(context)
    path, cursor = f"/admin/campaigns/{campaign_id}/preheat", None
    together = {"packet_count": 0, "loaded_count": 0}
    while True:
        next_page = partial(session.target.operator.post, path, query={"cursor": cursor})
        page = again(next_page)
        for name in together:
            together[name] += page[name]
        cursor = page["next"]
        if cursor is None:
            break
        session.screen.note(f"{together['loaded_count']} packets so far")
    session.screen.report(together)


@prize.command("edit")
def edit_prize(
    context: typer.Context, campaign_id: CampaignId, prize_id: PrizeId, file: File
) -> None:
    """Create or edit one prize from a file with the fields of the prize's PUT request."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}"
    body = _json(read_document(file), file)
    session.screen.report(_put_again(session.target.operator, path, body))


# "-5" is a number here, not an option.
@prize.command("stock", context_settings={"ignore_unknown_options": True})
def change_stock(
    context: typer.Context,
    campaign_id: CampaignId,
    prize_id: PrizeId,
    delta: Annotated[int, typer.Argument(help="Units to add; -5 removes five.")],
    key: Annotated[str, typer.Option(help="Idempotency key.")] = "",
) -> None:
    """Add units to a prize, or remove units that nobody has won."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}/stock"
    answer = session.target.operator.post(path, {"delta": delta}, key=new_key(key))
    session.screen.report(answer)


@prize.command("codes")
def add_codes(
    context: typer.Context,
    campaign_id: CampaignId,
    prize_id: PrizeId,
    file: Annotated[Path, typer.Argument(help="Codes, one per line; - is standard input.")],
) -> None:
    """Add codes to a prize of kind `code`. If the upload is interrupted, repeat the command."""
    session = session_of(context)
    lines = (line.strip() for line in read_text(file).lstrip("\ufeff").splitlines())
    codes = [line for line in lines if line]
    if not codes or len(set(codes)) < len(codes):
        raise no_target(f"{file} has no codes or repeats one: write each code once, one per line")
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}/codes"
    # Send the calls in sequence, because a code's position in the file determines its unit.
    for at in range(0, len(codes), CODES_PER_CALL):
        body = {"add": codes[at : at + CODES_PER_CALL]}
        answer = again(partial(session.target.operator.post, path, body))
    session.screen.report(answer)


@audience.command("import")
def import_audience(
    context: typer.Context,
    campaign_id: CampaignId,
    file: Annotated[
        Path, typer.Argument(help="Users, one per line, or the first column of a CSV; - is stdin.")
    ],
    mode: Annotated[
        Literal["allow", "deny", "keep"],
        typer.Option(help="Meaning of the list after the upload; `keep` leaves it unchanged."),
    ] = "keep",
    parallel: Annotated[int, typer.Option(help="Number of parallel calls.", min=1, max=16)] = 4,
    is_replaced: Annotated[
        bool, typer.Option("--replace", help="Empty the list first. The campaign must be off.")
    ] = False,
    is_sure: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
) -> None:
    """Add users from a file to a campaign's list. If interrupted, repeat the command."""
    from rich import progress

    session = session_of(context)
    users = list(dict.fromkeys(_users_of(file)))
    path, operator = f"/admin/campaigns/{campaign_id}/audience", session.target.operator
    size = operator.get(f"/admin/campaigns/{campaign_id}")["audience_size"]
    if is_replaced:
        if not users:
            raise no_target(f"{file} has no users: write one per line")
        if not is_sure:
            n = len(users)
            words = translate(f"Replace the {size} users on the list of {campaign_id} by {n}?")
            typer.confirm(words, abort=True, err=True)
        _clear(operator, path, size)
    calls = [users[at : at + USERS_PER_CALL] for at in range(0, len(users), USERS_PER_CALL)]
    columns = (
        progress.TextColumn("importing"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("users"),
        progress.TimeRemainingColumn(),
    )
    bar = progress.Progress(*columns, console=session.screen.notes, disable=session.screen.is_json)
    with bar, ThreadPoolExecutor(parallel) as pool:
        task = bar.add_task("", total=len(users))
        for sent in pool.map(lambda call: _put_users(operator, path, call), calls):
            bar.advance(task, sent)
    # Set the list's meaning last, when the list is complete.
    last = {} if mode == "keep" else {"mode": mode}
    answer = again(lambda: operator.post(path, last))
    session.screen.report({"size_before": size, "imported": len(users), **answer})


@audience.command("remove")
def remove_users(
    context: typer.Context,
    campaign_id: CampaignId,
    users: Annotated[list[str], typer.Argument(help="User ids at the host.")],
) -> None:
    """Remove users from a campaign's list."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/audience"
    session.screen.report(again(lambda: session.target.operator.post(path, {"remove": users})))


@audience.command("add")
def add_users(
    context: typer.Context,
    campaign_id: CampaignId,
    users: Annotated[list[str], typer.Argument(help="User ids at the host.")],
) -> None:
    """Add users to a campaign's list."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/audience"
    session.screen.report(again(lambda: session.target.operator.post(path, {"add": users})))


@audience.command("check")
def check_user(
    context: typer.Context,
    campaign_id: CampaignId,
    user: Annotated[str, typer.Argument(help="User id at the host.")],
) -> None:
    """Show whether a user is on a campaign's list. The audit log records the query."""
    session = session_of(context)
    path = f"/admin/campaigns/{campaign_id}/audience/{quote(user, safe='')}"
    session.screen.report(session.target.operator.get(path))


def _put_again(operator: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a PUT request, with retries. A retry completes an interrupted edit."""
    return again(lambda: operator.put(path, body))


def _clear(operator: Api, path: str, size: int) -> None:
    """Empty the list in as many calls as needed. The list's size still includes erased users."""
    before = size + 1
    while 0 < size < before:
        before, size = size, again(lambda: operator.post(path, {"remove_all": True}))["size"]


def _put_users(operator: Api, path: str, users: Sequence[str]) -> int:
    again(lambda: operator.post(path, {"add": list(users)}))
    return len(users)


def _users_of(file: Path) -> Iterator[str]:
    for row in csv.reader(read_text(file).lstrip("\ufeff").splitlines()):
        if row and (user := row[0].strip()):
            yield user


def _in_milliseconds(plan: dict[str, Any]) -> dict[str, Any]:
    """Convert the plan's times to milliseconds."""
    for name, wanted in _TIMES.items():
        if name not in plan:
            continue
        plan[wanted] = milliseconds(name, plan.pop(name))
    return plan


def _json(body: Any, file: Path) -> dict[str, Any]:  # noqa: ANN401 - of a file
    """Return the content of *file* as a JSON object. Raises Failure if that is impossible.

    YAML reads a bare `on` as true, so convert a boolean `status` back to "on" or "off".
    """
    try:
        document = json.loads(json.dumps(body, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise no_target(
            f"{file} has a value that JSON does not have: {error}. Quote dates; use finite numbers"
        ) from None
    if not isinstance(document, dict):
        raise no_target(f"{file} has a prize without fields: write them below its id")
    if isinstance(is_on := document.get("status"), bool):
        document["status"] = "on" if is_on else "off"
    return document


def _campaign(campaign: dict[str, Any]) -> Group:
    columns = ("prize", "title", "kind", "weight", "total", "left", "status")
    rows = (
        (
            each["prize_id"],
            each["title"],
            each["kind"],
            each["weight"],
            each["total"],
            each["total"] - each["issued"],
            each["status"],
        )
        for each in campaign["prizes"]
    )
    rules = ", ".join(f"{name} {value}" for name, value in campaign["rules"].items() if value)
    head = Text(
        f"{campaign['title']}  {translate(campaign['status'])}  version {campaign['version']}\n"
        f"{shown.moment(campaign['starts_at_ms'])} to {shown.moment(campaign['ends_at_ms'])}\n"
        f"{money(campaign['budget_left_fen'])} left of "
        f"{money(campaign['budget_fen'])}; "
        f"list of users: {campaign['audience_mode'] or 'none'}\n"
        f"shares for one user: {campaign['quota_per_user'] or 'any'}; rules: {rules or 'none'}"
    )
    return Group(head, *([shown.table(columns, rows)] if campaign["prizes"] else []))
