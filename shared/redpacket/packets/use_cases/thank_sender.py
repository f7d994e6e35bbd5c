"""Thanks for a share, once for each claimer; they never touch money rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.packets.errors import AlreadyThanked, PacketNotFound
from redpacket.platform.errors import Forbidden

if TYPE_CHECKING:
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.pages import DynamoPages
    from redpacket.platform.user import User


def thank_sender(
    packet_id: str, user: User, emoji: str, *, packets: DynamoPackets, pages: DynamoPages
) -> int:
    """Store the user's thanks, and return the number of their share; a repeat returns the same.

    Raises PacketNotFound, Forbidden for a user without a share, and AlreadyThanked after another
    emoji.
    """
    share = packets.find_share_of(packet_id, user.user_id)
    if share is None:
        packet = packets.find_known(packet_id)
        if packet is None or packet.rules.prize_id or not packet.may_be_read_by(user):
            raise PacketNotFound
        raise Forbidden("Only users who have a share can thank the sender.")
    stored = pages.put_thanks(packet_id, share.share_no, emoji)
    if stored != emoji:
        raise AlreadyThanked(f"You have already thanked the sender with {stored}.")
    return share.share_no
