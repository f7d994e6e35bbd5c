"""The packet id key of development and tests: published, so that example events can have valid ids.

Local stacks sign with a key of their own and accept ids of this one too. Never give it to a
deployment: anyone can make ids with it that are looked up.
"""

from redpacket.packets.model.packet_id import PacketIds

PUBLISHED_KEYS = "t:published-key-for-tests-and-examples"
PUBLISHED_IDS = PacketIds.parse(PUBLISHED_KEYS)
