"""HTTP schemas and conversions of chats."""
