"""Response schemas for operators, and for the health check."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.operations.model.limits import LimitName
from redpacket.operations.model.switches import Switch as SwitchName
from redpacket.packets.api.answer_fields import SOME_PACKET_ID
from redpacket.platform.http.answer_fields import AtMs, BalanceFen, Count, UserToken, Word
from redpacket.platform.http.bodies import about


class Deposit(TypedDict):
    """A deposit, and the account's balance after it."""

    transfer_id: Annotated[
        Word, about("The transfer's id in the ledger.", f"settle#{SOME_PACKET_ID}#3")
    ]
    balance_fen: BalanceFen


class Difference(TypedDict):
    """One violated rule."""

    rule: Annotated[Word, about("The invariant's number, or the place of the difference.", "I4")]
    subject: Annotated[Word, Field(examples=[f"packet {SOME_PACKET_ID}"])]
    what: Annotated[Word, Field(examples=["settled_fen"])]
    expected: int | str
    actual: int | str


Differences = Annotated[list[Difference], about("Violated rules; empty if all hold.")]


class Audit(TypedDict):
    """Result of an audit."""

    ok: Annotated[bool, about("Whether all rules hold.")]
    differences: Differences


class StartedRun(TypedDict):
    """Reconciliation that has started."""

    run_id: Annotated[Word, about("Its id, for `GET /admin/reconcile/{run_id}`.", "3f" * 16)]


class Check(TypedDict):
    """Result of one check."""

    name: Annotated[Word, Field(examples=["check_postings"])]
    examined: Annotated[Count, about("Rows that it read; 0 proves nothing.")]
    differences: Count


class Reconciliation(TypedDict):
    """Status of a reconciliation; `checks` and `differences` are empty until it is done."""

    run_id: Word
    status: Literal["running", "done", "failed"]
    step: Annotated[Word | None, about("Current step of a run.", "comparing")]
    checks: list[Check]
    differences: Differences
    is_truncated: Annotated[
        bool, about("Whether more differences were found than are listed; `checks` counts all.")
    ]
    until_ms: Annotated[
        AtMs | None, about("Facts from this time on are left to the next run; null until then.")
    ]
    export: Annotated[
        Literal["full", "incremental"] | None,
        about("Whether all rows were exported, or changes to those of the last run.", "full"),
    ]


class Switch(TypedDict):
    """State of a switch; `changed_at_ms` is null if it was never changed."""

    # The enumeration itself would have the same schema name.
    name: Annotated[str, Field(json_schema_extra={"enum": list(SwitchName)})]
    on: Annotated[bool, about("False turns the function off everywhere within ten seconds.")]
    reason: Annotated[
        str, about("Reason of the change, for other operators.", "payouts are being checked")
    ]
    changed_at_ms: AtMs | None


class Switches(TypedDict):
    """All switches."""

    items: Annotated[list[Switch], about("The page.", max_length=len(SwitchName))]


class Limit(TypedDict):
    """One limit; the audit log has its operator."""

    name: LimitName
    value: Count
    default: Count
    lowest: Count
    highest: Count


class Limits(TypedDict):
    """All limits."""

    items: Annotated[list[Limit], about("The page.", max_length=len(LimitName))]


class Refusal(TypedDict):
    """Requests that were refused with one code."""

    code: Annotated[str, about("The problem's code.", "packet_emptied")]
    count: Count


class Funnel(TypedDict):
    """Counts of the stages from a visit to a withdrawal."""

    visited: Annotated[Count, about("Signed-in users' first reads of a packet or a lottery.")]
    tried: Annotated[Count, about("Grabs and draws, repeats included.")]
    won: Annotated[Count, about("New shares, and draws that won a prize.")]
    credited: Annotated[Count, about("Shares and cash prizes that reached an account.")]
    withdrawn: Annotated[Count, about("Withdrawals that were paid out.")]


class Refusals(TypedDict):
    """Refused requests of the deployment by code, the most frequent first."""

    hours: Count
    funnel: Funnel
    items: Annotated[list[Refusal], about("All codes that were answered.", max_length=500)]


class Risk(TypedDict):
    """Current risk decision on a user."""

    verdict: Annotated[Literal["allow", "deny"], about("Whether the user may take part.")]
    until_ms: AtMs


class Erased(TypedDict):
    """Erased user, now only identified by the token."""

    user_token: UserToken


class Health(TypedDict):
    """Health of the API."""

    status: Annotated[Literal["ok"], about("Current status.")]
    version: Annotated[Word, Field(examples=["0.1.0"])]
