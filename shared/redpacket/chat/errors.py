"""Failures of chat platforms. No client gets them: they decide about retries."""

from __future__ import annotations

from redpacket.platform.errors import RateLimited, Rejected


class ChatBusy(RateLimited):
    """The chat platform limits calls. Retry after the seconds that it names."""


class ChatGone(Rejected):
    """The bot is no longer a member of the chat."""

    code = "chat_gone"
    status = 410
