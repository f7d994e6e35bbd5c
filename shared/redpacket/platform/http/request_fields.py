"""Field types that several request bodies share; `answer_fields` has the types for responses."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import GroupedMetadata
from pydantic import AfterValidator, Field, StringConstraints

from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.bodies import about
from redpacket.platform.http.request import user_ids
from redpacket.platform.image_url import AVATAR_URL, COVER_URL, UPLOADED
from redpacket.platform.text import (
    CODE_POINTS_PER_GRAPHEME_MAX,
    NICKNAME_GRAPHEMES_MAX,
    NOTE_GRAPHEMES_MAX,
    audible,
    composed,
    find_invisible,
    graphemes,
)
from redpacket.platform.user import HOST_ID, check_host_id

ADDRESS_GRAPHEMES_MAX = 120
GREETING_GRAPHEMES_MAX = 50
THANKS_GRAPHEMES_MAX = 20
THANKS_BYTES_MAX = 80
"""Maximum UTF-8 bytes of a thank-you text; a DynamoDB row has up to 100 of them, about 8 KB."""
PER_USER_MAX = 1_000_000
WEIGHT_MAX = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Text(GroupedMetadata):
    """Visible text with at most *graphemes_max* graphemes that passes *check*.

    The custom format in openapi.json stands for rules that no pattern can express.
    """

    graphemes_max: int
    check: Callable[[str], str] = str
    pattern: str | None = None

    def __iter__(self) -> Iterator[Any]:
        # The length is limited before graphemes are counted.
        yield StringConstraints(max_length=self.graphemes_max * CODE_POINTS_PER_GRAPHEME_MAX)
        yield AfterValidator(self._visible)
        yield AfterValidator(self.check)
        pattern = {"pattern": self.pattern} if self.pattern else {}
        yield Field(json_schema_extra={"format": "visible-text", **pattern})

    def _visible(self, text: str) -> str:
        text = composed(text)
        if hidden := find_invisible(text):
            name = unicodedata.name(hidden, "without a name")
            raise ValueError(f"contains the invisible character U+{ord(hidden):04X} ({name})")
        is_long = len(text) > self.graphemes_max * CODE_POINTS_PER_GRAPHEME_MAX
        if is_long or len(graphemes(text)) > self.graphemes_max:
            raise ValueError(f"is longer than {self.graphemes_max} characters")
        return text


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("is empty")
    return text


def _sayable(text: str) -> str:
    if not audible(text):
        raise ValueError("needs at least one letter or digit")
    return text


def _thanking(text: str) -> str:
    if len(_not_empty(text).encode()) > THANKS_BYTES_MAX:
        raise ValueError(f"is longer than {THANKS_BYTES_MAX} bytes")
    return text


def _user_token(text: str) -> str:
    if not user_ids().has_made(text):
        raise ValueError("is not a user's token")
    return text


def _host_id(text: str) -> str:
    try:
        return check_host_id(text)
    except Forbidden:
        raise ValueError("is not a valid user id") from None


def _required(graphemes_max: int) -> _Text:
    return _Text(graphemes_max, _not_empty, r"\S")


Fen = Annotated[int, Field(ge=1, le=FEN_MAX)]
PerUser = Annotated[int, Field(ge=0, le=PER_USER_MAX)]
PrizeImage = Annotated[
    str,
    StringConstraints(pattern=f"^(?:https://[!-~]+|{UPLOADED})$", max_length=1024),
]
"""URL, or the path of a picture that an operator uploaded."""
AvatarUrl = Annotated[str, StringConstraints(pattern=AVATAR_URL, max_length=1024)]
CoverUrl = Annotated[str, StringConstraints(pattern=COVER_URL, max_length=1024)]
HostId = Annotated[
    str,
    AfterValidator(_host_id),
    Field(json_schema_extra={"pattern": f"^{HOST_ID.pattern}$"}, examples=["alice"]),
]
"""Host id of a user: the subject of the user's token."""
UserToken = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{24}$"), AfterValidator(_user_token)
]
"""User id as in GET /me. An id that was accepted once stays valid permanently."""
Nickname = Annotated[str, _required(NICKNAME_GRAPHEMES_MAX)]
PostalAddress = Annotated[str, _required(ADDRESS_GRAPHEMES_MAX)]
Title = Annotated[str, _required(50)]
Description = Annotated[str, _Text(500)]
Note = Annotated[str, _Text(NOTE_GRAPHEMES_MAX)]
Reason = Annotated[str, _required(100)]
ThanksText = Annotated[str, _Text(THANKS_GRAPHEMES_MAX, _thanking, r"\S")]
Greeting = Annotated[str, _Text(GREETING_GRAPHEMES_MAX)]
OwnPassphrase = Annotated[
    Annotated[str, _Text(20, _sayable)] | None,
    about("Phrase that a claimer types or says (口令红包); at most 20 characters."),
]
SeenVersion = Annotated[
    Annotated[int, Field(ge=1)] | None,
    about("Version that the client read; an old version returns 409 `version_conflict`."),
]
