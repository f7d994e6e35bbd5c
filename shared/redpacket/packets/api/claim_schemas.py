"""Request bodies for grab, open and thanks, in their own module for a short cold start."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import StringConstraints, model_validator

from redpacket.packets.model.thanks import Thanks
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import ThanksText

Emoji: TypeAlias = Literal["🙏", "❤️", "🎉", "👍", "👏", "🌹", "🧧", "😄", "😍", "🥳", "🔥", "💰"]

Via = Annotated[
    str | None,
    about(
        "User token of the user who shared the link, from `?via=` in the link. A new claim stores "
        "the token. The caller's own token and forged tokens are ignored.",
    ),
]


class GrabBody(StrictBody):
    """POST /packets/{packet_id}/grab; a packet without a passphrase ignores `passphrase`."""

    model_config = example({"passphrase": "恭喜发财"})

    passphrase: Annotated[
        Annotated[str, StringConstraints(max_length=200)] | None,
        about("Text that the user entered or dictated."),
    ] = None
    via: Via = None


class OpenBody(StrictBody):
    """POST /packets/{packet_id}/open."""

    model_config = example({"grab_token": "Z3JhYi10b2tlbg"})

    grab_token: Annotated[
        str,
        StringConstraints(max_length=200),
        about("Token from the grab of a two-step packet."),
    ]
    via: Via = None


class ThanksBody(StrictBody):
    """POST /packets/{packet_id}/thanks."""

    model_config = example({"emoji": "🙏", "text": "谢谢老板"})

    emoji: Annotated[Emoji | None, about("One of these emoji.")] = None
    text: Annotated[
        ThanksText | None,
        about("At most 20 characters and 80 bytes of UTF-8, without a reserved name."),
    ] = None

    @model_validator(mode="after")
    def _has_either(self) -> ThanksBody:
        if self.emoji is None and self.text is None:
            raise ValueError("emoji or text is required")
        return self

    @property
    def given(self) -> Thanks:
        """The thanks in the body."""
        return Thanks(self.emoji, self.text)
