"""Ports for chat platforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from redpacket.chat.model import Call, Card, Member, Message, Tap
    from redpacket.platform.ssrf_safe_http import HttpClient


@dataclass(frozen=True, slots=True)
class ConnectorEnvironment:
    """Dependencies of a connector in this process."""

    secret: Mapping[str, str] = field(repr=False)
    """Values of the chat secret; docs/how-to/chat.md lists their names."""
    http: Callable[[str], HttpClient]
    """Function that returns an HTTP client for a URL."""
    now_ms: Callable[[], int]


class Connector(Protocol):
    """Connector for one chat platform. No method repeats a call that may have had an effect.

    `post` and `edit` raise ChatBusy, ChatGone, or Unavailable for an unknown outcome.
    """

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Call:
        """Verify and parse a call. Raises SignatureInvalid or InvalidRequest.

        If the platform signs the time, a call older than five minutes raises SignatureInvalid.
        """

    def answer(self, call: Tap | Message, text: str, *, is_alert: bool) -> Mapping[str, Any]:
        """Return the HTTP 200 response body that shows *text* only to the member.

        For a Message, the body may be empty; the caller then uses `notify`.
        """

    def post(self, chat_id: str, card: Card, key: str) -> str:
        """Post a card and return the message id. Some platforms ignore a repeated *key*."""

    def edit(self, chat_id: str, message_id: str, card: Card) -> None:
        """Replace a card. An unchanged card or a deleted message counts as success."""

    def offer_form(self, member: Member, chat_id: str) -> bool:
        """Post a form that sends a packet. Return False if the platform has no forms.

        A submitted form arrives as a Message with a command. All submissions of one form by one
        member have the same message id.
        """

    def notify(self, member: Member, chat_id: str, text: str) -> None:
        """Send *text* only to the member; raise nothing if the member is unreachable."""


class CardQueue(Protocol):
    """Queue of cards to edit; tests have a double."""

    def put(self, packet_ids: Sequence[str], at_ms: int) -> None:
        """Queue one edit for each packet; edits of one packet in the same 3 s step are merged."""
