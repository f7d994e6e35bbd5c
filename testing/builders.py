"""One builder per aggregate; every field can be overridden."""

import itertools
from dataclasses import replace
from typing import Any

from local.packet_ids import PUBLISHED_IDS
from redpacket.campaigns.model import AmountsShown, Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.ledger.model import Transfer
from redpacket.lottery.model.lottery import Prize, PrizeKind
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Kind, Packet, Rules, shard_count
from redpacket.packets.ports import PacketReader
from redpacket.packets.split import Split, Terms, share_amount_fen
from redpacket.packets.use_cases.send_packet import funding_of
from redpacket.platform.user import User

NOW_MS = 1_795_000_000_000
_numbers = itertools.count(1)


def a_packet_id(shards: int = 1) -> str:
    """Return a new packet id, whose tag is valid under the keys that all tests use."""
    return PUBLISHED_IDS.sign(f"packet-{next(_numbers):015d}", shards)


def a_user_id(kind: str = "user") -> str:
    """Return an id that is unique within the tests."""
    return f"{kind}-{next(_numbers)}"


def some_terms(total_fen: int = 1000, count: int = 10, **changes: Any) -> Terms:
    terms = Terms(Split.DOUBLE_MEAN, total_fen, count, 1, 20_000, 1, b"a seed of 16 b..")
    return replace(terms, **changes)


def a_packet(total_fen: int = 1000, count: int = 10, **changes: Any) -> Packet:
    created_at_ms = changes.pop("created_at_ms", NOW_MS)
    packet = Packet(
        packet_id=a_packet_id(),
        sender=User("sender"),
        kind=Kind.LUCKY,
        rules=Rules(),
        greeting="恭喜发财",
        terms=some_terms(total_fen, count),
        created_at_ms=created_at_ms,
        starts_at_ms=created_at_ms,
        expires_at_ms=created_at_ms + 60_000,
    )
    return replace(packet, **changes)


def a_campaign(**changes: Any) -> Campaign:
    campaign = Campaign(
        campaign_id=f"rain-{next(_numbers)}",
        title="红包雨",
        description="",
        starts_at_ms=NOW_MS - 10_000,
        ends_at_ms=NOW_MS + 3_600_000,
        timezone="Asia/Shanghai",
        miss_weight=0,
        rules=DrawRules(),
        when_sold_out=WhenSoldOut.REDISTRIBUTE,
        passphrase=None,
        quota_per_user=9,
        amounts_shown=AmountsShown.END,
        status=CampaignStatus.ON,
        budget_fen=10_000,
        budget_left_fen=10_000,
        version=1,
    )
    return replace(campaign, **changes)


def a_prize(campaign_id: str, prize_id: str = "cup", **changes: Any) -> Prize:
    prize = Prize(campaign_id, prize_id, "杯子", PrizeKind.GOODS, weight=10, total=5)
    return replace(prize, **changes)


def a_claim(packet: Packet, share_no: int, user_id: str, **changes: Any) -> Share:
    amount_fen = share_amount_fen(packet.terms, share_no)
    claim = Share(
        packet.packet_id,
        share_no,
        ShareStatus.CLAIMED,
        amount_fen,
        NOW_MS + share_no,
        User(user_id),
    )
    return replace(claim, **changes)


def a_refund(packet: Packet, share_no: int, **changes: Any) -> Share:
    amount_fen = share_amount_fen(packet.terms, share_no)
    refund = Share(
        packet.packet_id, share_no, ShareStatus.REFUNDED, amount_fen, NOW_MS, refund_no=share_no
    )
    return replace(refund, **changes)


def a_funding(packet: Packet) -> Transfer:
    return funding_of(packet)


def list_shares(packets: PacketReader, packet_id: str) -> list[Share]:
    """Return every claimed or refunded share, in the order of the share numbers."""
    shards = (packets.list_shard_shares(packet_id, no) for no in range(shard_count(packet_id)))
    return sorted(itertools.chain(*shards), key=lambda share: share.share_no)
