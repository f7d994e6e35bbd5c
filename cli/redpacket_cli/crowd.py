"""Trial load: many users grab one packet at the same time."""

import statistics
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from redpacket_cli import show as shown
from redpacket_cli.amounts import money
from redpacket_cli.failures import Exit, Failure, no_target
from redpacket_cli.session import an_id, read_text, session_of
from redpacket_cli.target import Target

_MISSING = "packet_not_found"


@dataclass(frozen=True, slots=True)
class Tried:
    """Result of one grab."""

    outcome: str
    took_ms: float
    amount_fen: int = 0


def add_to(app: typer.Typer) -> None:
    """Register the commands of this module."""
    app.command()(load)


def load(
    context: typer.Context,
    packet_id: Annotated[str, typer.Argument(help="The packet's id.", callback=an_id)],
    users: Annotated[int, typer.Option(help="Number of users.", min=1, max=100_000)] = 100,
    parallel: Annotated[int, typer.Option(help="Number of parallel calls.", min=1, max=256)] = 16,
    tokens: Annotated[
        Path | None,
        typer.Option(help="File of user tokens, one per line; on AWS, the host issues them."),
    ] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of user names on a local stack.")] = "load",
) -> None:
    """Simulate users who each grab a packet once, and report outcomes and latencies."""
    from rich.progress import Progress

    session = session_of(context)
    session.target.connect_once()
    given = _tokens(session.target, tokens, users, prefix, parallel)
    with (
        Progress(console=session.screen.notes, disable=session.screen.is_json) as bar,
        ThreadPoolExecutor(parallel) as pool,
    ):
        task = bar.add_task("grabbing", total=len(given))
        began_s = time.monotonic()
        tried = []
        for each in pool.map(lambda token: _grab(session.target, token, packet_id), given):
            tried.append(each)
            bar.advance(task)
        took_s = time.monotonic() - began_s
    summary = _summary(tried, took_s)
    outcomes = shown.table(("outcome", "users"), summary["outcomes"].items())
    words = (
        f"{summary['per_second']} a second, median {summary['p50_ms']} ms, 99% within "
        f"{summary['p99_ms']} ms; {money(summary['claimed_fen'])} claimed"
    )
    session.screen.report(summary, Group(outcomes, Text(words)))
    if set(summary["outcomes"]) == {_MISSING}:
        raise typer.Exit(Exit.REFUSED)


def _tokens(target: Target, file: Path | None, users: int, prefix: str, parallel: int) -> list[str]:
    if file is not None:
        tokens = read_text(file).split()[:users]
        if not tokens:
            raise no_target(f"{file} has no tokens: write one per line")
        return tokens
    with ThreadPoolExecutor(parallel) as pool:
        return list(pool.map(lambda number: target.dev_token(f"{prefix}-{number}"), range(users)))


def _grab(target: Target, token: str, packet_id: str) -> Tried:
    began_s = time.monotonic()
    try:
        answer = target.by_token(token).post(f"/packets/{packet_id}/grab")
    except Failure as failure:
        return Tried(failure.problem["code"], _since_ms(began_s))
    return Tried(answer["outcome"], _since_ms(began_s), answer.get("amount_fen", 0))


def _since_ms(began_s: float) -> float:
    return (time.monotonic() - began_s) * 1000


def _summary(tried: Sequence[Tried], took_s: float) -> dict[str, Any]:
    times = sorted(each.took_ms for each in tried)
    return {
        "outcomes": dict(Counter(each.outcome for each in tried).most_common()),
        "per_second": round(len(tried) / max(took_s, 0.001), 1),
        "p50_ms": round(statistics.median(times), 1),
        "p99_ms": round(times[min(len(times) - 1, int(len(times) * 0.99))], 1),
        "claimed_fen": sum(each.amount_fen for each in tried),
    }
