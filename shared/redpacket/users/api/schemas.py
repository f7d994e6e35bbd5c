"""Request bodies of deposits and profiles."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from redpacket.packets.api.request_fields import NICKNAME_GRAPHEMES_MAX, Fen, ImageUrl, Nickname
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.user_id import HOST_ID, check_host_id


def _host_id(text: str) -> str:
    try:
        return check_host_id(text)
    except Forbidden:
        raise ValueError("is not a valid user id") from None


HostId = Annotated[
    str,
    AfterValidator(_host_id),
    Field(json_schema_extra={"pattern": f"^{HOST_ID.pattern}$"}, examples=["alice"]),
]
"""The host's user id: the subject of the user's token."""


class DepositBody(StrictBody):
    """POST /admin/deposits; *user* is the host's user id: the subject of the user's token."""

    model_config = example({"user": "alice", "amount_fen": 100000})

    user: Annotated[HostId, about("The host's user id of the account's owner.")]
    amount_fen: Annotated[Fen, about("Amount to credit.")]
    is_for_campaigns: Annotated[
        bool,
        about("From now on, the account pays only for campaigns. It must be new or already so."),
    ] = False


class ProfileBody(StrictBody):
    """PUT /me/profile."""

    model_config = example({"nickname": "Alice", "avatar_url": None})

    nickname: Annotated[Nickname, about(f"At most {NICKNAME_GRAPHEMES_MAX} characters.")]
    avatar_url: Annotated[
        ImageUrl | None, about("An https address on one of the deployment's `AvatarHosts`.")
    ] = None
