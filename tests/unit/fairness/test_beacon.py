"""Campaigns of earlier releases that drew with a beacon: readable, verifiable, never drawn."""

from dataclasses import replace

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.errors import CampaignEnded, CampaignPaused
from redpacket.fairness.model.beacon import CampaignBeacon
from redpacket.fairness.model.days import CHAIN_LAST_DAY, chain_commitment
from redpacket.lottery.model.odds import draw_point
from redpacket.packets.errors import ProofNotReady
from testing.builders import NOW_MS
from testing.fairness.past_campaign import BEACON, DAY, DRAW_COUNT, ROUND, hold_past_campaign
from testing.in_memory_system import DAY_MS, InMemorySystem, an_operator

GENESIS_MS = BEACON.genesis_s * 1000


def test_a_past_day_used_the_first_round_ten_seconds_after_its_midnight_and_its_seed() -> None:
    beacon = replace(BEACON, committed_at_ms=GENESIS_MS)

    for after_ms, round_no in {-20_000: 5, 0: 5, 2_000: 5, 2_001: 6, 5_000: 6}.items():
        assert beacon.round_of(GENESIS_MS + after_ms) == round_no
    assert replace(beacon, committed_at_ms=0).round_of(0) == 1
    assert beacon.time_ms(5) == GENESIS_MS + 12_000


def test_a_beacon_is_read_as_it_was_written() -> None:
    beacon = replace(BEACON, timezone="America/Argentina/Buenos_Aires")

    assert CampaignBeacon.parse(str(beacon)) == beacon
    for text in ("", "a,b,c", f"{'0' * 64},1,3,1", "00,1,3,1,UTC", f"{'0' * 64},1,0,1,UTC"):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever part of it is wrong
            CampaignBeacon.parse(text)


def test_past_draws_and_their_proof_are_read_from_the_rows(system: InMemorySystem) -> None:
    draws = hold_past_campaign(system.process().dynamo, PUBLISHED_SEEDS)
    with pytest.raises(ProofNotReady):
        system.process().read_draw_proof("past", DAY.name)
    system.pass_time(DAY_MS)

    proof = system.process().read_draw_proof("past", DAY.name)

    assert (proof.beacon, proof.round, proof.secret_version) == (BEACON, ROUND, 1)
    assert proof.commitment == chain_commitment(
        "past", system.prizes.day_seed("past", CHAIN_LAST_DAY), CHAIN_LAST_DAY, BEACON
    )
    assert {draw.beacon_round for draw in draws} == {ROUND.round_no}
    assert [draw.point for draw in draws] == [
        draw_point(proof.seed, "past", "ann", number, ROUND.randomness)
        for number in range(1, DRAW_COUNT + 1)
    ]


def test_a_past_day_without_a_round_has_a_proof_without_one(system: InMemorySystem) -> None:
    hold_past_campaign(system.process().dynamo, PUBLISHED_SEEDS)
    system.dynamo.tables["transparency"].clear()
    system.pass_time(DAY_MS)

    proof = system.process().read_draw_proof("past", DAY.name)

    assert (proof.beacon, proof.round) == (BEACON, None)


def test_a_running_campaign_with_a_beacon_draws_nothing_and_gives_the_reason(
    system: InMemorySystem,
) -> None:
    hold_past_campaign(system.process().dynamo, PUBLISHED_SEEDS)

    with pytest.raises(CampaignPaused, match="public beacon, which this release does not support"):
        system.draw("past", "bob", "key")

    assert system.draws.list_draws("past", "bob") == []
    system.clock.at_ms = DAY.ends_at_ms
    with pytest.raises(CampaignEnded):
        system.draw("past", "bob", "key")


def test_an_edit_keeps_the_beacon_of_a_past_campaign(system: InMemorySystem) -> None:
    hold_past_campaign(system.process().dynamo, PUBLISHED_SEEDS)
    before = system.campaigns.find_campaign("past")
    assert before
    plan = replace(before.plan, title="Newer", beacon=None)

    system.process().edit_campaign(plan, None, None, an_operator())

    after = system.campaigns.find_campaign("past")
    assert after
    assert (after.title, after.beacon) == ("Newer", BEACON)
    assert system.clock.now_ms() == NOW_MS
