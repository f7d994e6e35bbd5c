"""Errors of chats. Clients never receive the errors of platforms, which control retries."""

from __future__ import annotations

from redpacket.packets.errors import SendRefused
from redpacket.platform.errors import RateLimited, Rejected


class ChatBusy(RateLimited):
    """The chat platform limits calls. Retry after the seconds that it names."""


class ChatNotFound(Rejected):
    """No operator admitted this chat. Check its connector and its id."""

    code = "chat_not_found"
    status = 404


class ChatGone(ChatNotFound):
    """The platform refuses a call permanently, for example after the bot left the chat."""


class ChatDayExceeded(SendRefused):
    """This packet exceeds the limit of this chat, or of one member, for a day."""

    code = "chat_day_exceeded"
    status = 403
