"""Suite for campaigns and their budgets, on the fake and on the AWS emulator."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind, user_account
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Packet, Rules
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_campaign, a_claim, a_funding, a_packet, list_shares
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

_numbers = itertools.count(1)

FUNDS_FEN = 50_000


@dataclass
class Office:
    """Adapters under test, and an operator with money."""

    campaigns: DynamoEditedCampaigns
    ledger: DynamoLedger
    funding: DynamoFunding
    packets: DynamoPackets
    claims: DynamoClaims
    operator: User
    lists: DynamoWorkLists

    def made(self, **changes: Any) -> Campaign:
        campaign = a_campaign(**{"campaign_id": f"{self.operator.user_id}-rain", **changes})
        assert self.campaigns.create(campaign)
        return campaign

    def packet_of(self, campaign: Campaign, total_fen: int = 4_000, **changes: Any) -> Packet:
        rules = Rules(campaign_id=campaign.campaign_id)
        changes = {"sender": self.operator, "rules": rules, **changes}
        return a_packet(total_fen, 4, **changes)

    def fund(self, packet: Packet, request: Request | None = None) -> str:
        return self.funding.fund(packet, a_funding(packet), request or self.request())

    def request(self) -> Request:
        return Request(self.operator.user_id, f"key-{next(_numbers)}", "body")

    def balance_fen(self) -> int:
        return self.ledger.balance_fen(user_account(self.operator.user_id))

    def left_fen(self, campaign: Campaign) -> int:
        stored = self.campaigns.find_campaign(campaign.campaign_id)
        assert stored
        return stored.budget_left_fen


def _office(client: Any) -> Office:
    dynamo = Dynamo(lambda: client, TABLE_NAMES)
    operator = User(f"operator-{next(_numbers)}")
    deposit = Transfer(
        f"deposit-of-{operator.user_id}",
        TransferKind.DEPOSIT,
        DEPOSITS,
        user_account(operator.user_id),
        FUNDS_FEN,
        NOW_MS,
    )
    DynamoDeposits(dynamo).deposit(
        deposit, Request("operator", f"funds-of-{operator.user_id}", "body")
    )
    return Office(
        DynamoEditedCampaigns(dynamo, new_seed=bytes),
        DynamoLedger(dynamo),
        DynamoFunding(dynamo),
        DynamoPackets(dynamo),
        DynamoClaims(dynamo),
        operator,
        DynamoWorkLists(dynamo),
    )


@pytest.fixture(params=KINDS)
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    with a_client(request.param, request) as client:
        yield _office(client)


# ---- campaigns


def test_a_stored_campaign_is_read_unchanged(office: Office) -> None:
    campaign = office.made(
        passphrase="恭喜发财",
        rules=DrawRules(3, 1),
        miss_weight=70,
        when_sold_out=WhenSoldOut.MISS,
        status=CampaignStatus.OFF,
    )

    assert office.campaigns.find_campaign(campaign.campaign_id) == campaign
    assert office.campaigns.find_campaign("no-such-campaign") is None


def test_a_campaign_is_created_once(office: Office) -> None:
    campaign = office.made()

    assert not office.campaigns.create(replace(campaign, title="other"))

    assert office.campaigns.find_campaign(campaign.campaign_id) == campaign


def test_an_edit_replaces_the_version_that_was_read(office: Office) -> None:
    before = office.made(passphrase="恭喜发财")
    after = replace(
        before,
        title="新年红包雨",
        passphrase=None,
        ends_at_ms=before.ends_at_ms + 1,
        rules=DrawRules(1, 1),
        budget_fen=12_000,
        budget_left_fen=12_000,
        version=2,
    )

    assert office.campaigns.edit(after, before)
    assert not office.campaigns.edit(replace(after, title="too late"), before)

    assert office.campaigns.find_campaign(before.campaign_id) == after


def test_an_edit_of_the_budget_keeps_concurrent_spending(office: Office) -> None:
    before = office.made()
    office.fund(office.packet_of(before, 4_000))

    assert office.campaigns.edit(replace(before, budget_fen=7_000, version=2), before)

    assert office.left_fen(before) == 3_000


def test_a_budget_is_not_lowered_below_concurrent_spending(office: Office) -> None:
    before = office.made()
    office.fund(office.packet_of(before, 4_000))

    assert not office.campaigns.edit(replace(before, budget_fen=3_999, version=2), before)

    assert office.left_fen(before) == 6_000
    assert office.campaigns.edit(replace(before, budget_fen=4_000, version=2), before)
    assert office.left_fen(before) == 0


def test_a_campaign_cannot_be_edited_before_it_is_created(office: Office) -> None:
    never = a_campaign(campaign_id=f"{office.operator.user_id}-never")

    assert not office.campaigns.edit(replace(never, version=2), never)

    assert office.campaigns.find_campaign(never.campaign_id) is None


def test_the_packets_of_a_campaign_are_paged(office: Office) -> None:
    campaign = office.made()
    other = office.made(campaign_id=f"{office.operator.user_id}-other")
    sent = sorted(office.fund(office.packet_of(campaign, 40)) for _ in range(5))
    office.fund(office.packet_of(other, 40))

    def listed(after: str | None, limit: int) -> list[str]:
        return office.campaigns.list_packet_ids(campaign.campaign_id, after, limit)

    assert listed(None, 500) == sent
    assert listed(None, 2) == sent[:2]
    assert listed(sent[1], 2) == sent[2:4]
    assert listed(sent[3], 2) == sent[4:]
    assert listed(sent[4], 2) == []


def test_the_newest_packets_of_a_campaign_are_listed_first(office: Office) -> None:
    campaign = office.made()
    other = office.made(campaign_id=f"{office.operator.user_id}-other")
    sent = []
    for age in range(5):
        packet = office.packet_of(campaign, 40)
        sent.append(office.fund(replace(packet, created_at_ms=packet.created_at_ms - age)))
    office.fund(office.packet_of(other, 40))

    assert list(office.campaigns.newest_packet_ids(campaign.campaign_id, 3)) == sent


# ---- budgets


def test_a_packet_takes_its_total_from_the_budget(office: Office) -> None:
    campaign = office.made()
    packet = office.packet_of(campaign, 4_000)

    office.fund(packet)

    assert office.left_fen(campaign) == 6_000
    assert office.balance_fen() == FUNDS_FEN - 4_000
    assert office.packets.find_packet(packet.packet_id) == packet
    stored = office.campaigns.find_campaign(campaign.campaign_id)
    assert stored
    assert stored.version == campaign.version


def test_the_last_fen_of_a_budget_can_be_spent_and_no_more(office: Office) -> None:
    campaign = office.made()
    office.fund(office.packet_of(campaign, 6_000))
    office.fund(office.packet_of(campaign, 4_000))
    late = office.packet_of(campaign, 4)

    with pytest.raises(InsufficientFunds, match="budget has 0 fen left"):
        office.fund(late)

    assert office.left_fen(campaign) == 0
    assert office.balance_fen() == FUNDS_FEN - 10_000
    assert office.packets.find_packet(late.packet_id) is None
    assert late.packet_id not in office.campaigns.list_packet_ids(campaign.campaign_id, None, 9)


def test_a_budget_does_not_replace_the_money_of_the_operator(office: Office) -> None:
    campaign = office.made(budget_fen=FUNDS_FEN * 2, budget_left_fen=FUNDS_FEN * 2)

    with pytest.raises(InsufficientFunds, match="account"):
        office.fund(office.packet_of(campaign, FUNDS_FEN + 1))

    assert office.left_fen(campaign) == FUNDS_FEN * 2


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"status": CampaignStatus.OFF}, CampaignPaused),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"ends_at_ms": NOW_MS, "status": CampaignStatus.OFF}, CampaignEnded),
        ({"status": CampaignStatus.OFF, "budget_left_fen": 0}, CampaignPaused),
    ],
    ids=str,
)
def test_a_campaign_that_is_off_or_over_funds_nothing(
    office: Office, changes: dict[str, Any], refusal: type[errors.RedPacketError]
) -> None:
    campaign = office.made(**changes)
    packet = office.packet_of(campaign)

    with pytest.raises(refusal):
        office.fund(packet)

    assert office.left_fen(campaign) == campaign.budget_left_fen
    assert office.balance_fen() == FUNDS_FEN
    assert office.packets.find_packet(packet.packet_id) is None


def test_a_campaign_funds_packets_until_its_last_millisecond(office: Office) -> None:
    campaign = office.made(ends_at_ms=NOW_MS + 1)

    office.fund(office.packet_of(campaign, expires_at_ms=campaign.ends_at_ms))

    assert office.left_fen(campaign) == 6_000


@pytest.mark.parametrize("changes", [{"starts_at_ms": 1}, {"ends_at_ms": -1}])
def test_a_packet_outside_the_edited_window_is_not_funded(
    office: Office, changes: dict[str, int]
) -> None:
    campaign = office.made()
    packet = office.packet_of(
        campaign, starts_at_ms=campaign.starts_at_ms, expires_at_ms=campaign.ends_at_ms
    )
    window = {name: getattr(campaign, name) + change for name, change in changes.items()}
    assert office.campaigns.edit(replace(campaign, version=2, **window), campaign)

    with pytest.raises(errors.Contended):
        office.fund(packet)

    assert office.left_fen(campaign) == campaign.budget_fen


def test_an_unknown_campaign_funds_nothing(office: Office) -> None:
    never = a_campaign(campaign_id=f"{office.operator.user_id}-never")

    with pytest.raises(CampaignNotFound):
        office.fund(office.packet_of(never))

    assert office.balance_fen() == FUNDS_FEN
    assert office.campaigns.find_campaign(never.campaign_id) is None


def test_a_repeat_spends_nothing_and_gets_the_first_answer_after_changes(office: Office) -> None:
    campaign = office.made()
    request = office.request()
    first = office.packet_of(campaign, 10_000)
    office.fund(first, request)
    off = replace(campaign, status=CampaignStatus.OFF, ends_at_ms=NOW_MS, version=2)
    assert office.campaigns.edit(off, campaign)

    again = office.fund(office.packet_of(campaign, 10_000), request)

    assert again == first.packet_id
    assert office.left_fen(campaign) == 0
    assert office.balance_fen() == FUNDS_FEN - 10_000
    assert office.campaigns.list_packet_ids(campaign.campaign_id, None, 9) == [first.packet_id]


def test_a_packet_without_a_campaign_uses_no_budget(office: Office) -> None:
    campaign = office.made()

    office.fund(office.packet_of(campaign, rules=Rules()))

    assert office.left_fen(campaign) == 10_000


# ---- quotas


def test_a_claim_over_the_quota_has_no_effect(office: Office) -> None:
    campaign = office.made()
    quota = Quota(campaign.campaign_id, 1)
    first, second = (office.packet_of(campaign) for _ in range(2))
    for packet in (first, second):
        office.fund(packet)
    record = office.claims.record_claim

    assert record(a_claim(first, 2, "ann"), quota) == "recorded"
    assert record(a_claim(second, 1, "ann"), quota) == "quota_exhausted"

    assert list_shares(office.packets, second.packet_id) == []
    assert office.packets.find_share_of(second.packet_id, "ann") is None
    assert office.claims.count_claims(campaign.campaign_id, "ann") == 1
    # A retry does not count twice, each user has a separate quota, and the quota can be raised.
    assert record(a_claim(first, 3, "ann"), quota) == "user_has_share"
    assert record(a_claim(second, 1, "bob"), quota) == "recorded"
    assert record(a_claim(second, 2, "ann"), replace(quota, count_max=2)) == "recorded"
    assert office.claims.count_claims(campaign.campaign_id, "ann") == 2


def test_an_edit_of_the_window_moves_open_packets_once_and_the_newest_edit_wins(
    office: Office,
) -> None:
    campaign = office.made()
    window = {"starts_at_ms": campaign.starts_at_ms, "expires_at_ms": campaign.ends_at_ms}
    loaded, unloaded, closing = (office.packet_of(campaign, 1_000, **window) for _ in range(3))
    for packet in (loaded, unloaded, closing):
        office.fund(packet)
    for packet in (loaded, closing):
        office.packets.mark_loaded(packet)
    office.packets.begin_close(closing, campaign.ends_at_ms)
    windows, lists = office.lists.windows, office.lists
    assert windows.find(campaign.campaign_id) is None
    second = replace(campaign, version=2, ends_at_ms=campaign.ends_at_ms - 500)
    assert office.campaigns.edit(second, campaign)
    older = windows.find(campaign.campaign_id)
    third = replace(campaign, version=3, starts_at_ms=campaign.starts_at_ms + 7)
    assert office.campaigns.edit(third, second)
    newer = windows.find(campaign.campaign_id)
    assert older
    assert newer

    ids = (loaded.packet_id, unloaded.packet_id)
    assert [windows.move(packet_id, newer) for packet_id in ids] == [True, True]
    assert not any(windows.move(packet_id, older) for packet_id in ids)
    assert not windows.move(closing.packet_id, newer)
    assert not windows.move(a_packet().packet_id, newer)
    # Confirm a load that read the old end.
    office.packets.mark_loaded(unloaded)

    for packet_id in ids:
        moved = office.packets.find_packet(packet_id)
        assert moved
        assert (moved.starts_at_ms, moved.expires_at_ms) == (third.starts_at_ms, third.ends_at_ms)
    assert {loaded.packet_id, unloaded.packet_id} <= set(lists.list_due(third.ends_at_ms, 900))
    windows.checkpoint(older, "ignored")
    windows.finish(older)
    windows.checkpoint(newer, loaded.packet_id)
    assert windows.find(campaign.campaign_id) == replace(newer, moved_id=loaded.packet_id)
    assert campaign.campaign_id in lists.list_edited(900)
    windows.finish(newer)
    assert campaign.campaign_id not in lists.list_edited(900)
