"""Commands for personal data, uploaded pictures, and accounts of campaign money."""

from typing import Annotated
from urllib.parse import quote

import typer

from redpacket.platform.user import HOST_ID
from redpacket_cli.api import again
from redpacket_cli.packets import Key
from redpacket_cli.session import an_id, new_key, session_of
from redpacket_cli.words import translate

users = typer.Typer(help="Personal data: erase.", no_args_is_help=True)
pictures = typer.Typer(help="Uploaded pictures: remove.", no_args_is_help=True)
campaign_money = typer.Typer(help="Accounts of campaign money: move, unmark.", no_args_is_help=True)


def _a_host_id(text: str) -> str:
    if not HOST_ID.fullmatch(text):
        raise typer.BadParameter(
            f"{text!r} can't be a user: use up to 128 letters, digits and any of _ . @ : | + = -"
        )
    return text


UserId = Annotated[str, typer.Argument(help="User id at the host.", callback=_a_host_id)]


@users.command("erase")
def erase(
    context: typer.Context,
    user: UserId,
    is_sure: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
) -> None:
    """Erase a user's personal data permanently. The account must be empty. Safe to repeat."""
    session = session_of(context)
    if not is_sure:
        typer.confirm(translate(f"Erase {user} permanently?"), abort=True, err=True)
    path = f"/admin/users/{quote(user, safe='')}"
    session.screen.report(again(lambda: session.target.operator.delete(path)))


@campaign_money.command("move")
def move(
    context: typer.Context,
    user: UserId,
    to: Annotated[
        str,
        typer.Argument(
            help="Owner of the campaign account that receives the money.", callback=_a_host_id
        ),
    ],
    reason: Annotated[str, typer.Option(help="For the audit log.")],
    key: Key = "",
) -> None:
    """Move the remaining campaign money of one account to another account."""
    session, body = session_of(context), {"user": to, "reason": reason}
    session.screen.report(session.target.operator.post(_money_of(user), body, key=new_key(key)))


@campaign_money.command("unmark")
def unmark(context: typer.Context, user: UserId) -> None:
    """Remove the campaign mark from an empty account. Safe to repeat."""
    session = session_of(context)
    session.screen.report(again(lambda: session.target.operator.delete(_money_of(user))))


def _money_of(user: str) -> str:
    return f"/admin/accounts/{quote(user, safe='')}/campaign-money"


@pictures.command("remove")
def remove(
    context: typer.Context,
    picture: Annotated[str, typer.Argument(help="The picture's id or URL.")],
) -> None:
    """Remove a picture. Within an hour, packets that use it show the plain cover."""
    session, (*_, picture_id) = session_of(context), picture.rpartition("/")
    path = f"/admin/pictures/{an_id(picture_id)}"
    session.screen.report(again(lambda: session.target.operator.delete(path)))
