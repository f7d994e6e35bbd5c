"""The `redpacket` command and the options that its subcommands share.

    redpacket [--stack NAME | --api URL | --state DIR] [--token TOKEN] [--json] [--lang zh] COMMAND

Without --stack and --api, commands use the stack that `make up` or `make run` started here. Exit
codes: 0 done; 1 a check found something; 2 a wrong command line; 3 refused; 4 unknown or
rate-limited, try again; 5 no stack, token, credentials or file; 6 nothing changed, it waits for
approval.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer._click.exceptions import UsageError
from typer.core import TyperGroup

import redpacket
from redpacket_cli import (
    amounts,
    campaigns,
    chats,
    corrections,
    crowd,
    doctor,
    inspect_stack,
    lists,
    operate,
    operators,
    packets,
    reports,
    users,
    webhooks,
    words,
)
from redpacket_cli.failures import Exit, Failure, of_aws
from redpacket_cli.session import Session
from redpacket_cli.show import Screen
from redpacket_cli.target import Target

_JSON = "--json"

_PANELS = {
    "Campaigns": "campaign prize audience winners",
    "Packets": "send show watch packets packet claims picture verify",
    "Money": "deposit balance payments withdrawals money ledger audit reconcile report",
    "Operations": "doctor switch limits risk approvals journal operator users chat webhooks find "
    "logs count queue dlq work run cache resource",
    "Trial": "token draw load staging",
}
_PANEL_OF = {name: panel for panel, names in _PANELS.items() for name in names.split()}
"""Panel of each command in --help, in display order."""


class Failing(TyperGroup):
    """Command group that exits with the code of a command's failure."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 - typer's own types
        """Return the commands grouped by task."""
        commands: dict[str, Any] = {**self.commands}
        for name, command in commands.items():
            command.rich_help_panel = _PANEL_OF[name]
        return sorted(super().list_commands(ctx), key=list(_PANEL_OF).index)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own types
        """Accept --json also after the command, up to a lone "--"."""
        end = args.index("--") if "--" in args else len(args)
        if _JSON not in args[:end]:
            return super().parse_args(ctx, args)
        args = [_JSON, *(word for word in args[:end] if word != _JSON), *args[end:]]
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            raise _told_as_json(error) from None

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own types are private
        """Run a command, and report its failure on standard error."""
        if ctx.params["is_json"]:
            for group in self.commands.values():
                group.no_args_is_help = False
        try:
            return super().invoke(ctx)
        except UsageError as error:
            error.message = words.translate(error.message)
            if ctx.params["is_json"]:
                raise _told_as_json(error) from None
            raise
        except Exception as error:
            failure = error if isinstance(error, Failure) else of_aws(error)
            if failure is None:
                raise
            screen = ctx.obj.screen
            if screen.is_json and failure.code is Exit.WAITS:
                screen.report(failure.problem)
            elif screen.is_json:
                screen.notes.file.write(f"{json.dumps(failure.problem, ensure_ascii=False)}\n")
            else:
                screen.note(str(failure))
            raise typer.Exit(failure.code) from None


def _told_as_json(error: UsageError) -> typer.Exit:
    """Write a usage error as JSON, and return the exit for it."""
    failure = Failure(Exit.USAGE, error.format_message())
    typer.echo(json.dumps(failure.problem, ensure_ascii=False), err=True)
    return typer.Exit(failure.code)


def _show_version(is_asked: bool) -> None:  # noqa: FBT001 - the form of typer's callbacks
    if is_asked:
        typer.echo(f"redpacket {redpacket.__version__}")
        raise typer.Exit


app = typer.Typer(
    name="redpacket",
    cls=Failing,
    help="Red packets from a terminal: for operators, integrators and their scripts.",
    epilog="Exit codes: 0 done, 1 a check found something, 2 wrong command line, 3 refused, "
    "4 unknown (repeat it), 5 no stack, token, credentials or file, 6 waits for approval.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def options(
    context: typer.Context,
    stack: Annotated[
        str, typer.Option(envvar="REDPACKET_STACK", help="The name of a stack on AWS.")
    ] = "",
    api: Annotated[
        str, typer.Option(envvar="REDPACKET_API", help="The API's address, with --token.")
    ] = "",
    token: Annotated[
        str, typer.Option(envvar="REDPACKET_TOKEN", help="The operator's token.", show_envvar=True)
    ] = "",
    state: Annotated[
        Path | None,
        typer.Option(
            envvar="REDPACKET_STATE",
            help="A local stack's folder.",
            show_default=".local/state/up, else .local/state/run",
        ),
    ] = None,
    is_json: Annotated[bool, typer.Option(_JSON, help="Print one JSON document.")] = False,
    lang: Annotated[
        Literal["en", "zh"],
        typer.Option(envvar="REDPACKET_LANG", help="Language of answers and errors."),
    ] = "en",
    version: Annotated[  # noqa: ARG001 - its callback ends the command
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Choose the stack for all commands."""
    if context.obj is None:
        target = Target(stack=stack, url=api.rstrip("/"), token=token, state_dir=state)
        context.obj = Session(target, Screen())
    context.obj.screen.is_json = is_json
    words.use(lang)
    target = context.obj.target
    amounts.use(lambda: target.unit)
    context.call_on_close(context.obj.target.close)


packets.add_to(app)
operate.add_to(app)
crowd.add_to(app)
inspect_stack.add_to(app)
corrections.add_to()
app.command("doctor")(doctor.doctor)
app.add_typer(campaigns.campaign, name="campaign")
app.add_typer(campaigns.prize, name="prize")
app.add_typer(campaigns.audience, name="audience")
app.add_typer(lists.winners, name="winners")
app.add_typer(lists.claims, name="claims")
app.add_typer(lists.packets, name="packets")
app.add_typer(lists.packets, name="packet", help="Alias of `packets`.")
app.add_typer(reports.report, name="report")
app.add_typer(lists.audit_log, name="journal")
app.add_typer(lists.approvals, name="approvals")
app.add_typer(webhooks.webhooks, name="webhooks")
app.add_typer(users.users, name="users")
app.add_typer(chats.chat, name="chat")
app.add_typer(users.pictures, name="picture")
app.add_typer(users.campaign_money, name="money")
app.add_typer(operators.operator, name="operator")
app.add_typer(operate.switch, name="switch")
app.add_typer(operate.limits, name="limits")
app.add_typer(operate.staging, name="staging")
app.add_typer(operate.dlq, name="dlq")
app.add_typer(doctor.queue, name="queue")


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
