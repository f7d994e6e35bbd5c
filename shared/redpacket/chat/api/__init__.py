"""HTTP API of chats."""
