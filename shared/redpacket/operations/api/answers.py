"""What operators see of the system, and what anybody sees of its health."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch as SwitchName
from redpacket.packets.api.values import SOME_PACKET_ID, AtMs, BalanceFen, Count, UserToken, Word
from redpacket.platform.http.bodies import about
from redpacket.reconciliation.ports import Table


class Deposit(TypedDict):
    """A deposit, and what the account holds after it."""

    transfer_id: Annotated[
        Word, about("The transfer's name in the ledger.", f"settle#{SOME_PACKET_ID}#3")
    ]
    balance_fen: BalanceFen


class Difference(TypedDict):
    """One rule that something breaks."""

    rule: Annotated[Word, about("The invariant's number, or where it was found.", "I4")]
    subject: Annotated[Word, Field(examples=[f"packet {SOME_PACKET_ID}"])]
    what: Annotated[Word, Field(examples=["settled_fen"])]
    expected: int | str
    actual: int | str


Differences = Annotated[list[Difference], about("What does not add up; empty where all is well.")]


class Audit(TypedDict):
    """What an audit found."""

    ok: Annotated[bool, about("Whether nothing was found.")]
    differences: Differences


class ReconcileProgress(TypedDict):
    """How far a comparison is that is not over; null where it is."""

    table: Table | None
    row_count: Count


class Reconciliation(TypedDict):
    """`ok` is null while nothing is wrong and not all has been compared."""

    ok: Annotated[bool | None, about("Whether nothing was found.")]
    differences: Differences
    is_complete: bool
    account_count: Count
    entry_count: Count
    packet_count: Count
    difference_count: Count
    moving_count: Count
    held_fen: int
    started_at_ms: AtMs
    until_ms: AtMs
    progress: ReconcileProgress | None


class Switch(TypedDict):
    """How a switch stands; `changed_at_ms` is null for one that was never changed."""

    # Not the enumeration itself: it has this form's name.
    name: Annotated[str, Field(json_schema_extra={"enum": list(SwitchName)})]
    on: Annotated[
        bool, about("False refuses what the switch names, everywhere within ten seconds.")
    ]
    reason: Annotated[str, about("For operators who find it off.", "payouts are being checked")]
    changed_at_ms: AtMs | None


class Switches(TypedDict):
    """All switches."""

    items: Annotated[list[Switch], about("The page.", max_length=len(SwitchName))]


class Limit(TypedDict):
    """One limit; the audit log has who set it."""

    name: LimitName
    value: Count
    default: Count
    lowest: Count
    highest: Count


class Limits(TypedDict):
    """All limits."""

    items: Annotated[list[Limit], about("The page.", max_length=len(LimitName))]


class Risk(TypedDict):
    """The verdict that holds for a user now."""

    verdict: Annotated[Literal["allow", "deny"], about("Whether they may take part in anything.")]
    until_ms: AtMs


class Erased(TypedDict):
    """Who is erased: all that names them from now on."""

    user_token: UserToken


class Health(TypedDict):
    """Whether the API answers."""

    status: Annotated[Literal["ok"], about("Where it stands.")]
    version: Annotated[Word, Field(examples=["0.1.0"])]
