"""Errors of chats. Platforms cause ChatBusy and ChatGone, which control retries."""

from __future__ import annotations

from redpacket.packets.errors import SendRefused
from redpacket.platform.errors import RateLimited, Rejected


class ChatBusy(RateLimited):
    """The chat platform limits calls. Retry after the delay that the platform names."""


class ChatNotFound(Rejected):
    """No operator admitted this chat. Check its connector and its id."""

    code = "chat_not_found"
    status = 404


class ChatGone(ChatNotFound):
    """The platform refuses a call permanently, for example after the bot left the chat."""


class ChatDayExceeded(SendRefused):
    """This packet exceeds the daily limit of the chat or of the member."""

    code = "chat_day_exceeded"
    status = 403
