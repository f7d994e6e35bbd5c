"""Request body for editing a campaign's list of users."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from redpacket.campaigns.model import AudienceMode
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import HostId

USERS_MAX = 500
"""Maximum users in one call."""

BODY_BYTES_MAX = 72 * 1024
"""Maximum bytes of a body, enough for the maximum number of users with the longest ids."""


class AudienceBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/audience."""

    model_config = example({"add": ["alice", "bob"], "mode": "allow"})

    add: Annotated[list[HostId], about("Users to add to the list.", max_length=USERS_MAX)] = Field(
        default_factory=list
    )
    remove: Annotated[
        list[HostId], about("Users to remove from the list.", max_length=USERS_MAX)
    ] = Field(default_factory=list)
    remove_all: Annotated[
        bool,
        about(
            "True removes as many users as possible within 20 seconds; repeat the call until "
            "`size` is 0. No other field is allowed in this call. If the list has a mode, the "
            "campaign must not be running: set its status to `off` first."
        ),
    ] = False
    mode: Annotated[
        Literal["allow", "deny"] | None,
        about(
            "Mode of the list: `allow` lets only listed users take part, `deny` only unlisted "
            "users. The list has no effect until a mode is set; null keeps the current mode."
        ),
    ] = None

    @model_validator(mode="after")
    def _is_not_too_long(self) -> AudienceBody:
        if len(self.add) + len(self.remove) > USERS_MAX:
            raise ValueError(f"add and remove are at most {USERS_MAX} users together")
        if self.remove_all and (self.add or self.remove or self.mode):
            raise ValueError("remove_all takes no add, remove or mode")
        return self

    @property
    def audience_mode(self) -> AudienceMode | None:
        """Audience mode as the model's enum."""
        return AudienceMode(self.mode) if self.mode else None
