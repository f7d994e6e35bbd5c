"""Checks of switches and user rate limits, for requests and chat calls."""

from __future__ import annotations

from redpacket.containers import containers
from redpacket.operations.model.switches import Switch
from redpacket.platform.http.request import HttpRequest


def guard_send(request: HttpRequest) -> None:
    """Check that a send is allowed. Raises Forbidden, SwitchedOff, RateLimited."""
    guard_send_of(request.user.user_id)


def guard_send_of(user_id: str) -> None:
    """Check that the user may send a packet now. Raises SwitchedOff, RateLimited."""
    containers.operations.switches.require_on(Switch.SEND)
    containers.operations.limit_sends(user_id)


def guard_draw(request: HttpRequest) -> None:
    """Check that a draw is allowed. Raises Forbidden, SwitchedOff, RateLimited."""
    user = request.user
    containers.operations.switches.require_on(Switch.DRAW)
    containers.operations.limit_draws(user.user_id)


def guard_help() -> None:
    """Check that helping an inviter is allowed. Raises SwitchedOff."""
    containers.operations.switches.require_on(Switch.DRAW)


def guard_grab() -> None:
    """Check that a grab is allowed. Raises SwitchedOff."""
    containers.operations.switches.require_on(Switch.GRAB)


def guard_read(request: HttpRequest) -> None:
    """Check that a read is allowed. Raises Forbidden, RateLimited."""
    containers.operations.read_costs.count(request.user.user_id)


def guard_payment() -> None:
    """Check that a payment is allowed. Raises SwitchedOff."""
    containers.operations.stored_switches.require_on(Switch.PAY)


def guard_withdrawal() -> None:
    """Check that a withdrawal is allowed. Raises SwitchedOff."""
    containers.operations.stored_switches.require_on(Switch.WITHDRAW)
