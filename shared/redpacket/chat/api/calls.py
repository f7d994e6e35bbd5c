"""Dependencies of chat calls and cards, built from a function's containers."""

from __future__ import annotations

from functools import partial

from redpacket.chat.api.orders import chat_order
from redpacket.chat.use_cases.edit_card import CardPorts
from redpacket.chat.use_cases.handle_call import CallPorts
from redpacket.containers import containers
from redpacket.operations.api import guards
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.packets.use_cases.read_records import find_present_record


def card_ports() -> CardPorts:
    """Return the dependencies of cards."""
    packets, pages = containers.packets.packet_rows, containers.packets.pages
    return CardPorts(
        chats=containers.chat.chats,
        connectors=containers.chat.connectors,
        read_record=partial(find_present_record, packets=packets, pages=pages),
        profiles=containers.users.profiles,
        unit=containers.platform.settings.unit,
        page_url=containers.platform.settings.share_base_url,
    )


def call_ports() -> CallPorts:
    """Return the dependencies of calls."""
    return CallPorts(
        chats=containers.chat.chats,
        cards=card_ports(),
        claim_ports=containers.packets.claim_ports,
        card_queue=containers.chat.card_queue,
        send_ports_of=containers.chat.send_ports_of,
        order_of=chat_order,
        check_id=packet_ids().check,
        guard_send=guards.guard_send_of,
        guard_grab=guards.guard_grab,
        guard_read=containers.operations.read_costs.count,
        balance_fen=containers.packets.ledger.balance_fen,
        user_ids=containers.users.user_ids,
        clock=containers.platform.clock,
        logger=containers.platform.logger,
    )
