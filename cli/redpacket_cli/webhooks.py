"""Webhooks, with their subscriptions to events, pending deliveries, and dead letters."""

from typing import Annotated, Any

import typer

from redpacket_cli import show as shown
from redpacket_cli.api import again
from redpacket_cli.failures import Exit
from redpacket_cli.session import Session, an_id, session_of

webhooks = typer.Typer(
    help="Webhooks for events: list, show, put, resume, secret, test, dead, replay.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="Name in `redpacket webhooks list`.", callback=an_id)]


@webhooks.command("list")
def list_webhooks(context: typer.Context) -> None:
    """Show all webhooks with the results of their last deliveries."""
    session = session_of(context)
    answer = session.target.operator.get("/admin/webhooks")
    columns = ("webhook", "is", "url", "failures in a row", "last success", "last failure")
    rows = (
        (
            each["name"],
            "on" if each["is_on"] else "OFF",
            each["url"],
            each["failure_count"],
            shown.moment(each["last_success"] and each["last_success"]["at_ms"]),
            _tried(each["last_failure"]),
        )
        for each in answer["items"]
    )
    session.screen.report(answer, shown.table(columns, rows))


@webhooks.command("show")
def show_webhook(context: typer.Context, name: Name) -> None:
    """Show a webhook and the number of its waiting deliveries."""
    session = session_of(context)
    session.screen.report(_details(session, name))


@webhooks.command("put")
def put_webhook(
    context: typer.Context,
    name: Name,
    url: Annotated[str, typer.Argument(help="The https URL that receives events.")],
    event: Annotated[
        list[str], typer.Option(help="Event type, like redpacket.packet.claimed; repeatable.")
    ],
    is_off: Annotated[bool, typer.Option("--off", help="Accept no events for now.")] = False,
) -> None:
    """Create or edit a webhook. A new webhook's secret is shown only once."""
    session = session_of(context)
    body = {"url": url, "events": event, "is_on": not is_off}
    # Don't retry: only the first response has the secret. `webhooks secret` creates another one.
    session.screen.report(session.target.operator.put(f"/admin/webhooks/{name}", body))


@webhooks.command("resume")
def resume_webhook(context: typer.Context, name: Name) -> None:
    """Resume a paused webhook by saving it unchanged."""
    session = session_of(context)
    webhook = _details(session, name)
    body = {each: webhook[each] for each in ("url", "events", "is_on")}
    session.screen.report(session.target.operator.put(f"/admin/webhooks/{name}", body))


@webhooks.command("secret")
def rotate_secret(context: typer.Context, name: Name) -> None:
    """Create a new secret, shown only once. The previous secret remains valid for a day."""
    session = session_of(context)
    session.screen.report(session.target.operator.post(f"/admin/webhooks/{name}/secret"))


@webhooks.command("test")
def test_webhook(context: typer.Context, name: Name) -> None:
    """Send a test event now; exit code 1 if the receiver does not accept it."""
    session = session_of(context)
    answer = session.target.operator.post(f"/admin/webhooks/{name}/test")
    session.screen.report(answer)
    if not answer["ok"]:
        raise typer.Exit(Exit.FOUND)


@webhooks.command("dead")
def list_dead(context: typer.Context, name: Name) -> None:
    """Show a webhook's oldest dead letters; exit code 1 if there are any."""
    session = session_of(context)
    details = _details(session, name)
    told = {"dead_count": details["dead_count"], "items": details["dead_letters"]}
    columns = ("event", "type", "subject", "attempts", "last status", "died at")
    rows = (
        (
            each["event_id"],
            each["type"],
            each["subject"],
            each["attempt_count"],
            each["last_status"],
            shown.moment(each["died_at_ms"]),
        )
        for each in details["dead_letters"]
    )
    session.screen.report(told, shown.table(columns, rows, f"{details['dead_count']} in all"))
    if details["dead_count"]:
        raise typer.Exit(Exit.FOUND)


@webhooks.command("replay")
def replay(context: typer.Context, name: Name) -> None:
    """Retry all dead letters for another day."""
    session, replayed = session_of(context), 0
    while True:
        answer = again(lambda: session.target.operator.post(f"/admin/webhooks/{name}/replay"))
        replayed += answer["replayed_count"]
        if answer["is_complete"]:
            break
        session.screen.note(f"{replayed} so far")
    session.screen.report({"replayed_count": replayed})


def _details(session: Session, name: str) -> dict[str, Any]:
    return session.target.operator.get(f"/admin/webhooks/{name}")


def _tried(delivery: dict[str, Any] | None) -> str:
    if delivery is None:
        return "-"
    return f"{shown.moment(delivery['at_ms'])} ({delivery['status']})"
