"""Field types that several request bodies share; `answer_fields` has those of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import regex
from pydantic import AfterValidator, Field, StringConstraints

from redpacket.ledger.model import FEN_MAX
from redpacket.packets.model.passphrase import can_be_said
from redpacket.payments.model.provider_name import ProviderName
from redpacket.platform.http.bodies import about
from redpacket.platform.http.request import user_ids
from redpacket.platform.image_url import COVER_URL, IMAGE_URL
from redpacket.platform.text import composed, is_visible

NICKNAME_GRAPHEMES_MAX = 32
ADDRESS_GRAPHEMES_MAX = 120
PASSPHRASE_GRAPHEMES_MAX = 20
TITLE_GRAPHEMES_MAX = 50
NOTE_GRAPHEMES_MAX = 100
DESCRIPTION_GRAPHEMES_MAX = 500
GREETING_GRAPHEMES_MAX = 50
PER_USER_MAX = 1_000_000
WEIGHT_MAX = 1_000_000_000
_CODE_POINTS_PER_GRAPHEME_MAX = 8
_VISIBLE_TEXT = {"format": "visible-text"}
"""Custom format in openapi.json, because no pattern expresses `_visible_text`."""


def _length(graphemes_max: int) -> StringConstraints:
    """Limit a text's length before its graphemes are counted."""
    return StringConstraints(max_length=graphemes_max * _CODE_POINTS_PER_GRAPHEME_MAX)


def _visible_text(graphemes_max: int) -> AfterValidator:
    """Check that a text is visible and has at most *graphemes_max* graphemes."""

    def check(text: str) -> str:
        text = composed(text)
        if not is_visible(text):
            raise ValueError("has control, bidi, zero-width, blank or unassigned characters")
        count = len(regex.findall(r"\X", text))
        if count > graphemes_max or len(text) > graphemes_max * _CODE_POINTS_PER_GRAPHEME_MAX:
            raise ValueError(f"is longer than {graphemes_max} characters")
        return text

    return AfterValidator(check)


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _sayable(text: str) -> str:
    if not can_be_said(text):
        raise ValueError("needs at least one letter or digit")
    return text


def _user_token(text: str) -> str:
    if not user_ids().has_made(text):
        raise ValueError("is not a user's token")
    return text


Fen = Annotated[int, Field(ge=1, le=FEN_MAX)]
PerUser = Annotated[int, Field(ge=0, le=PER_USER_MAX)]
PrizeImage = Annotated[
    str,
    StringConstraints(pattern=r"^(?:https://[!-~]+|/pictures/[A-Za-z0-9_-]{22})$", max_length=1024),
]
"""URL, or the path of a picture that an operator uploaded."""
ImageUrl = Annotated[str, StringConstraints(pattern=IMAGE_URL, max_length=1024)]
CoverUrl = Annotated[str, StringConstraints(pattern=COVER_URL, max_length=1024)]
AmountsWord = Literal["live", "end"]
UserToken = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{24}$"), AfterValidator(_user_token)
]
"""User id as in GET /me. Once accepted, it stays valid permanently."""
Nickname = Annotated[
    str,
    _length(NICKNAME_GRAPHEMES_MAX),
    _visible_text(NICKNAME_GRAPHEMES_MAX),
    AfterValidator(_not_empty),
    Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
]
PostalAddress = Annotated[
    str,
    _length(ADDRESS_GRAPHEMES_MAX),
    _visible_text(ADDRESS_GRAPHEMES_MAX),
    AfterValidator(_not_empty),
    Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
]
Title = Annotated[
    str,
    _length(TITLE_GRAPHEMES_MAX),
    _visible_text(TITLE_GRAPHEMES_MAX),
    AfterValidator(_not_empty),
    Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
]
Description = Annotated[
    str,
    _length(DESCRIPTION_GRAPHEMES_MAX),
    _visible_text(DESCRIPTION_GRAPHEMES_MAX),
    Field(json_schema_extra=_VISIBLE_TEXT),
]
Note = Annotated[
    str,
    _length(NOTE_GRAPHEMES_MAX),
    _visible_text(NOTE_GRAPHEMES_MAX),
    Field(json_schema_extra=_VISIBLE_TEXT),
]
Greeting = Annotated[
    str,
    _length(GREETING_GRAPHEMES_MAX),
    _visible_text(GREETING_GRAPHEMES_MAX),
    Field(json_schema_extra=_VISIBLE_TEXT),
]
Passphrase = Annotated[
    str,
    _length(PASSPHRASE_GRAPHEMES_MAX),
    _visible_text(PASSPHRASE_GRAPHEMES_MAX),
    AfterValidator(_sayable),
    Field(json_schema_extra=_VISIBLE_TEXT),
]
OwnPassphrase = Annotated[
    Passphrase | None,
    about("Phrase that a claimer types or says (口令红包); at most 20 characters."),
]
SeenVersion = Annotated[
    Annotated[int, Field(ge=1)] | None,
    about("The version that was read; an old one returns 409 `version_conflict`."),
]
if TYPE_CHECKING:
    ChannelName = str
    PayWith = str
else:
    ChannelName = Literal[tuple(map(str, ProviderName))]
    PayWith = Literal[("balance", *map(str, ProviderName))]
ProviderChannel = Annotated[
    ChannelName,
    about("Provider; returns 422 `channel_unavailable` if not configured."),
]
PaymentMethod = Annotated[
    Literal["native", "jsapi"],
    about(
        "`native`: anybody who scans the code pays. `jsapi`: the caller pays inside the app, from "
        "the account that they bound."
    ),
]
