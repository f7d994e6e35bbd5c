"""Checks before a request reads or writes anything: switches and user rate limits."""

from __future__ import annotations

from redpacket.domain.switches import Switch
from redpacket.edge.request import HttpRequest
from redpacket.edge.wiring import wiring


def guard_send(request: HttpRequest) -> None:
    """Check that a send is allowed. Raises Forbidden, SwitchedOff, RateLimited."""
    sender = request.user
    wiring.require_on(Switch.SEND)
    wiring.limit_sends(sender.user_id)


def guard_draw(request: HttpRequest) -> None:
    """Check that a draw is allowed. Raises Forbidden, SwitchedOff, RateLimited."""
    user = request.user
    wiring.require_on(Switch.DRAW)
    wiring.limit_draws(user.user_id)


def guard_help() -> None:
    """Check that a help is allowed, which gives a draw. Raises SwitchedOff."""
    wiring.require_on(Switch.DRAW)


def guard_grab() -> None:
    """Check that a grab is allowed. Raises SwitchedOff."""
    wiring.require_on(Switch.GRAB)


def guard_read(request: HttpRequest) -> None:
    """Check that a read is allowed. Raises Forbidden, RateLimited."""
    wiring.limit_reads(request.user.user_id)


def guard_payment() -> None:
    """Check that a payment is allowed. Raises SwitchedOff."""
    wiring.stored_switches.require_on(Switch.PAY)


def guard_withdrawal() -> None:
    """Check that a withdrawal is allowed. Raises SwitchedOff."""
    wiring.stored_switches.require_on(Switch.WITHDRAW)
