"""Suite for lists of users: in memory, on the emulator, and with a real cache."""

from collections.abc import Iterator
from typing import Any

import pytest

from redpacket.campaigns.dynamodb.audiences import DynamoAudiences
from redpacket.campaigns.model import AudienceMode, Campaign, audience_bucket
from redpacket.campaigns.ports import AudienceCache
from redpacket.campaigns.redis import keys
from redpacket.campaigns.redis.audiences import RedisAudiences
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Rules
from redpacket.packets.ports import Quotas
from redpacket.packets.redis.quotas import RedisQuotas
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import a_campaign, a_claim, a_user_id
from testing.fakes import FakeAudiences, FakeQuotas
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.servers import OperatorCache
from tests.contract.tables import KINDS, a_client, some_books

ALLOW, DENY = AudienceMode.ALLOW, AudienceMode.DENY
ANN, LIFE_MS = "ann", 10_000
BUCKET = audience_bucket(ANN)
BOB = next(user for n in range(10_000) if audience_bucket(user := f"bob-{n}") == BUCKET)
"""Second user in the same part of a list."""


# ---- the ledger


class Office:
    """Adapters that edit a list, and those that read it."""

    def __init__(self, client: Any) -> None:
        dynamo = Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None)
        self.books = some_books(client)
        self.rows = DynamoAudiences(dynamo)
        self.campaigns = DynamoEditedCampaigns(dynamo, new_seed=bytes)
        self.claims = DynamoClaims(dynamo)
        self.draws, self.prizes = DynamoDraws(dynamo), DynamoPrizes(dynamo)

    def made(self) -> Campaign:
        campaign = a_campaign()
        assert self.campaigns.create(campaign)
        return campaign

    def is_member(self, campaign: Campaign, user_id: str) -> bool:
        attempt = self.draws.find_attempt(
            campaign.campaign_id, user_id, "key", "20261122", asks_audience=True
        )
        return attempt.is_member


@pytest.fixture(params=KINDS)
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    with a_client(request.param, request) as client:
        yield Office(client)
        # The emulator's tables outlive a test, and other tests compare the sums in them.
        assert not some_books(client).ledger_state().differences()


def test_an_edit_is_counted_once(office: Office) -> None:
    campaign_id = office.made().campaign_id

    sizes = [
        office.rows.edit(campaign_id, ["ann", "bob"], []),
        office.rows.edit(campaign_id, ["bob", "cat"], []),
        office.rows.edit(campaign_id, [], ["ann", "dan"]),
        office.rows.edit(campaign_id, [], ["ann"]),
        office.rows.edit(campaign_id, ["ann"], []),
    ]

    assert sizes == [2, 3, 2, 2, 3]


def test_a_part_of_a_list_omits_removed_users(office: Office) -> None:
    campaign_id = office.made().campaign_id
    office.rows.edit(campaign_id, [ANN, BOB], [])
    office.rows.edit(campaign_id, [], [ANN])

    assert office.rows.list_members(campaign_id, BUCKET) == [BOB]
    assert office.rows.list_members(campaign_id, (BUCKET + 1) % 256) == []


def test_the_use_of_a_list_is_returned_with_the_campaign_and_its_snapshot(office: Office) -> None:
    campaign = office.made()
    assert campaign.audience_mode is None
    versions: list[int] = []

    for mode in (ALLOW, DENY):
        office.rows.set_mode(campaign.campaign_id, mode, 1 + len(versions))

        stored = office.campaigns.find_campaign(campaign.campaign_id)
        snapshot = office.prizes.find_snapshot(campaign.campaign_id)
        assert stored
        assert snapshot
        assert (stored.audience_mode, snapshot.audience_mode) == (mode, mode)
        versions.append(snapshot.version)
        # Each edit raises the version, so an approval of an earlier version is refused.
        assert stored.version == campaign.version + len(versions)
    assert versions == [2, 3]


def test_a_draw_checks_who_is_on_the_list(office: Office) -> None:
    campaign = office.made()
    office.rows.edit(campaign.campaign_id, ["ann", "bob"], [])
    office.rows.edit(campaign.campaign_id, [], ["bob"])

    assert [office.is_member(campaign, user) for user in ("ann", "bob", "cat")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("mode", "answers"),
    [
        (ALLOW, ["recorded", "not_in_audience", "not_in_audience"]),
        (DENY, ["not_in_audience", "recorded", "recorded"]),
    ],
)
def test_a_claim_is_durable_only_for_eligible_users(
    office: Office, mode: AudienceMode, answers: list[str]
) -> None:
    campaign = office.made()
    users = listed, removed, unknown = [a_user_id() for _ in range(3)]
    office.rows.edit(campaign.campaign_id, [listed, removed], [])
    office.rows.edit(campaign.campaign_id, [], [removed])
    rules = Rules(campaign_id=campaign.campaign_id)
    packet, quota = office.books.sent(rules=rules), Quota(campaign.campaign_id, 5, mode)

    told = [
        office.claims.record_claim(a_claim(packet, number, user), quota)
        for number, user in enumerate(users, start=1)
    ]

    assert told == answers
    counts = [office.claims.count_claims(campaign.campaign_id, user) for user in users]
    assert counts == [int(answer == "recorded") for answer in answers]
    # The owner of a share gets it again, regardless of the current list.
    office.rows.edit(campaign.campaign_id, [unknown], [listed])
    taken = [
        (number, user)
        for number, user in enumerate(users, start=1)
        if told[number - 1] == "recorded"
    ]
    for number, user in taken:
        assert office.claims.record_claim(a_claim(packet, number, user), quota) == "user_has_share"


# ---- the cache


class Copies:
    """The two caches that use a list of users."""

    def __init__(self, audiences: AudienceCache, quotas: Quotas) -> None:
        self.audiences, self.quotas = audiences, quotas

    def loaded(self, *user_ids: str) -> None:
        turn = self.audiences.begin_load("gala", BUCKET, LIFE_MS)
        assert turn
        assert self.audiences.load("gala", BUCKET, turn, user_ids)

    def answers(self, mode: AudienceMode | None) -> list[str]:
        quota = Quota("gala", 5, mode)
        return [self.quotas.reserve(quota, user, "one") for user in (ANN, BOB)]


@pytest.fixture(params=["fake", "redis"])
def copies(request: pytest.FixtureRequest) -> Copies:
    if request.param == "fake":
        audiences = FakeAudiences()
        return Copies(audiences, FakeQuotas(audiences))
    cache = request.getfixturevalue("cache")
    return Copies(RedisAudiences(cache), RedisQuotas(cache))


def test_a_quota_is_reserved_only_for_eligible_users(copies: Copies) -> None:
    copies.loaded(ANN)

    assert copies.answers(ALLOW) == ["reserved", "not_in_audience"]
    assert copies.answers(DENY) == ["not_in_audience", "reserved"]
    assert copies.answers(None) == ["reserved", "reserved"]
    assert [copies.quotas.find_member("gala", user) for user in (ANN, BOB)] == [True, False]


def test_an_unloaded_list_does_not_count_as_empty(copies: Copies) -> None:
    assert copies.answers(ALLOW) == ["audience_not_loaded"] * 2
    assert copies.quotas.find_member("gala", ANN) is None
    copies.loaded()
    assert copies.answers(ALLOW) == ["not_in_audience"] * 2
    assert copies.quotas.find_member("gala", ANN) is False


def test_one_of_many_callers_loads(copies: Copies) -> None:
    first = copies.audiences.begin_load("gala", BUCKET, LIFE_MS)

    assert first
    assert copies.audiences.begin_load("gala", BUCKET, LIFE_MS) is None
    assert not copies.audiences.load("gala", BUCKET, "another turn", [ANN])
    assert copies.audiences.load("gala", BUCKET, first, [ANN])
    # The successful load ended the lease, so the same token can't load again.
    assert not copies.audiences.load("gala", BUCKET, first, [BOB])
    assert copies.answers(ALLOW) == ["reserved", "not_in_audience"]


def test_an_edit_updates_loaded_parts_and_cancels_an_unfinished_load(copies: Copies) -> None:
    turn = copies.audiences.begin_load("gala", BUCKET, LIFE_MS)
    assert turn
    copies.audiences.edit("gala", [BOB], [])
    assert not copies.audiences.load("gala", BUCKET, turn, [ANN])
    assert copies.quotas.find_member("gala", BOB) is None

    copies.loaded(ANN)
    copies.audiences.edit("gala", [BOB], [ANN])

    assert copies.answers(ALLOW) == ["not_in_audience", "reserved"]


def test_a_later_load_removes_all_users_of_an_earlier_one(copies: Copies) -> None:
    copies.loaded(ANN)
    copies.loaded(BOB)

    assert copies.answers(ALLOW) == ["not_in_audience", "reserved"]


def test_a_part_of_thousands_is_loaded_in_chunks_and_complete_at_the_end(copies: Copies) -> None:
    users = [f"user-{number}" for number in range(2_500)]

    copies.loaded(*users, ANN)

    assert copies.answers(ALLOW) == ["reserved", "not_in_audience"]


def test_a_part_is_read_again_after_ten_minutes(cache: OperatorCache) -> None:
    Copies(RedisAudiences(cache), RedisQuotas(cache)).loaded(ANN)

    assert 0 < cache.pttl(keys.audience("gala", BUCKET)) <= 600_000


def test_an_edit_between_two_chunks_cancels_the_load(
    cache: OperatorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    audiences, quotas = RedisAudiences(cache), RedisQuotas(cache)
    turn = audiences.begin_load("gala", BUCKET, LIFE_MS)
    run, calls = audiences.run, list[object]()

    def then_edit(*args: object) -> str:
        answer = run(*args)  # type: ignore[arg-type]
        if not calls:
            calls.append(args)
            audiences.edit("gala", [], [ANN])
        return answer

    monkeypatch.setattr(audiences, "run", then_edit)

    assert turn
    assert not audiences.load("gala", BUCKET, turn, [ANN] * 1_500)
    assert quotas.find_member("gala", ANN) is None
