"""Parameter of routes of one switch."""

from __future__ import annotations

from redpacket.domain.switches import Switch, switch_named
from redpacket.edge.parameters import required


@required("path", "name", type="string", enum=list(Switch))
def switch_of(text: str) -> Switch:
    """The switch."""
    return switch_named(text)
