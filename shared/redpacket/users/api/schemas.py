"""Request bodies for deposits, campaign money and profiles."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import AvatarUrl, Fen, HostId, Nickname, Note
from redpacket.platform.text import NICKNAME_GRAPHEMES_MAX


class DepositBody(StrictBody):
    """POST /admin/deposits; *user* is the payee's host id: the subject of the user's token."""

    model_config = example({"user": "alice", "amount_fen": 100000})

    user: Annotated[HostId, about("Host id of the account's owner.")]
    amount_fen: Annotated[Fen, about("Amount to credit.")]
    is_for_campaigns: Annotated[
        bool,
        about(
            "From now on, the account pays only for campaigns and accepts no payments. It must be "
            "new or already reserved."
        ),
    ] = False
    case: Annotated[
        Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=128)] | None,
        about(
            "The case that the deposit settles, such as a provider's transaction. A case accepts "
            "only one deposit; later requests return the first result."
        ),
    ] = None


class CampaignMoneyBody(StrictBody):
    """POST /admin/accounts/{user}/campaign-money; *user* receives the money of the path's user."""

    model_config = example({"user": "bob", "reason": "alice left"})

    user: Annotated[HostId, about("Host id of the owner of the receiving campaign account.")]
    reason: Annotated[Note, about("Reason for the audit log.")]


class ProfileBody(StrictBody):
    """PUT /me/profile."""

    model_config = example({"nickname": "Alice", "avatar_url": None})

    nickname: Annotated[Nickname, about(f"At most {NICKNAME_GRAPHEMES_MAX} characters.")]
    avatar_url: Annotated[
        AvatarUrl | None,
        about(
            "An https address on one of the deployment's `AvatarHosts`, or the path of one of the "
            "page's seals or of a picture that the user uploaded. Responses contain the full URL."
        ),
    ] = None
