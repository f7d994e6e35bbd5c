"""Users and their pictures: what is kept of them can be erased."""

from typing import Annotated
from urllib.parse import quote

import typer

from redpacket.platform.user import HOST_ID
from redpacket_cli.api import again
from redpacket_cli.session import an_id, session_of
from redpacket_cli.words import translate

users = typer.Typer(help="Personal data: erase.", no_args_is_help=True)
pictures = typer.Typer(help="Pictures that users uploaded as covers: remove.", no_args_is_help=True)


def _a_host_id(text: str) -> str:
    if not HOST_ID.fullmatch(text):
        raise typer.BadParameter(
            f"{text!r} can't be a user: use up to 128 letters, digits and any of _ . @ : | + = -"
        )
    return text


@users.command("erase")
def erase(
    context: typer.Context,
    user: Annotated[str, typer.Argument(help="As the host knows them.", callback=_a_host_id)],
    is_sure: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
) -> None:
    """Erase a user's personal data permanently, once the account is empty. A repeat is harmless."""
    session = session_of(context)
    if not is_sure:
        typer.confirm(translate(f"Erase {user} permanently?"), abort=True, err=True)
    path = f"/admin/users/{quote(user, safe='')}"
    session.screen.report(again(lambda: session.target.operator.delete(path)))


@pictures.command("remove")
def remove(
    context: typer.Context,
    picture: Annotated[str, typer.Argument(help="The picture's id, or its address.")],
) -> None:
    """Remove a picture: within an hour its packets show the plain cover."""
    session, (*_, picture_id) = session_of(context), picture.rpartition("/")
    path = f"/admin/pictures/{an_id(picture_id)}"
    session.screen.report(again(lambda: session.target.operator.delete(path)))
