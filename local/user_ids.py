"""User id key of tests: published. Every stack, also a local one, has a random one."""

from redpacket.platform.user import UserIds

PUBLISHED_KEY = "published-key-of-user-ids-for-tests"
PUBLISHED_USER_IDS = UserIds(PUBLISHED_KEY)
