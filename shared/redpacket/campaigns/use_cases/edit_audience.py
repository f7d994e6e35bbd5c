"""Edits of a campaign's list of allowed or denied users, and loads of the list into the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.campaigns.model import AUDIENCE_BUCKETS, AudienceMode, CampaignState
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.operations.model.operators import Operator
from redpacket.platform.errors import InvalidRequest, Unavailable

if TYPE_CHECKING:
    from redpacket.campaigns.dynamodb.audiences import DynamoAudiences
    from redpacket.campaigns.ports import AudienceCache, CampaignRepository
    from redpacket.platform.runtime import Clock


_LOAD_LIFE_MS = 2_000
"""Milliseconds after which another load may start; loading 4,000 users takes 50 ms."""

_USERS_AT_ONCE = 98
"""Users to remove per transaction; the time is checked between transactions."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Size and mode of a campaign's list."""

    size: int
    mode: AudienceMode | None


@dataclass(frozen=True, slots=True)
class AudiencePorts:
    """Dependencies of edits; *load_lottery* loads a campaign into the cache.

    *check_cash* raises Forbidden if an edit affects more cash than the operator may move;
    otherwise it returns the campaign version that it checked.
    """

    campaigns: CampaignRepository
    rows: DynamoAudiences
    cache: AudienceCache
    load_lottery: Callable[[str], None]
    check_cash: Callable[[str, Operator], int]


def edit_audience(
    campaign_id: str,
    add: Sequence[str],
    remove: Sequence[str],
    mode: AudienceMode | None,
    note: Callable[[], object],
    operator: Operator,
    *,
    ports: AudiencePorts,
) -> Audience:
    """Edit the list and then its mode; None keeps the mode.

    Call *note* before the first change. Raises CampaignNotFound, InvalidRequest, Forbidden from
    *check_cash*, and Contended after concurrent edits. Raises Unavailable if the cache may lack the
    edit; a repeated call then updates the cache.
    """
    campaign = get_campaign(campaign_id, campaigns=ports.campaigns)
    version = ports.check_cash(campaign_id, operator)
    if both := set(add) & set(remove):
        message = f"{len(both)} of them are also in add. List each user once"
        raise InvalidRequest.of("remove", message)
    note()
    users = tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove))
    size = ports.rows.edit(campaign_id, *users, version)
    ports.cache.edit(campaign_id, *users)
    if mode and mode is not campaign.audience_mode:
        ports.rows.set_mode(campaign_id, mode, version)
        ports.load_lottery(campaign_id)
    return Audience(size, mode or campaign.audience_mode)


def clear_audience(
    campaign_id: str,
    stop_at_ms: int,
    note: Callable[[], object],
    operator: Operator,
    *,
    ports: AudiencePorts,
    clock: Clock,
) -> Audience:
    """Remove users until *stop_at_ms* or until the list is empty (size 0).

    Raises CampaignNotFound, Forbidden from *check_cash*, and InvalidRequest if the list has a mode
    and the campaign is running.
    """
    campaign = get_campaign(campaign_id, campaigns=ports.campaigns)
    is_on = campaign.state(clock.now_ms()) is CampaignState.ON
    if campaign.audience_mode and is_on:
        message = "needs a campaign that is not running. Set its status to off first"
        raise InvalidRequest.of("remove_all", message)
    audience = edit_audience(campaign_id, (), (), None, note, operator, ports=ports)
    for bucket in range(AUDIENCE_BUCKETS):
        members = ports.rows.list_members(campaign_id, bucket) if audience.size else []
        for start in range(0, len(members), _USERS_AT_ONCE):
            chunk = members[start : start + _USERS_AT_ONCE]
            audience = edit_audience(campaign_id, (), chunk, None, bool, operator, ports=ports)
            if clock.now_ms() >= stop_at_ms:
                return audience
    return audience


def find_listed(campaign_id: str, user_id: str, *, ports: AudiencePorts) -> tuple[Audience, bool]:
    """Return a campaign's list, and whether the user is on it. Raises CampaignNotFound."""
    campaign, rows = get_campaign(campaign_id, campaigns=ports.campaigns), ports.rows
    audience = Audience(rows.size(campaign_id), campaign.audience_mode)
    return audience, rows.is_member(campaign_id, user_id)


def load_audience(
    campaign_id: str, bucket: int, *, rows: DynamoAudiences, cache: AudienceCache
) -> None:
    """Load one bucket. Raises Unavailable if another caller loads or edits the bucket."""
    lock_token = cache.begin_load(campaign_id, bucket, _LOAD_LIFE_MS)
    if lock_token is None or not cache.load(
        campaign_id, bucket, lock_token, rows.list_members(campaign_id, bucket)
    ):
        raise Unavailable("The campaign's list of users is being loaded. Try again.")
