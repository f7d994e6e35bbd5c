"""Every key of Redis and of DynamoDB, by the thing that it names (docs/adr/0002, 0003)."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from redpacket.domain.campaign import audience_bucket
from redpacket.domain.packet import fate_partitions, part_count
from redpacket.domain.packet_id import RANDOM_LENGTH, TAGGED_LENGTH

WORK_SHARDS = 32
"""Partitions of each work list: one takes about 1,000 writes a second, and a claim is two.

A packet that is due is in its sender's: one sweep at a time writes a sender's balance.
"""


def claim_cache(packet_id: str) -> str:
    """Redis: the packet's one hash; the braces keep all keys of a packet in one slot.

    The 2 is of the hash's layout (lua/lib/state.lua): what another version loaded is not read, and
    the ledger brings the packet again. Raise it with each change of the layout. The random part
    of the id names the packet; its key version and tag would only take memory.
    """
    return f"rp:2{{{packet_id[:RANDOM_LENGTH]}{packet_id[TAGGED_LENGTH:]}}}"


def admitted(packet_id: str) -> str:
    """Redis: who may open a packet of two steps at this moment, by the end of their admission."""
    return f"{claim_cache(packet_id)}:admitted"


def loading(packet_id: str, part: int) -> str:
    """Redis: that somebody loads a part of a packet at this moment."""
    return f"{claim_cache(packet_id)}:loading:{part}"


def looking(packet_id: str, part: int) -> str:
    """Redis: that the ledger was asked a moment ago who took what of an emptied packet."""
    return f"{claim_cache(packet_id)}:looking:{part}"


def audience(campaign_id: str, bucket: int) -> str:
    """Redis: one part of a campaign's list of users, and "#" if it is whole (lua/lib/audience.lua).

    In the slot of the quotas of its users, so that one script asks both.
    """
    return f"rp:{{audience:{campaign_id}:{bucket}}}"


def audience_loading(campaign_id: str, bucket: int) -> str:
    """Redis: who loads a part of a campaign's list at this moment."""
    return f"{audience(campaign_id, bucket)}:loading"


def quota(campaign_id: str, user_id: str) -> str:
    """Redis: the packets of a campaign that a user takes from."""
    return f"{audience(campaign_id, audience_bucket(user_id))}:{user_id}"


def limit(name: str, subject: str) -> str:
    """Redis: what a subject has done of a limited thing lately, in a slot of its own."""
    return f"rp:limit:{{{name}:{subject}}}"


def limit_within(name: str, group: str, subject: str) -> str:
    """Redis: the same of a member of a group, in the slot of the group's own `limit`."""
    return f"{limit(name, group)}:{subject}"


def asked_verdict(user_id: str) -> str:
    """Redis: what the host's risk control said of a user, for an hour."""
    return f"rp:{{risk:{user_id}}}"


def draw_cache(campaign_id: str) -> str:
    """Redis: a lottery's one hash; all keys of a lottery are in one slot."""
    return f"rp:{{draw:{campaign_id}}}"


def draw_day(campaign_id: str, day: str) -> str:
    """Redis: what was drawn in a lottery on one day, and by whom."""
    return f"{draw_cache(campaign_id)}:{day}"


def draw_winners(campaign_id: str) -> str:
    """Redis: the winners of once-only prizes."""
    return f"{draw_cache(campaign_id)}:winners"


def draw_loading(campaign_id: str) -> str:
    """Redis: that somebody loads a lottery at this moment."""
    return f"{draw_cache(campaign_id)}:loading"


SWITCH_COPY = "rp:switches"
"""Redis: which switches are off, as somebody read it within the last seconds."""


def switches() -> dict[str, str]:
    """SwitchesTable: its one row."""
    return {"pk": "switches"}


def packet(packet_id: str) -> dict[str, str]:
    """PacketsTable: the packet row."""
    return {"pk": f"packet#{packet_id}", "sk": PACKET}


PACKET = "packet"


def part_end(packet_id: str, part: int) -> dict[str, str]:
    """PacketsTable: the final sums of one of a packet's parts."""
    return {"pk": f"packet#{packet_id}", "sk": f"{PART_END_PREFIX}{part:02d}"}


PART_END_PREFIX = "end#"


def final_page(packet_id: str, partition: int, last_no: int) -> dict[str, str]:
    """PacketsTable: a page of claims of a packet that is closed, by its last share."""
    return {"pk": f"final#{packet_id}#{partition}", "sk": f"{FINAL_PREFIX}{last_no:07d}"}


FINAL_PREFIX = "page#"


def settled_sums(packet_id: str) -> dict[str, str]:
    """PacketsTable: how many claims of a large packet are settled, for its record page."""
    return {"pk": f"settled#{packet_id}", "sk": "sums"}


def share(packet_id: str, share_no: int) -> dict[str, str]:
    """SharesTable: a share's fate; seven digits keep 1,000,000 shares in order."""
    partition = (share_no - 1) % fate_partitions(packet_id)
    return {**shares(packet_id, partition), "sk": f"{SHARE_PREFIX}{share_no:07d}"}


def shares(packet_id: str, partition: int) -> dict[str, str]:
    """SharesTable: one partition of a packet's fates."""
    return {"pk": f"{SHARES_PREFIX}{packet_id}#{partition}"}


def share_partitions(packet_id: str, part: int) -> range:
    """SharesTable: the partitions that hold the fates of a part."""
    return range(part, fate_partitions(packet_id), part_count(packet_id))


SHARES_PREFIX = "shares#"
SHARE_PREFIX = "share#"


def taker(packet_id: str, user_id: str) -> dict[str, str]:
    """SharesTable: the one share of a packet that a user may have."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{TAKER_PREFIX}{packet_id}"}


def prize_taker(packet_id: str, user_id: str, share_no: int) -> dict[str, str]:
    """SharesTable: one of the shares of a prize's packet that a user has won."""
    key = taker(packet_id, user_id)
    return {**key, "sk": f"{key['sk']}#{share_no}"}


USER_PREFIX = "user#"
TAKER_PREFIX = "claim#"


def claim_count(campaign_id: str, user_id: str) -> dict[str, str]:
    """QuotasTable: how many shares of a campaign a user owns; no id of a campaign holds a "#"."""
    return {"pk": f"{campaign_id}#{user_id}"}


def request(user_id: str, route: str, key_hash: str) -> dict[str, str]:
    """PacketsTable and AccountsTable: an idempotent request, for ever: no TTL reopens it."""
    return {"pk": f"user#{user_id}", "sk": f"request#{route}#{key_hash}"}


def account(name: str) -> dict[str, str]:
    """AccountsTable: an account's balance."""
    return {"pk": name, "sk": BALANCE}


BALANCE = "balance"


ENTRY_PREFIX = "entry#"
CLAIM_PREFIX = "claim#"


def entry(name: str, position_ms: int, transfer_id: str) -> dict[str, str]:
    """AccountsTable: one side of a transfer in an account's book, in the order of time."""
    return {"pk": name, "sk": f"{ENTRY_PREFIX}{position_ms:013d}#{transfer_id}"}


def claim_entry(name: str, position_ms: int, packet_id: str, share_no: int) -> dict[str, str]:
    """AccountsTable: the entry of a settled claim; apart, so that they are a list of their own."""
    return {"pk": name, "sk": f"{CLAIM_PREFIX}{position_ms:013d}#{packet_id}#{share_no}"}


def receipt(packet_id: str, share_no: int) -> dict[str, str]:
    """AccountsTable: that a share's money left its packet; in a partition of its own."""
    return {"pk": f"{RECEIPT_PREFIX}{packet_id}#{share_no}", "sk": RECEIPT}


RECEIPT_PREFIX = "paid#"
RECEIPT = "receipt"


def campaign(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: a campaign with its budget."""
    return {"pk": f"campaign#{campaign_id}", "sk": "campaign"}


CAMPAIGNS = "campaigns"
"""CampaignsTable, index by_list: all campaigns by their start."""


def lottery_seed(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: the secret of which the seeds of a campaign's days are made."""
    return {"pk": f"campaign#{campaign_id}", "sk": "seed"}


def campaign_packet(campaign_id: str, packet_id: str) -> dict[str, str]:
    """CampaignsTable: that a packet is of a campaign."""
    return {"pk": f"campaign#{campaign_id}", "sk": f"{CAMPAIGN_PACKET_PREFIX}{packet_id}"}


CAMPAIGN_PACKET_PREFIX = "packet#"


def member(campaign_id: str, user_id: str) -> dict[str, str]:
    """AudienceTable: whether a user is on a campaign's list."""
    return {**members(campaign_id, audience_bucket(user_id)), "sk": user_id}


def members(campaign_id: str, bucket: int) -> dict[str, str]:
    """AudienceTable: the partition of one part of a campaign's list."""
    return {"pk": f"members#{campaign_id}#{bucket}"}


def audience_size(campaign_id: str) -> dict[str, str]:
    """AudienceTable: how many users are on a campaign's list."""
    return {"pk": f"audience#{campaign_id}", "sk": "size"}


def verdict(user_id: str) -> dict[str, str]:
    """AudienceTable: what the host says of a user, for a while."""
    return {"pk": f"verdict#{user_id}", "sk": "verdict"}


SHOWN = "shown"


def shown(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: a campaign's plan with all its prizes, in one packed row (docs/adr/0014)."""
    return {"pk": f"campaign#{campaign_id}", "sk": SHOWN}


def drawing(ends_at_ms: int, campaign_id: str) -> dict[str, str]:
    """TransparencyTable: that a campaign draws by the beacon; in the order of ends."""
    return {"pk": DRAWING, "sk": f"{ends_at_ms:013d}#{campaign_id}"}


DRAWING = "drawing"
DRAWING_LAST = "~"


def beacon_round(chain_hash: str, round_no: int) -> dict[str, str]:
    """TransparencyTable: a round of a beacon that was verified; twelve digits keep their order."""
    return {"pk": f"beacon#{chain_hash}", "sk": f"{round_no:012d}"}


def wanted_round(chain_hash: str, round_no: int, at_ms: int) -> dict[str, str | int]:
    """TransparencyTable: that somebody waits for a round; listed until it is there."""
    partition = wanted_rounds(chain_hash)
    return {"pk": partition, "sk": f"{round_no:012d}", "work_pk": partition, "work_at_ms": at_ms}


def wanted_rounds(chain_hash: str) -> str:
    """TransparencyTable: where rounds of a chain are that somebody waits for."""
    return f"wanted#{chain_hash}"


def commitment(id_hash: str) -> dict[str, str]:
    """CommitmentsTable: what was committed to of an id, and its place in the log."""
    return {"pk": id_hash}


COMMITMENT_SHARDS = 8
"""Partitions of the list of commitments that wait for the log; each takes 500 sends a second."""


def commitment_shard(id_hash: str) -> int:
    """CommitmentsTable, index by_work: in which of them a commitment waits."""
    return crc32(id_hash.encode()) % COMMITMENT_SHARDS


LOG_END = {"pk": "head", "sk": "end"}
"""LogTable: how far the log is; every append is a condition on it."""

LOG_HEAD = {"pk": "head", "sk": "signed"}
"""LogTable: the newest signed head."""

LOG_ENTRIES_AT_ONCE = 1000
"""How many entries are in one partition."""


def log_entry(index: int) -> dict[str, str]:
    """LogTable: an entry of the log; twelve digits keep their order."""
    return {"pk": log_entries(index), "sk": f"{index:012d}"}


def log_entries(index: int) -> str:
    """LogTable: the partition of an entry."""
    return f"entries#{index // LOG_ENTRIES_AT_ONCE}"


def log_node(level: int, number: int) -> dict[str, str]:
    """LogTable: the hash of a complete subtree of the log's tree."""
    return {"pk": f"node#{level}#{number}", "sk": "node"}


def unit(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """DrawsTable: that a unit of a prize is won (I9); seven digits keep them in order."""
    return {**units(campaign_id, prize_id), "sk": f"{UNIT_PREFIX}{unit_no:07d}"}


def day_unit(campaign_id: str, prize_id: str, day: str, day_no: int) -> dict[str, str]:
    """DrawsTable: that a unit of a prize's stock of one day is won (I9)."""
    return {**units(campaign_id, prize_id), "sk": f"{day_units(day)}{day_no:07d}"}


def units(campaign_id: str, prize_id: str) -> dict[str, str]:
    """DrawsTable: the partition of a prize's units."""
    return {"pk": f"{UNITS_PREFIX}{campaign_id}#{prize_id}"}


def day_units(day: str) -> str:
    """DrawsTable: how the sort keys of one day's units begin."""
    return f"day#{day}#"


def stock(campaign_id: str, prize_id: str, day: str) -> dict[str, str]:
    """DrawsTable: up to which unit of a prize all are won, of one day's stock or, with "", ever."""
    return {"pk": f"stock#{campaign_id}#{prize_id}", "sk": f"day#{day}" if day else "all"}


UNITS_PREFIX = "units#"
UNIT_PREFIX = "unit#"


def draw(campaign_id: str, user_id: str, draw_id: str) -> dict[str, str]:
    """DrawsTable: a draw, hit or miss; its id names the user's day and number."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_PREFIX}{draw_id}"}


def draw_request(campaign_id: str, user_id: str, key_hash: str) -> dict[str, str]:
    """DrawsTable: which draw an idempotency key names, for ever."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_REQUEST_PREFIX}{key_hash}"}


def begun_draw(campaign_id: str, user_id: str, day: str, draw_no: int) -> dict[str, str]:
    """DrawsTable: what was fixed of a draw before the round of the beacon that decides it."""
    return {**drawer(campaign_id, user_id), "sk": f"{BEGUN_PREFIX}{day}#{draw_no}"}


def player(campaign_id: str, user_id: str, day: str) -> dict[str, str]:
    """DrawsTable: what a user did on one day."""
    return {**drawer(campaign_id, user_id), "sk": f"{PLAYER_PREFIX}{day}"}


def winner(campaign_id: str, user_id: str, prize_id: str) -> dict[str, str]:
    """DrawsTable: a user's win of a once-only prize."""
    return {**drawer(campaign_id, user_id), "sk": f"{WINNER_PREFIX}{prize_id}"}


def help_given(campaign_id: str, inviter_id: str, helper_id: str) -> dict[str, str]:
    """DrawsTable: that a friend has helped a user, once for ever."""
    return {**drawer(campaign_id, inviter_id), "sk": f"{HELP_PREFIX}{helper_id}"}


def drawer(campaign_id: str, user_id: str) -> dict[str, str]:
    """DrawsTable: the partition of what a user did in a campaign."""
    return {"pk": f"{DRAWER_PREFIX}{campaign_id}#{user_id}"}


DRAWER_PREFIX = "user#"
DRAW_PREFIX = "draw#"
DRAW_REQUEST_PREFIX = "key#"
BEGUN_PREFIX = "begun#"
PLAYER_PREFIX = "day#"
WINNER_PREFIX = "won#"
HELP_PREFIX = "help#"


def payment(number: str) -> dict[str, str]:
    """PaymentsTable: a payment; its returns and refunds are in the same partition.

    PacketsTable: which packet waits for it.
    """
    return {"pk": f"{PAYMENT_PREFIX}{number}", "sk": PAYMENT}


def payment_return(number: str, transaction_id: str) -> dict[str, str]:
    """PaymentsTable: a transaction of a payment that is given back."""
    return {**payment(number), "sk": f"{RETURN_PREFIX}{transaction_id}"}


def payment_refund(number: str, refund_no: str) -> dict[str, str]:
    """PaymentsTable: a refund of a payment that was made outside."""
    return {**payment(number), "sk": f"{REFUND_PREFIX}{refund_no}"}


PAYMENT_PREFIX = "payment#"
PAYMENT = "payment"
RETURN_PREFIX = "return#"
REFUND_PREFIX = "refund#"


def withdrawal(withdrawal_id: str) -> dict[str, str]:
    """PaymentsTable: a withdrawal."""
    return {"pk": f"{WITHDRAWAL_PREFIX}{withdrawal_id}", "sk": WITHDRAWAL}


WITHDRAWAL_PREFIX = "withdrawal#"
WITHDRAWAL = "withdrawal"


def withdrawn(user_id: str, day: str) -> dict[str, str]:
    """PaymentsTable: how much a user has withdrawn on one day."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{WITHDRAWN_PREFIX}{day}"}


WITHDRAWN_PREFIX = "withdrawn#"


def payments_begun(user_id: str, day: str) -> dict[str, str]:
    """PaymentsTable: how many payments a user has begun on one day; it goes away by itself."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{BEGUN_PREFIX}{day}"}


BEGUN_PREFIX = "begun#"


def outside_line(channel: str, kind: str, day: str, number: str, outside_no: str) -> dict[str, str]:
    """PaymentsTable: a line that the bill of a day must have, by our number and the gateway's."""
    shard = work_shard(number)
    return {"pk": outside_lines(channel, kind, day, shard), "sk": f"{number}#{outside_no}"}


def outside_lines(channel: str, kind: str, day: str, shard: int) -> str:
    """PaymentsTable: one partition of the lines that the bill of a day must have."""
    return f"{OUTSIDE_PREFIX}{channel}#{kind}#{day}#{shard}"


OUTSIDE_PREFIX = "outside#"


def gateway_row(channel: str, name: str) -> dict[str, str]:
    """PaymentsTable: what is kept of a gateway: its slots, what was promised, its breaker."""
    return {"pk": f"gateway#{channel}", "sk": name}


def notice(channel: str, notice_id: str) -> dict[str, str]:
    """PaymentsTable: that a callback was taken; it goes away by its time to live."""
    return {"pk": f"notice#{channel}#{notice_id}", "sk": "notice"}


def payee(channel: str, user_id: str) -> dict[str, str]:
    """PaymentsTable: a user's account at a gateway, and their consent."""
    return {"pk": f"payee#{channel}#{user_id}", "sk": "payee"}


def outside_account(channel: str, name_hash: str) -> dict[str, str]:
    """PaymentsTable: whose an account at a gateway is."""
    return {"pk": f"account#{channel}#{name_hash}", "sk": "account"}


def authorization(number: str) -> dict[str, str]:
    """PaymentsTable: a user's consent to transfers without a tap."""
    return {"pk": f"{AUTHORIZATION_PREFIX}{number}", "sk": "authorization"}


AUTHORIZATION_PREFIX = "authorization#"


def payment_list(user_id: str) -> str:
    """PaymentsTable, index by_list: a user's payments."""
    return f"payments#{user_id}"


def authorization_list(user_id: str) -> str:
    """PaymentsTable, index by_list: each consent that a user was asked for."""
    return f"authorizations#{user_id}"


def withdrawal_list(user_id: str) -> str:
    """PaymentsTable, index by_list: a user's withdrawals."""
    return f"withdrawals#{user_id}"


LISTED_RETURNS = "returns"
"""PaymentsTable, index by_list: transactions that wait for a person."""

DEBTS = "debts"
"""PaymentsTable, index by_list: refunds made outside that left their user in debt."""


WEBHOOKS = "webhooks"
"""WebhooksTable: the partition of all webhooks."""


def webhook(name: str) -> dict[str, str]:
    """WebhooksTable: who is told of which events."""
    return {"pk": WEBHOOKS, "sk": name}


def delivery(webhook_name: str, event_id: str) -> dict[str, str]:
    """WebhooksTable: a delivery that waits or is dead."""
    shard = crc32(event_id.encode()) % DELIVERY_SHARDS
    return {"pk": f"delivery#{webhook_name}#{shard}", "sk": event_id}


DELIVERY_SHARDS = 4
"""Partitions of a webhook's waiting list: a receiver that is down in a rush fills it."""


def reconciliation() -> dict[str, str]:
    """ReconciliationTable: its one row."""
    return {"pk": "run"}


def action(position: str) -> dict[str, str]:
    """JournalTable: what an operator did, by time; the index by_list has it by its subject."""
    return {"pk": JOURNAL, "sk": position}


JOURNAL = "journal"


def approval(approval_id: str) -> dict[str, str]:
    """ApprovalsTable: what waits for another operator."""
    return {"pk": f"{APPROVAL_PREFIX}{approval_id}"}


APPROVAL_PREFIX = "approval#"
APPROVALS = "approvals"
"""ApprovalsTable, index by_list: all approvals by time."""


def allowance(operator_id: str, subject: str) -> dict[str, str]:
    """ApprovalsTable: what an operator moved alone to a subject; it goes away by itself."""
    return {"pk": f"moved#{operator_id}#{subject}"}


def work(kind: str, shard: int) -> str:
    """PacketsTable and SharesTable, index by_work: one partition of a work list."""
    return f"{kind}#{shard}"


def work_shard(subject: str) -> int:
    """Spread a work list's rows evenly; any stable hash will do."""
    return crc32(subject.encode()) % WORK_SHARDS


def sent_list(user_id: str) -> str:
    """PacketsTable, index by_list: what a user sent."""
    return f"sent#{user_id}"


def list_position(at_ms: int, packet_id: str) -> str:
    """PacketsTable, index by_list: where a packet stands in a list, by time."""
    return f"{at_ms:013d}#{packet_id}"


def work_shards(group: int, groups: int) -> Sequence[int]:
    """Return the shards of work that the *group*-th, from 0, of *groups* sweeps takes."""
    return range(group, WORK_SHARDS, groups)
