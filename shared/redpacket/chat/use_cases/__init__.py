"""Use cases of chats."""
