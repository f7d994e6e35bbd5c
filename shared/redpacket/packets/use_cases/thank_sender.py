"""Thanks of a claimer to the sender, once per share. They never change rows with money."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.packets.errors import AlreadyThanked, PacketNotFound
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.errors import Forbidden, InvalidRequest
from redpacket.platform.text import LOOKS_RESERVED, looks_reserved
from redpacket.users.model import NoticeKind, UserNotice

if TYPE_CHECKING:
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.thanks import DynamoThanks
    from redpacket.packets.model.thanks import Thanks
    from redpacket.platform.runtime import Clock
    from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class ThanksPorts:
    """Dependencies for storing and removing thanks."""

    packets: DynamoPackets
    thanks: DynamoThanks


def thank_sender(
    packet_id: str,
    user: User,
    thanks: Thanks,
    skeleton_of: Callable[[str], str],
    put_notice: Callable[[UserNotice], None],
    clock: Clock,
    *,
    ports: ThanksPorts,
) -> int:
    """Store the user's thanks, and return the user's share number, again on a retry.

    The sender's notice is stored before new thanks, so a retry after a crash may store it again.
    Thanks for a campaign's packet or the user's own packet cause no notice. Raises PacketNotFound,
    Forbidden for a user without a share, InvalidRequest for a reserved name in the text, and
    AlreadyThanked if the stored thanks differ.
    """
    if thanks.text and looks_reserved(thanks.text, skeleton_of):
        raise InvalidRequest.of("text", LOOKS_RESERVED)
    share = ports.packets.find_share_of(packet_id, user.user_id)
    if share is None:
        packet = ports.packets.find_known(packet_id)
        if packet is None or packet.rules.prize_id or not packet.may_be_read_by(user):
            raise PacketNotFound
        raise Forbidden("Only users who have a share can thank the sender.")
    packet = None if ports.thanks.has(share.ref) else ports.packets.find_known(packet_id)
    if packet and packet.rules.campaign_id is None and packet.sender != user:
        sender_id, at_ms, part = packet.sender.user_id, clock.now_ms(), str(share.share_no)
        kind, emoji = NoticeKind.THANKED, thanks.emoji
        put_notice(UserNotice(sender_id, kind, at_ms, packet_id, emoji=emoji, part=part))
    stored = ports.thanks.put(share.ref, thanks)
    if stored != thanks:
        raise AlreadyThanked(
            f"You have already thanked the sender with {stored.emoji or 'a text'}."
        )
    return share.share_no


def remove_thanks_text(
    packet_id: str,
    share_no: int,
    note: Callable[[User], None],
    *,
    ports: ThanksPorts,
) -> User:
    """Remove the text of a share's thanks, and return the author. The call may be repeated.

    *note* receives the author before the change. Raises PacketNotFound for a share without a text.
    """
    ref = ShareRef(packet_id, share_no)
    thanks = ports.thanks.find([ref], is_strong=True).get(ref)
    authors = [share.claimer for share in ports.packets.list_refs([ref]) if share.claimer]
    if not authors or thanks is None or thanks.text is None:
        raise PacketNotFound
    note(authors[0])
    ports.thanks.remove_texts([ref])
    return authors[0]
