"""Packet cards, and their edits after events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.chat.model import Card
from redpacket.chat.texts import duration, words
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.use_cases.read_records import Record
from redpacket.platform.unit import Unit
from redpacket.users.ports import ProfileRepository

if TYPE_CHECKING:
    from redpacket.chat.dynamodb.chats import DynamoChats
    from redpacket.chat.ports import Connector


@dataclass(frozen=True, slots=True)
class CardPorts:
    """Dependencies of cards; *connectors* has the configured platforms."""

    chats: DynamoChats
    connectors: Mapping[str, Connector]
    read_record: Callable[[str], Record | None]
    profiles: ProfileRepository
    unit: Unit
    page_url: str


def edit_card(packet_id: str, *, ports: CardPorts) -> None:
    """Show the current state of a packet on its card.

    Packets without a card and revoked chats need no edit. Raises ChatBusy with the
    seconds to wait, ChatGone, and Unavailable.
    """
    place = ports.chats.find_card(packet_id)
    connector = ports.connectors.get(place.connector) if place else None
    if not (place and connector and ports.chats.find(place.connector, place.chat_id)):
        return
    if record := ports.read_record(packet_id):
        card = render_card(record, place.language, ports=ports)
        connector.edit(place.chat_id, place.message_id, card)


def render_card(record: Record, language: str, *, ports: CardPorts) -> Card:
    """Return the card of a packet in its current state."""
    packet, is_open = record.packet, record.status is PacketStatus.OPEN
    claimers = [] if is_open else [share.claimer for share in record.claims if share.claimer]
    profiles = ports.profiles.list_profiles([user.user_id for user in (packet.sender, *claimers)])
    names = {user_id: profile.nickname for user_id, profile in profiles.items() if profile.nickname}
    somebody = words(language, "somebody")
    lines = [packet.greeting] if packet.greeting else []
    if is_open and packet.rules.passphrase:
        lines.append(words(language, "say_it"))
    lines += _state(record, language, ports.unit)
    if not is_open:
        lines += _claims(record, language, names, somebody, ports.unit)
    return Card(
        packet.packet_id,
        words(language, "card_title", name=names.get(packet.sender.user_id, somebody)),
        tuple(lines),
        words(language, "button") if is_open else None,
        None if packet.rules.is_exclusive else f"{ports.page_url}/packets/{packet.packet_id}",
        packet.cover_url,
    )


def _state(record: Record, language: str, unit: Unit) -> Iterator[str]:
    terms = record.packet.terms
    counts = {"claimed": record.claimed_count, "count": terms.count}
    if record.status is PacketStatus.OPEN:
        yield words(language, "progress", total=unit.text(terms.total_fen), **counts)
    elif record.emptied_in_ms is not None:
        yield words(language, "emptied", time=duration(language, record.emptied_in_ms), **counts)
    else:
        yield words(language, "ended", **counts)


def _claims(
    record: Record, language: str, names: Mapping[str, str], somebody: str, unit: Unit
) -> Iterator[str]:
    best_no = record.luckiest.share_no if record.luckiest else None
    for share in sorted(record.claims, key=lambda share: (share.decided_at_ms, share.share_no)):
        if share.claimer:
            key = "luckiest" if share.share_no == best_no else "claim"
            name = names.get(share.claimer.user_id, somebody)
            yield words(language, key, name=name, amount=unit.text(share.amount_fen))
