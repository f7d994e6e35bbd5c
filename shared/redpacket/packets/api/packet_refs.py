"""References to packets whose ids an operator may not see, and parameters for references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redpacket.containers import containers
from redpacket.operations.api.scopes import ADMINS, OPERATORS
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.packets.model.packet_ref import PACKET_REF, SEALED_CURSOR, seal, unseal
from redpacket.platform.errors import invalid_cursor
from redpacket.platform.http.parameters import optional, required
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from redpacket.packets.model.packet import Packet

_REFS = "packet references"
_CURSORS = "packet cursors"
_NAMED_PACKET = rf"^({PACKET_ID.pattern}|{PACKET_REF})$"
_IDS = re.compile(rf"(?<![A-Za-z0-9_-]){PACKET_ID.pattern}(?![A-Za-z0-9_-])")

View = TypeVar("View")


@required("path", "packet_id", type="string", pattern=_NAMED_PACKET)
def named_packet_of(text: str) -> str:
    """Packet id, or `packet_ref` from a list."""
    return packet_ids().check(unseal(_REFS, text, containers.platform.seed_keys) or text)


@required("path", "share_no", type="string", pattern="^[1-9][0-9]{0,6}$")
def share_no_of(text: str) -> int:
    """Number of a claimed share."""
    if not re.fullmatch("[1-9][0-9]{0,6}", text, re.ASCII):
        raise PacketNotFound
    return int(text)


@optional("query", "packet", missing=None, type="string", pattern=_NAMED_PACKET)
def looked_up_packet_of(text: str) -> str:
    """Only this packet, by id or `packet_ref`, including its id; the audit log records the read."""
    return named_packet_of.check(text)


@optional("query", "cursor", missing=None, type="string", pattern=f"^{SEALED_CURSOR}$")
def packet_cursor_of(text: str) -> str:
    """`next` from the previous page with the same campaign and sender."""
    opened = unseal(_CURSORS, text, containers.platform.seed_keys)
    if opened is None:
        raise invalid_cursor()
    return opened


def packet_ref(packet_id: str) -> str:
    """Return the reference to a packet."""
    return seal(_REFS, packet_id, containers.platform.seed_keys)


def packet_cursor(place: str | None) -> str | None:
    """Return the sealed cursor for *place*, which may contain a packet's id."""
    return place and seal(_CURSORS, place, containers.platform.seed_keys)


def may_see_id(request: HttpRequest, packet: Packet) -> bool:
    """Return whether the operator's scope covers *packet*, so that they may see its id."""
    return not request.scopes.isdisjoint(OPERATORS if packet.rules.campaign_id else ADMINS)


def without_ids(request: HttpRequest, view: View) -> View:
    """Return *view* with references in place of packet ids, unless the scope covers all packets."""
    return cast("View", _referring(view)) if request.scopes.isdisjoint(ADMINS) else view


def _referring(view: object) -> Any:  # noqa: ANN401 - any part of an answer
    if isinstance(view, str):
        return _IDS.sub(_ref_of, view)
    if isinstance(view, dict):
        return {name: _referring(value) for name, value in view.items()}
    return [_referring(each) for each in view] if isinstance(view, list) else view


def _ref_of(match: re.Match[str]) -> str:
    text = match[0]
    return packet_ref(text) if packet_ids().has_signed(text) else text
