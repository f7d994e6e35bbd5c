"""Commands for group chats on chat platforms."""

from typing import Annotated

import typer

from redpacket_cli import show as shown
from redpacket_cli.amounts import money, parse_amount
from redpacket_cli.api import again
from redpacket_cli.session import an_id, session_of

chat = typer.Typer(help="Chats whose members send and claim packets: list, admit, revoke.")

_IDS = {"ignore_unknown_options": True}
"""Setting that lets commands accept ids of Telegram groups, which start with a minus sign."""

Connector = Annotated[str, typer.Argument(help="telegram or lark.", callback=an_id)]
ChatId = Annotated[str, typer.Argument(help="Id that the bot shows in the chat.", callback=an_id)]


@chat.command("list")
def list_chats(context: typer.Context) -> None:
    """Show the admitted chats with their limits."""
    session = session_of(context)
    answer = session.target.operator.get("/admin/chats")
    rows = (
        (each["connector"], each["chat_id"], each["title"], money(each["day_fen"]))
        for each in answer["items"]
    )
    session.screen.report(answer, shown.table(("platform", "chat", "title", "a day"), rows))


@chat.command("admit", context_settings=_IDS)
def admit_chat(
    context: typer.Context,
    connector: Connector,
    chat_id: ChatId,
    day_fen: Annotated[
        int,
        typer.Option(parser=parse_amount, help="Maximum total of a chat's packets per UTC day."),
    ],
    title: Annotated[str, typer.Option(help="A name for operators.")] = "",
    language: Annotated[str, typer.Option(help="Language of the cards: zh or en.")] = "zh",
) -> None:
    """Let members of a chat send and claim packets, or change the chat's limit. Safe to repeat."""
    session, path = session_of(context), f"/admin/chats/{connector}/{chat_id}"
    body = {"title": title, "day_fen": day_fen, "language": language}
    session.screen.report(again(lambda: session.target.operator.put(path, body)))


@chat.command("revoke", context_settings=_IDS)
def revoke_chat(context: typer.Context, connector: Connector, chat_id: ChatId) -> None:
    """Disable the bot in a chat."""
    session, path = session_of(context), f"/admin/chats/{connector}/{chat_id}"
    session.screen.report(session.target.operator.delete(path))
