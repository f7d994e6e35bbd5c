"""Request body for creating or editing a campaign."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from redpacket.campaigns.model import (
    TIMEZONE,
    TIMEZONE_DEFAULT,
    AmountsShown,
    CampaignPlan,
    CampaignStatus,
    DrawRules,
    WhenSoldOut,
    is_timezone,
)
from redpacket.platform.bounds import AT_MS_MAX, FEN_MAX
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import (
    WEIGHT_MAX,
    Description,
    OwnPassphrase,
    PerUser,
    SeenVersion,
    Title,
)

_DEFAULT = DrawRules()


def _timezone(name: str) -> str:
    if not is_timezone(name):
        raise ValueError("is not a time zone, like Asia/Shanghai")
    return name


ClaimName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:/-]{1,128}$")]
ClaimValue = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,128}$")]
"""Claim value without spaces, because API Gateway writes a list as "[a b]"."""
AtMs = Annotated[int, Field(ge=0, le=AT_MS_MAX)]
AmountsWord = Literal["live", "end"]


class RulesBody(StrictBody):
    """Limits for one user and one day."""

    attempts_per_user_per_day: Annotated[PerUser, about("Maximum attempts; 0: no limit.")] = 0
    wins_per_user_per_day: Annotated[
        PerUser, about("Maximum wins; later draws that day miss. 0: no limit.")
    ] = 0
    guaranteed_after_misses: Annotated[
        PerUser,
        about("Consecutive misses after which the next draw wins if a prize is left; 0: never."),
    ] = 0
    helps_per_user_per_day: Annotated[
        PerUser, about("Maximum attempts per day that friends give to one user; 0: none.")
    ] = _DEFAULT.helps_per_user_per_day
    helps_given_per_user_per_day: Annotated[
        PerUser, about("Maximum helps per day that one user gives to friends; 0: none.")
    ] = _DEFAULT.helps_given_per_user_per_day


class CampaignBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}.

    Without *budget_fen*, an edit keeps the budget, and a new campaign starts with 0.
    """

    model_config = example(
        {
            "title": "New Year",
            "starts_at_ms": 1800000000000,
            "ends_at_ms": 1800086400000,
            "timezone": "Asia/Shanghai",
            "miss_weight": 90,
            "rules": {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1},
            "budget_fen": 1000000,
            "quota_per_user": 1,
            "status": "on",
        }
    )

    title: Title
    description: Description = ""
    starts_at_ms: Annotated[
        AtMs,
        about(
            "Time before which grabs and draws are refused. An edit takes effect for grabs within "
            "five seconds."
        ),
    ]
    ends_at_ms: Annotated[
        AtMs,
        about(
            "End of the campaign and of its open packets; a packet with `expires_in_s` may end "
            "earlier. An edit takes effect for grabs within five seconds. Moving the end later "
            "requires that the campaign's cash prizes are still open."
        ),
    ]
    end_now: Annotated[
        bool,
        about(
            "True ends a started campaign now, by the server's clock, and ignores `ends_at_ms`. "
            "A retry does not move the end."
        ),
    ] = False
    timezone: Annotated[
        str,
        StringConstraints(max_length=64),
        AfterValidator(_timezone),
        about(
            "Time zone of the campaign's days; fixed once the campaign has prizes.",
            json_schema_extra={"pattern": f"^({TIMEZONE.pattern})$"},
        ),
    ] = TIMEZONE_DEFAULT
    miss_weight: Annotated[
        int,
        about("Weight of a miss, relative to the weights of the prizes.", ge=0, le=WEIGHT_MAX),
    ] = 0
    rules: Annotated[RulesBody, about("Limits for one user.")] = RulesBody()
    when_sold_out: Annotated[
        Literal["redistribute", "miss"],
        about("Recipient of a sold-out prize's weight: the other prizes, or the miss."),
    ] = "redistribute"
    passphrase: OwnPassphrase = None
    budget_fen: Annotated[
        Annotated[int, Field(ge=0, le=FEN_MAX)] | None,
        about("Maximum total of the campaign's packets. An edit that omits it keeps the budget."),
    ] = None
    quota_per_user: Annotated[
        PerUser, about("Maximum shares of the campaign's packets for one user; 0: no limit.")
    ] = 0
    amounts_shown: Annotated[
        AmountsWord,
        about(
            "`end` hides others' amounts until a packet has ended. It applies only to packets "
            "sent from now on."
        ),
    ] = "end"
    draw_beacon: Annotated[
        Literal["none"] | None, about("Must be `none`: draws use no external source of randomness.")
    ] = None
    required_claims: Annotated[
        dict[ClaimName, Annotated[list[ClaimValue], Field(min_length=1, max_length=100)]],
        about(
            "Token claims that a user needs to take part, each with its allowed values. A list "
            "claim must contain one of these values.",
            max_length=10,
            json_schema_extra={"additionalProperties": False},
        ),
    ] = Field(default_factory=dict)
    status: Annotated[Literal["on", "off"], about("`off` refuses grabs and draws.")]
    version: SeenVersion = None

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> CampaignBody:
        if self.ends_at_ms <= self.starts_at_ms:
            raise ValueError("ends_at_ms is not after starts_at_ms")
        return self

    def plan(self, campaign_id: str) -> CampaignPlan:
        """Return the plan."""
        return CampaignPlan(
            campaign_id=campaign_id,
            title=self.title,
            description=self.description,
            starts_at_ms=self.starts_at_ms,
            ends_at_ms=self.ends_at_ms,
            timezone=self.timezone,
            miss_weight=self.miss_weight,
            rules=DrawRules(
                self.rules.attempts_per_user_per_day,
                self.rules.wins_per_user_per_day,
                self.rules.guaranteed_after_misses,
                self.rules.helps_per_user_per_day,
                self.rules.helps_given_per_user_per_day,
            ),
            when_sold_out=WhenSoldOut(self.when_sold_out),
            passphrase=self.passphrase,
            quota_per_user=self.quota_per_user,
            amounts_shown=AmountsShown(self.amounts_shown),
            status=CampaignStatus(self.status),
            required_claims=tuple(
                (name, tuple(values)) for name, values in sorted(self.required_claims.items())
            ),
        )
