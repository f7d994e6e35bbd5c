"""Clients of remote services for chats."""
