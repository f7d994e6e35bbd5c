"""Transaction that funds a chat's packet and counts it toward the daily limits."""

from __future__ import annotations

from redpacket.chat.dynamodb import keys
from redpacket.chat.errors import ChatDayExceeded
from redpacket.chat.model import Chat
from redpacket.ledger.model import Transfer
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.model.packet import Packet
from redpacket.platform.dynamodb.client import Dynamo, Guarded, update
from redpacket.platform.errors import RedPacketError

DAY_MS = 24 * 3_600_000
_HAS_ROOM = "spent_fen <= :room_fen"
_IS_FIRST_OR_HAS_ROOM = f"attribute_not_exists(spent_fen) OR {_HAS_ROOM}"
_KEPT_DAYS = 3


class DynamoChatFunding(DynamoFunding):
    """Funding for packets of one chat. A retried send counts only once."""

    def __init__(
        self, dynamo: Dynamo, open_packets_max: int | None, chat: Chat, member_day_fen: int
    ) -> None:
        super().__init__(dynamo, open_packets_max)
        self._table = dynamo.tables.chat
        self._chat, self._member_day_fen = chat, member_day_fen

    def writes(self, packet: Packet, transfer: Transfer) -> list[Guarded[RedPacketError]]:
        day, fen = packet.created_at_ms // DAY_MS, transfer.amount_fen
        limits = {
            self._chat.key: self._chat.day_fen,
            f"user:{packet.sender.user_id}": self._member_day_fen,
        }
        counted = [
            update(
                self._table,
                keys.spent(subject, day),
                "SET expires_at_s = :expires_at_s ADD spent_fen :fen",
                condition=_IS_FIRST_OR_HAS_ROOM if fen <= limit_fen else _HAS_ROOM,
                fen=fen,
                room_fen=limit_fen - fen,
                expires_at_s=(day + _KEPT_DAYS) * DAY_MS // 1000,
            )
            for subject, limit_fen in limits.items()
        ]
        rows = super().writes(packet, transfer)
        rows += [Guarded(each, lambda _: ChatDayExceeded()) for each in counted]
        return rows
