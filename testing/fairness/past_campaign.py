"""Campaign from an earlier release, whose draws used a round of a public beacon."""

from redpacket.fairness.dynamodb.keys import beacon_round
from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
from redpacket.fairness.model.days import day_at
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.keys import draw
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model.lottery import Draw, Prize, draw_id_of
from redpacket.lottery.model.odds import choose, draw_point
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import Dynamo, put, update
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.lottery.prizes import write_prize

BEACON = CampaignBeacon("c" * 64, NOW_MS // 1000 - 1_000, 3, NOW_MS, "Asia/Shanghai")
DAY = day_at(BEACON.timezone, NOW_MS)
ROUND = BeaconRound(BEACON.round_of(DAY.starts_at_ms), b"\1" * 48)
ODDS = "cup:10,pen:10|10"
DRAW_COUNT = 12


def hold_past_campaign(
    dynamo: Dynamo, seeds: SeedKeys, *, drawer: str = "ann", ends_at_ms: int = DAY.ends_at_ms
) -> list[Draw]:
    """Store the campaign `past` with its round; return a user's draws, oldest first."""
    campaign = a_campaign(campaign_id="past", beacon=BEACON, ends_at_ms=ends_at_ms)
    assert DynamoEditedCampaigns(dynamo, seeds=seeds).create(campaign)
    prizes = DynamoPrizes(dynamo, seeds)
    for prize_id in ("cup", "pen"):
        write_prize(prizes, _prize(prize_id))
    row = {**beacon_round(BEACON.chain_hash, ROUND.round_no), "signature": ROUND.signature.hex()}
    dynamo.write(put(dynamo.tables.transparency, row))
    seed, draws = prizes.day_seed("past", DAY.name), DynamoDraws(dynamo)
    for number in range(1, DRAW_COUNT + 1):
        drawn = _draw(seed, drawer, number)
        assert draws.record_draw(drawn, campaign.rules, f"key-{number}") == "recorded"
        key, taken = draw(drawn.campaign_id, drawer, drawn.draw_id), ROUND.round_no
        dynamo.write(update(dynamo.tables.draws, key, "SET beacon_round = :taken", taken=taken))
    return draws.list_draws("past", drawer)[::-1]


def _prize(prize_id: str) -> Prize:
    return a_prize("past", prize_id, total=DRAW_COUNT)


def _draw(seed: bytes, drawer: str, number: int) -> Draw:
    point = draw_point(seed, "past", drawer, number, ROUND.randomness)
    prize_id = choose(ODDS, point)
    return Draw(
        campaign_id="past",
        user_id=drawer,
        draw_id=draw_id_of("past", drawer, DAY.name, number),
        day=DAY.name,
        draw_no=number,
        drawn_at_ms=NOW_MS + 20_000 + number,
        point=point,
        odds=ODDS,
        snapshot_version=3,
        prize=_prize(prize_id) if prize_id else None,
        unit_no=number if prize_id else 0,
    )
