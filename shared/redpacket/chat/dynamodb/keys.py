"""Keys in ChatTable. Rows for cards, messages, hints and sums expire at `expires_at_s`."""

from __future__ import annotations

CHATS = "chats"


def chat(connector: str, chat_id: str) -> dict[str, str]:
    """Return the key of an admitted chat, or of the new id of a moved chat."""
    return {"pk": CHATS, "sk": f"{connector}#{chat_id}"}


def hint(connector: str, chat_id: str) -> dict[str, str]:
    """Return the key of the row that limits the bot's hints in a chat that is not admitted."""
    return {"pk": f"hint#{connector}#{chat_id}", "sk": "hint"}


def card(packet_id: str) -> dict[str, str]:
    """Return the key of the row with the location of a packet's card."""
    return {"pk": f"card#{packet_id}", "sk": "card"}


def message(connector: str, chat_id: str, message_id: str) -> dict[str, str]:
    """Return the key of the row that maps a card's message to its packet."""
    return {"pk": f"message#{connector}#{chat_id}#{message_id}", "sk": "message"}


def spent(subject: str, day: int) -> dict[str, str]:
    """Return the key of the sum that a chat or a member has spent in one day."""
    return {"pk": f"spent#{subject}#{day}", "sk": "spent"}
