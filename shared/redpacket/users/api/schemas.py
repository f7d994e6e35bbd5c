"""The bodies of deposits and profiles."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from redpacket.packets.api.fields import NICKNAME_GRAPHEMES_MAX, Fen, ImageUrl, Nickname
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.user_id import HOST_ID, check_host_id


def _host_id(text: str) -> str:
    try:
        return check_host_id(text)
    except Forbidden:
        raise ValueError("can't be a user id") from None


HostId = Annotated[
    str,
    AfterValidator(_host_id),
    Field(json_schema_extra={"pattern": f"^{HOST_ID.pattern}$"}, examples=["alice"]),
]
"""Whom the host calls so: the subject of their token."""


class DepositBody(StrictBody):
    """POST /admin/deposits; *user* is whom the host calls so: the subject of their token."""

    model_config = example({"user": "alice", "amount_fen": 100000})

    user: Annotated[HostId, about("The account owner's id: the subject of their token.")]
    amount_fen: Annotated[Fen, about("What the account gets.")]
    is_for_campaigns: Annotated[
        bool,
        about("The account pays for campaigns alone from now on. It must be new, or so already."),
    ] = False


class ProfileBody(StrictBody):
    """PUT /me/profile."""

    model_config = example({"nickname": "Alice", "avatar_url": None})

    nickname: Annotated[Nickname, about(f"At most {NICKNAME_GRAPHEMES_MAX} characters.")]
    avatar_url: Annotated[
        ImageUrl | None, about("An https address on one of the deployment's `AvatarHosts`.")
    ] = None
