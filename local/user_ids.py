"""Published user id key for tests. Every stack, including a local one, has a random key."""

from redpacket.platform.user import UserIds

PUBLISHED_KEY = "published-key-of-user-ids-for-tests"
PUBLISHED_USER_IDS = UserIds(PUBLISHED_KEY)
