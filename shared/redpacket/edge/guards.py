"""What a request meets before anything is read or begun: switches, and limits per user."""

from __future__ import annotations

from redpacket.domain.switches import Switch
from redpacket.edge.request import HttpRequest
from redpacket.edge.wiring import wiring


def guard_send(request: HttpRequest) -> None:
    """Let a send begin. Raises Forbidden, SwitchedOff, RateLimited."""
    sender = request.user
    wiring.require_on(Switch.SEND)
    wiring.limit_sends(sender.user_id)


def guard_draw(request: HttpRequest) -> None:
    """Let a draw begin. Raises Forbidden, SwitchedOff, RateLimited."""
    user = request.user
    wiring.require_on(Switch.DRAW)
    wiring.limit_draws(user.user_id)


def guard_help() -> None:
    """Let a help begin: it gives a draw. Raises SwitchedOff."""
    wiring.require_on(Switch.DRAW)


def guard_grab() -> None:
    """Let a grab begin. Raises SwitchedOff."""
    wiring.require_on(Switch.GRAB)


def guard_read(request: HttpRequest) -> None:
    """Let a user read. Raises Forbidden, RateLimited."""
    wiring.limit_reads(request.user.user_id)


def guard_payment() -> None:
    """Let a payment begin. Raises SwitchedOff."""
    wiring.stored_switches.require_on(Switch.PAY)


def guard_withdrawal() -> None:
    """Let a withdrawal begin. Raises SwitchedOff."""
    wiring.stored_switches.require_on(Switch.WITHDRAW)
