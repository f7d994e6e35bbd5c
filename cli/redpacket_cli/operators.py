"""Operators in the stack's user pool. A role is a group whose members' tokens have its scope."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.session import Session, session_of
from redpacket_cli.show import table
from redpacket_cli.words import translate

operator = typer.Typer(
    help="Operators in the stack's own user pool: add, list, remove.", no_args_is_help=True
)


class Role(StrEnum):
    """Group in the user pool. Its members' tokens have the scope hongbao/ROLE."""

    ADMIN = "admin"
    OPERATE = "operate"
    TREASURY = "treasury"
    AUDIT = "audit"


def _an_email(text: str) -> str:
    if text.count("@") != 1 or text.startswith("@") or text.endswith("@"):
        raise typer.BadParameter(f"{text!r} is not an e-mail address, like ada@example.com")
    return text.lower()


def _pool(session: Session) -> tuple[Any, str]:
    """Return Cognito and the id of the stack's pool. Raises Failure."""
    target = session.target
    if "UserPoolId" not in target.outputs:
        raise no_target(
            "the stack has no user pool. Deploy it with OperatorIssuer=pool, or add operators at "
            "your own issuer; on a local stack the console lets anyone choose a role"
        )
    return target.aws("cognito-idp"), target.outputs["UserPoolId"]


Email = Annotated[str, typer.Argument(help="The operator's e-mail address.", callback=_an_email)]


@operator.command("add")
def add(
    context: typer.Context,
    email: Email,
    role: Annotated[list[Role], typer.Option(help="Role; may be given more than once.")],
    name: Annotated[str, typer.Option(help="Name in the audit log.")] = "",
    is_sure: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
) -> None:
    """Add an operator. A new operator gets an email with a temporary password. Safe to repeat.

    If the account exists but has no role, the command asks for confirmation, and resets the
    account's password.
    """
    session = session_of(context)
    cognito, pool = _pool(session)
    try:
        cognito.admin_create_user(
            UserPoolId=pool,
            Username=email,
            DesiredDeliveryMediums=["EMAIL"],
            UserAttributes=[
                {"Name": "email", "Value": email},
                {"Name": "email_verified", "Value": "true"},
                {"Name": "nickname", "Value": name or email.partition("@")[0]},
            ],
        )
    except cognito.exceptions.UsernameExistsException:
        _adopt(session, email, is_sure=is_sure)
        if name:
            cognito.admin_update_user_attributes(
                UserPoolId=pool,
                Username=email,
                UserAttributes=[{"Name": "nickname", "Value": name}],
            )
    for each in role:
        cognito.admin_add_user_to_group(UserPoolId=pool, Username=email, GroupName=each)
    session.screen.report({"email": email, "roles": [*role]})


_PROVEN = frozenset({"CONFIRMED", "FORCE_CHANGE_PASSWORD", "RESET_REQUIRED"})
"""States of accounts that verified their email address or that an operator created."""


def _adopt(session: Session, email: str, *, is_sure: bool) -> None:
    """Prepare an existing account for a role. Raises Failure if its email is not verified."""
    cognito, pool = _pool(session)
    account = {"UserPoolId": pool, "Username": email}
    user = cognito.admin_get_user(**account)
    attributes = {each["Name"]: each["Value"] for each in user["UserAttributes"]}
    is_proven = user["UserStatus"] in _PROVEN and attributes.get("email_verified") == "true"
    if not (user["Enabled"] and is_proven):
        raise Failure(
            Exit.REFUSED,
            f"the account of {email} is disabled, external, or has no verified email: delete it",
        )
    session.screen.note(f"{email} already has an account")
    groups = cognito.admin_list_groups_for_user(**account)["Groups"]
    if any(each["GroupName"] in set(Role) for each in groups):
        return
    if not is_sure:
        words = translate(f"Make {email} an operator, and reset the account's password?")
        typer.confirm(words, abort=True, err=True)
    # The person who registered the account may know the password, or be signed in.
    if user["UserStatus"] == "CONFIRMED":
        cognito.admin_reset_user_password(**account)
    cognito.admin_user_global_sign_out(**account)


@operator.command("remove")
def remove(
    context: typer.Context,
    email: Email,
) -> None:
    """Remove all roles of an operator. Existing tokens expire within 30 minutes."""
    session = session_of(context)
    cognito, pool = _pool(session)
    for role in Role:
        cognito.admin_remove_user_from_group(UserPoolId=pool, Username=email, GroupName=role)
    cognito.admin_user_global_sign_out(UserPoolId=pool, Username=email)
    session.screen.report({"email": email, "roles": []})


@operator.command("list")
def list_operators(context: typer.Context) -> None:
    """List the operators with their roles."""
    session = session_of(context)
    cognito, pool = _pool(session)
    roles: dict[str, list[str]] = {}
    for role in Role:
        pages = cognito.get_paginator("list_users_in_group").paginate(
            UserPoolId=pool, GroupName=role
        )
        for user in (user for page in pages for user in page["Users"]):
            attributes = {each["Name"]: each["Value"] for each in user["Attributes"]}
            roles.setdefault(attributes["email"], []).append(role)
    items = [{"email": email, "roles": of} for email, of in sorted(roles.items())]
    rows = ((email, " ".join(of)) for email, of in sorted(roles.items()))
    session.screen.report({"items": items}, table(("email", "roles"), rows))
