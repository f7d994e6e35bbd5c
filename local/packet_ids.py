"""Published packet id key for development and tests, so that example events can have valid ids.

Local stacks sign with their own key and also accept ids that this key signed. Never deploy this
key, because anyone could create valid ids with it.
"""

from redpacket.packets.model.packet_id import PacketIds

PUBLISHED_KEYS = "t:published-key-for-tests-and-examples"
PUBLISHED_IDS = PacketIds.parse(PUBLISHED_KEYS)
