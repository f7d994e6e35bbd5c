"""Every function against every kind of row: only the functions that MAY lists for a kind can put,
update or read its rows.

PutItem is tried with the key alone, because it replaces the whole row: a function that may put a
row can also destroy one. PutItem is also tried with the row's decisive attribute, which some policy
statements require, and UpdateItem only with this attribute. Reads are tried for the whole row,
with its key or no attributes named, and as writes that return attributes. IAM cannot restrict
`ReturnValuesOnConditionCheckFailure`, with which a failed condition may return a row;
docs/how-to/try-on-aws.md tries this on AWS.
"""

import json
from dataclasses import replace

import pytest

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.chat.dynamodb import keys as chat_keys
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import DEPOSITS
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.users.dynamodb import notices
from tests.template.iam import ALL, NAMED, Access, may
from tests.template.translated import STACK_OF

STACK = STACK_OF["sign-in by WeChat, and a cache that is reached from anywhere"]
FUNCTIONS = sorted(STACK.of_type("AWS::Lambda::Function"))

ROWS = {
    "balance": ("Accounts", keys.account("user:u"), "balance_fen"),
    "mark": ("Accounts", keys.account("user:u"), "is_for_campaigns"),
    "debt": ("Accounts", keys.account("receivable:u"), "balance_fen"),
    "deposits": ("Accounts", keys.account(DEPOSITS), "balance_fen"),
    "receipt": ("Accounts", keys.receipt("p", 1), "account"),
    "posted": ("Accounts", keys.posted("payment:1"), "at_ms"),
    "request": ("Accounts", keys.request("o", "deposit", "h"), "result_id"),
    "request_copy": ("Accounts", keys.request_copy("1"), "result_id"),
    "packet": ("Packets", packet_keys.packet("p"), "status"),
    "thanks": ("Quotas", packet_keys.thanks("p", 1), "share_1"),
    "share": ("Shares", packet_keys.share("p", 1), "settled_at_ms"),
    "claim": ("Shares", packet_keys.share("p", 1), "user_id"),
    "claim_in_chat": ("Shares", packet_keys.share("p", 1), "chat_id"),
    "quota": ("Quotas", packet_keys.claim_count("c", "u"), "count"),
    "member": ("Audience", campaign_keys.member("c", "u"), "is_member"),
    "verdict": ("Audience", operator_keys.verdict("u"), "denied_until_ms"),
    "user_notice": ("Audience", {**notices.partition("u"), "sk": "1#thanked#p"}, "expires_at_s"),
    "campaign": ("Campaigns", campaign_keys.campaign("c"), "budget_fen"),
    "prizes": ("Campaigns", campaign_keys.shown("c"), "prizes"),
    "terms": ("Packets", packet_keys.packet("p"), "terms"),
    "seed": ("Campaigns", campaign_keys.lottery_seed("c"), "seed"),
    "unit": ("Draws", draw_keys.unit("c", "z", 1), "user_id"),
    "decision": ("Draws", draw_keys.unit("c", "z", 1), "winner_status"),
    "place": ("Draws", draw_keys.stock("c", "z", ""), "until_no"),
    "code": ("Codes", draw_keys.code("c", "z", 1), "code"),
    "code_count": ("Codes", draw_keys.code_count("c", "z"), "code_count"),
    "payment": ("Payments", payment_keys.payment("1"), "amount_fen"),
    "packet_payment": ("Payments", payment_keys.payment("1"), "packet_id"),
    "withdrawal": ("Payments", payment_keys.withdrawal("1"), "withdrawal_status"),
    "expiring_withdrawal": ("Payments", payment_keys.withdrawal("1"), "expires_at_s"),
    "withdrawn": ("Payments", payment_keys.withdrawn("u", "d"), "expires_at_s"),
    "pace": ("Payments", payment_keys.provider_row("wechat", "pace"), "slots"),
    "payee": ("Payments", payment_keys.payee("wechat", "u"), "expires_at_s"),
    "outside_account": ("Payments", payment_keys.outside_account("wechat", "h"), "expires_at_s"),
    "consent": ("Payments", payment_keys.authorization("1"), "expires_at_s"),
    "notice": ("Payments", payment_keys.notice("wechat", "1"), "expires_at_s"),
    "commitment": ("Commitments", log_keys.commitment("h"), "commitment"),
    "log_place": ("Commitments", log_keys.commitment("h"), "log_index"),
    "log": ("Log", log_keys.log_entries(1), "root"),
    "action": ("Journal", operator_keys.action("1"), "operator_id"),
    "money_approval": ("Approvals", operator_keys.approval("0"), "status"),
    "campaign_approval": ("Approvals", operator_keys.approval("2"), "status"),
    "prize_approval": ("Approvals", operator_keys.approval("3"), "status"),
    "allowance": ("Approvals", operator_keys.allowance("o", "u"), "sums"),
    "host_id": ("Profiles", {"pk": "u"}, "host_id"),
    "nickname": ("Profiles", {"pk": "u"}, "nickname"),
    "address": ("Profiles", {"pk": "u"}, "goods_address"),
    "webhook": ("Webhooks", operator_keys.webhook("w"), "target_url"),
    "chat": ("Chat", chat_keys.chat("telegram", "-1"), "is_admitted"),
    "moved_chat": ("Chat", chat_keys.chat("telegram", "-1"), "moved_from"),
    "card": ("Chat", chat_keys.card("p"), "message_id"),
    "message": ("Chat", chat_keys.message("telegram", "-1", "1"), "packet_id"),
    "hint": ("Chat", chat_keys.hint("telegram", "-1"), "expires_at_s"),
    "spent": ("Chat", chat_keys.spent("telegram:-1", 1), "spent_fen"),
    "switches": ("Switches", operator_keys.switches(), "send_is_on"),
    "fixed_unit": ("Switches", operator_keys.switches(), "unit_of_account"),
}
"""Kinds of rows: table, key, and decisive attribute."""

MAY = """
balance              Admin:pru Approval:pru Chat:pru Erasure:r Expire:pu Payment:pru Payout:pu \
                     Prize:pu Profile:r Reconcile:r Records:r Send:pu Transfer:pru
mark                 Admin:pru Approval:pru Chat:pru Erasure:r Expire:p Payment:pru Payout:p \
                     Prize:pu Profile:r Reconcile:r Records:r Send:pu Transfer:pru
debt                 Admin:r Approval:r Erasure:r Payment:pru Profile:r Reconcile:r Records:r \
                     Transfer:pru
deposits             Admin:pru Approval:pru Erasure:r Payment:r Profile:r Reconcile:r Records:r \
                     Transfer:r
receipt              Admin:r Approval:r Erasure:r Expire:p Payment:r Payout:p Profile:r \
                     Reconcile:r Records:r Transfer:r
posted               Admin:r Approval:r Erasure:r Payment:pr Profile:r Reconcile:r Records:r \
                     Transfer:pr
request              Admin:pr Approval:pr Erasure:r Payment:r Profile:r Reconcile:r Records:r \
                     Transfer:r
request_copy         Admin:pr Approval:pr Chat:pr Erasure:r Payment:pr Prize:pr Profile:r \
                     Reconcile:r Records:r Send:pr Transfer:pr
packet               Admin:r Announce:r Approval:pru Campaign:ru Chat:pru Erasure:r Expire:pru \
                     Grab:r Order:r Payment:r Payout:pru Prize:pr Reconcile:r Records:r Send:pru \
                     Transfer:ru
thanks               Admin:ru Chat:r Erasure:ru Grab:ru Records:r
share                Admin:r Approval:r Campaign:r Chat:r Erasure:r Expire:ru Grab:r Lottery:r \
                     Payout:ru Prize:r Reconcile:r Records:r
claim                Admin:r Approval:r Campaign:r Chat:ru Erasure:r Expire:ru Grab:ru Lottery:ru \
                     Payout:ru Prize:r Reconcile:r Records:r
claim_in_chat        Admin:r Approval:r Campaign:r Chat:ru Erasure:r Expire:ru Grab:r Lottery:r \
                     Payout:ru Prize:r Reconcile:r Records:r
quota                Grab:ru
member               Campaign:ru Erasure:ru Grab:r Lottery:r
verdict              Admin:u Erasure:ru Grab:r Lottery:r
user_notice          Announce:u Erasure:ru Grab:u Profile:ru
campaign             Admin:r Approval:pru Campaign:pru Grab:r Lottery:r Prize:r Reconcile:r \
                     Send:r
seed                 Admin:r Approval:pru Campaign:pru Lottery:r Reconcile:r
prizes               Admin:r Approval:pru Campaign:pru Grab:r Lottery:r Prize:ru Reconcile:r \
                     Send:r
terms                Admin:r Announce:r Approval:pru Campaign:r Chat:pru Erasure:r Expire:pru \
                     Grab:r Order:r Payment:r Payout:pru Prize:pr Reconcile:r Records:r Send:pru \
                     Transfer:r
unit                 Admin:r Approval:r Campaign:r Lottery:pru Prize:r Profile:r Reconcile:r
decision             Admin:r Approval:r Campaign:r Lottery:pru Prize:ru Profile:r Reconcile:r
place                Admin:r Approval:ru Campaign:ru Lottery:pru Prize:ru Reconcile:r
code                 Lottery:r Prize:p
code_count           Lottery:r Prize:pru
payment              Erasure:r Order:r Payment:pru Transfer:pru
packet_payment       Erasure:r Order:pr Payment:pru Transfer:pru
withdrawal           Erasure:r Payment:pru Transfer:pru
expiring_withdrawal  Erasure:r Payment:pru Transfer:pru
withdrawn            Erasure:r Order:u Payment:pru Transfer:pru
pace                 Erasure:r Payment:pru Transfer:pru
payee                Erasure:ru Order:r Payment:pru Transfer:pru
outside_account      Erasure:ru Payment:pru Transfer:pru
consent              Erasure:r Payment:pru Transfer:pru
notice               Erasure:r Gateway:pr Payment:pru Transfer:pru
round                Lottery:r
commitment           Approval:p Campaign:p Chat:p Log:r Send:p
log_place            Approval:p Campaign:p Chat:p Log:ru Send:p
log                  Log:pr Reconcile:r Records:r
action               Admin:pr Approval:p Campaign:p Erasure:p Payment:p Prize:p Reconcile:p \
                     Send:p Webhooks:p
money_approval       Admin:pr Approval:ru Campaign:r Prize:r
campaign_approval    Admin:r Approval:ru Campaign:pr Prize:r
prize_approval       Admin:r Approval:ru Campaign:r Prize:pr
allowance            Admin:pru Campaign:pru Payment:pru Prize:pru Send:pru
host_id              Admin:u Campaign:u Chat:u Erasure:u Lottery:u Payment:u Payout:u Prize:u \
                     Send:u
nickname             Erasure:u Profile:u
address              Erasure:u Profile:u
webhook              Announce:r Deliver:r Webhooks:pru
switches             Admin:ru Chat:r Expire:r Grab:r Lottery:r Payment:r Payout:r Send:r \
                     Transfer:r
fixed_unit           Admin:ru Approval:u Chat:r Expire:r Grab:r Lottery:r Order:u Payment:ru \
                     Payout:r Send:r Transfer:r
chat                 Admin:ru Chat:pr
moved_chat           Admin:ru Chat:pr
card                 Chat:pru
message              Chat:pru
hint                 Chat:pu
spent                Chat:pu
"""
"""Functions that may put or replace (p), update (u) and read (r) each kind of row. No other
function may.
"""


def _letters(function: str, row: str) -> str:
    table, key, attribute = ROWS[row]
    names, update = frozenset(key), frozenset({*key, attribute})
    tried = [("p", "PutItem", named, "", "NONE") for named in (names, update)]
    tried += [("u", "UpdateItem", update, "", "NONE")]
    tried += [
        ("r", action, named, "", returned)
        for action, named in (("PutItem", names), ("UpdateItem", update))
        for returned in ("ALL_OLD", "UPDATED_OLD", "UPDATED_NEW")
    ]
    # AWS does not document whether the attributes of a read include the key, so try both.
    tried += [
        ("r", action, named, ALL, "NONE")
        for action in ("GetItem", "BatchGetItem", "Query", "Scan")
        for named in (names, frozenset[str]())
    ]
    allowed = {
        letter
        for letter, action, named, select, returned in tried
        if may(
            STACK,
            Access(
                *(function, f"dynamodb:{action}", STACK.arn(f"{table}Table"), named),
                partitions=frozenset({key["pk"]}),
                select=select,
                returned=returned,
            ),
        )
    }
    return "".join(letter for letter in "pru" if letter in allowed)


@pytest.mark.parametrize("row", ROWS)
def test_only_the_listed_functions_read_and_write_a_row(row: str) -> None:
    (wanted,) = [line.split()[1:] for line in MAY.splitlines() if line.split()[:1] == [row]]

    granted = [
        f"{function.removesuffix('Function')}:{letters}"
        for function in FUNCTIONS
        if (letters := _letters(function, row))
    ]

    assert granted == wanted


def test_a_read_of_other_attributes_is_refused() -> None:
    shown = Access(
        *("RecordsFunction", "dynamodb:BatchGetItem", STACK.arn("ProfilesTable")),
        frozenset({"pk", "nickname"}),
        select=NAMED,
    )

    assert may(STACK, shown)
    assert not may(STACK, replace(shown, attributes=shown.attributes | {"host_id"}))
    assert not may(STACK, replace(shown, select=ALL))
    assert not may(STACK, replace(shown, attributes=frozenset()))


def test_no_function_deletes_a_row_of_the_audit_log() -> None:
    key = ROWS["action"][1]
    deletes = (
        Access(
            *(function, "dynamodb:DeleteItem", STACK.arn("JournalTable"), frozenset(key)),
            partitions=frozenset({key["pk"]}),
        )
        for function in FUNCTIONS
    )

    assert not [str(access) for access in deletes if may(STACK, access)]


def test_a_replaced_or_removed_row_of_the_audit_log_raises_an_alarm() -> None:
    sources = STACK.of_type("AWS::Lambda::EventSourceMapping")
    patterns = sources["AnnounceJournal"]["FilterCriteria"]["Filters"]
    alarm = STACK.of_type("AWS::CloudWatch::Alarm")["UnreadRecordsAlarm"]

    approvals = sources["AnnounceApprovals"]["FilterCriteria"]["Filters"]

    # A stream has no record of an unchanged row, so a repeated PutItem call raises no alarm.
    assert [json.loads(each["Pattern"]) for each in patterns] == [
        {"eventName": ["MODIFY", "REMOVE"]}
    ]
    # TTL removes only the daily sums in ApprovalsTable, never approvals.
    keys = {"pk": {"S": [{"prefix": "approval#"}]}}
    assert [json.loads(each["Pattern"]) for each in approvals] == [
        {"eventName": ["MODIFY", "REMOVE"], "dynamodb": {"Keys": keys}}
    ]
    # AnnounceFunction sends the records of altered rows to the queue that this alarm watches.
    assert (alarm["MetricName"], alarm["Threshold"]) == ("ApproximateNumberOfMessagesVisible", 1)
    assert "audit log" in alarm["AlarmDescription"]


ADDED = {
    "the cause of moved money": ("Journal", operator_keys.action("1"), {"is_cause"}),
    "an approved cause": ("Journal", operator_keys.action("1"), {"is_approved"}),
    "a return of a payment": ("Payments", payment_keys.payment_return("1", "t"), {"return_status"}),
    "a campaign": ("Campaigns", campaign_keys.campaign("c"), set[str]()),
    "a lottery": ("Campaigns", campaign_keys.shown("c"), set[str]()),
    "seeds": ("Campaigns", campaign_keys.lottery_seed("c"), set[str]()),
    "a window": ("Campaigns", campaign_keys.window("c", 1), set[str]()),
}
MAY_ADD = {
    "the cause of moved money": {"Admin", "Approval"},
    "an approved cause": {"Approval"},
    "a return of a payment": {"Payment", "Transfer"},
    "a campaign": {"Approval", "Campaign"},
    "a lottery": {"Approval", "Campaign"},
    "seeds": {"Approval", "Campaign"},
    "a window": {"Approval", "Campaign"},
}


@pytest.mark.parametrize("row", ADDED)
def test_only_the_listed_functions_put_a_row_with_its_deciding_attribute(row: str) -> None:
    table, key, names = ADDED[row]

    may_put = {
        function.removesuffix("Function")
        for function in FUNCTIONS
        if may(
            STACK,
            Access(
                *(function, "dynamodb:PutItem", STACK.arn(f"{table}Table")),
                frozenset({*key, *names}),
                partitions=frozenset({key["pk"]}),
            ),
        )
    }

    assert may_put == MAY_ADD[row]
