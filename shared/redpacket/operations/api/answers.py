"""Response schemas for operators, and for the health check."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch as SwitchName
from redpacket.platform.http.answer_fields import AtMs, BalanceFen, Count, UserToken, Word
from redpacket.platform.http.bodies import about


class Deposit(TypedDict):
    """Deposit or move of campaign money, with the account's new balance."""

    transfer_id: Annotated[Word, about("The transfer's id in the ledger.", f"deposit:{'3f' * 16}")]
    balance_fen: BalanceFen


class Switch(TypedDict):
    """State of a switch; `changed_at_ms` is null if the switch was never changed."""

    # The enum class would get the same schema name as this type.
    name: Annotated[str, Field(json_schema_extra={"enum": list(SwitchName)})]
    on: Annotated[bool, about("False turns the function off everywhere within ten seconds.")]
    reason: Annotated[
        str, about("Reason for the change, for other operators.", "payouts are being checked")
    ]
    changed_at_ms: AtMs | None


class Switches(TypedDict):
    """All switches."""

    items: Annotated[list[Switch], about("Items on this page.", max_length=len(SwitchName))]


class Limit(TypedDict):
    """One limit; the audit log names the operator who set it."""

    name: LimitName
    value: Count
    default: Count
    lowest: Count
    highest: Count


class Limits(TypedDict):
    """All limits."""

    items: Annotated[list[Limit], about("Items on this page.", max_length=len(LimitName))]


class Refusal(TypedDict):
    """Number of requests that were refused with one code."""

    code: Annotated[str, about("The problem's code.", "packet_emptied")]
    count: Count


class Funnel(TypedDict):
    """Counts for each stage from a visit to a withdrawal."""

    visited: Annotated[Count, about("Signed-in users' first reads of a packet or a lottery.")]
    tried: Annotated[Count, about("Grabs and draws, including retries.")]
    won: Annotated[Count, about("New shares, and draws that won a prize.")]
    credited: Annotated[Count, about("Shares and cash prizes that reached an account.")]
    withdrawn: Annotated[Count, about("Withdrawals that were paid out.")]


class Refusals(TypedDict):
    """Numbers of refused requests for each code, most frequent first, and the funnel."""

    hours: Count
    funnel: Funnel
    items: Annotated[list[Refusal], about("Counts for all returned codes.", max_length=500)]


class Risk(TypedDict):
    """Current risk decision on a user."""

    verdict: Annotated[Literal["allow", "deny"], about("Whether the user may take part.")]
    until_ms: AtMs


class Erased(TypedDict):
    """Erased user, now identified only by the user token."""

    user_token: UserToken


class CampaignAccount(TypedDict):
    """User, and whether their account is reserved for campaigns."""

    user_token: UserToken
    is_for_campaigns: bool


class UnitOfAccount(TypedDict):
    """Unit of all amounts. Fields that end with `_fen` are integers in its minor unit."""

    name: Annotated[Word, Field(examples=["CNY"])]
    symbol: Annotated[Word, Field(examples=["¥"])]
    decimals: Annotated[Literal[0, 2], about("Decimal places of an amount in this unit.")]


class Health(TypedDict):
    """Health of the API."""

    status: Annotated[Literal["ok"], about("Current status.")]
    version: Annotated[Word, Field(examples=["1.0.0"])]
    unit: NotRequired[UnitOfAccount]
