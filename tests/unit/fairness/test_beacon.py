"""Rounds of the beacon: which one decides, who fetches it, and what no operator can choose."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from local.beacon.chain import LocalChain
from redpacket.campaigns.errors import CampaignEnded, CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus, DrawBeacon, DrawRules
from redpacket.fairness.bls import PublicKey
from redpacket.fairness.dynamodb import keys
from redpacket.fairness.model.beacon import (
    LATE_MS,
    MARGIN_MS,
    BeaconChain,
    BeaconRound,
    CampaignBeacon,
)
from redpacket.fairness.model.days import day_at
from redpacket.fairness.use_cases.fetch_rounds import LOOK_EVERY_MS, FetchReport, fetch_rounds
from redpacket.fairness.use_cases.new_beacon import new_beacon
from redpacket.lottery.errors import DayNotStarted
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.lottery.model.odds import draw_point
from redpacket.packets.errors import ProofNotReady
from redpacket.platform import errors
from redpacket.platform.settings import Settings
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.fakes import Away
from testing.in_memory_system import DAY_MS, VARIABLES, InMemorySystem, a_person, an_operator

SIGNER = LocalChain(secret=20_260_101, genesis_s=NOW_MS // 1000 - 1_000, period_s=3)
CHAIN = SIGNER.chain
OTHER = LocalChain(secret=20_260_102, genesis_s=NOW_MS // 1000 - 1_000, period_s=3)


@pytest.fixture(autouse=True)
def chain_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configure the chain in each process."""
    monkeypatch.setitem(VARIABLES, "BEACON_CHAIN", f"{CHAIN},{SIGNER.public_key.hex()}")


QUICKNET = BeaconChain(
    "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", 1_692_803_367, 3
)


class Endpoint:
    """A beacon whose rounds are there *late_ms* after their time, or never."""

    def __init__(self, system: InMemorySystem, late_ms: int | None = 0) -> None:
        self.late_ms = late_ms
        self.requests: list[int] = []
        self._system = system

    def fetch(self, round_no: int) -> BeaconRound | None:
        self.requests.append(round_no)
        now_ms = self._system.clock.now_ms()
        if self.late_ms is None or now_ms < CHAIN.time_ms(round_no) + self.late_ms:
            return None
        return BeaconRound(round_no, SIGNER.signature(round_no))


def a_new_beacon(system: InMemorySystem, timezone: str = "Asia/Shanghai") -> CampaignBeacon:
    return new_beacon(timezone, chain=CHAIN, rounds=system.rounds, clock=system.clock)


def a_lottery(system: InMemorySystem, **changes: Any) -> Campaign:
    """Put a lottery that draws by the beacon from now on."""
    prize = a_prize(changes.get("campaign_id", "gala"), total=1000)
    return system.lottery(prize, **{"beacon": a_new_beacon(system), **changes})


def fetch(system: InMemorySystem, endpoint: Endpoint, for_ms: int = 55_000) -> FetchReport:
    return fetch_rounds(
        for_ms,
        chain=CHAIN,
        beacon=endpoint,
        rounds=system.rounds,
        clock=system.clock,
        logger=system.logger,
    )


# ---------------------------------------------------------------- which round


def test_a_round_is_the_first_one_that_is_not_before_its_time() -> None:
    for after_ms, round_no in {-5_000: 1, 0: 1, 1: 2, 3_000: 2, 3_001: 3}.items():
        at_ms = QUICKNET.genesis_s * 1000 + after_ms
        assert QUICKNET.first_round(at_ms) == round_no
        assert QUICKNET.time_ms(round_no) >= at_ms


def test_a_day_takes_a_round_that_comes_after_its_midnight_and_after_the_seeds() -> None:
    committed_at_ms = NOW_MS
    beacon = CampaignBeacon(QUICKNET, committed_at_ms, "Asia/Shanghai")
    today = day_at("Asia/Shanghai", NOW_MS)
    tomorrow = day_at("Asia/Shanghai", NOW_MS + DAY_MS)

    first, second = (beacon.round_of(day.starts_at_ms) for day in (today, tomorrow))

    assert QUICKNET.time_ms(first) - committed_at_ms in range(MARGIN_MS, MARGIN_MS + 3_000)
    assert QUICKNET.time_ms(second) - tomorrow.starts_at_ms in range(MARGIN_MS, MARGIN_MS + 3_000)


def test_what_a_campaign_draws_by_is_read_as_it_was_written() -> None:
    beacon = CampaignBeacon(QUICKNET, NOW_MS, "America/Argentina/Buenos_Aires")

    assert CampaignBeacon.parse(str(beacon)) == beacon
    for text in ("", "a,b,c", f"{QUICKNET},1", f"00,1,3,{NOW_MS},UTC", f"{'0' * 64},1,0,1,UTC"):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever part of it is wrong
            CampaignBeacon.parse(text)
    with pytest.raises(ValueError, match="a round for each draw is not known any more"):
        CampaignBeacon.parse(f"{beacon},draw")


def test_the_seeds_of_a_clock_that_is_behind_come_after_the_newest_known_round(
    system: InMemorySystem,
) -> None:
    # Its operator knows a round that this machine thinks is still to come.
    round_no = CHAIN.first_round(NOW_MS + 60_000)
    system.rounds.keep(CHAIN.chain_hash, BeaconRound(round_no, SIGNER.signature(round_no)))
    older = CHAIN.first_round(NOW_MS)
    system.rounds.keep(CHAIN.chain_hash, BeaconRound(older, SIGNER.signature(older)))

    beacon = a_new_beacon(system, "UTC")

    assert beacon.round_of(day_at("UTC", NOW_MS).starts_at_ms) > round_no


# ---------------------------------------------------------------- draws


def test_a_draw_waits_for_its_round_and_costs_the_ledger_nothing(system: InMemorySystem) -> None:
    a_lottery(system)
    process = system.process()
    system.load_campaign("gala")
    with pytest.raises(DayNotStarted):
        system.draw("gala", "ann", "key", process.snapshots)

    reads = count_reads(system)
    with pytest.raises(DayNotStarted) as refusal:
        process.draw_prize("gala", a_person("ann"), "key")
    first = len(reads)
    for number in range(20):
        system.pass_time(300)
        with pytest.raises(DayNotStarted):
            process.draw_prize("gala", a_person(f"user-{number}"), "key")

    assert refusal.value.retry_after_s in range(10, 16)
    assert len(reads) == first
    assert "transparency" not in reads
    assert system.draws.list_draws("gala", "ann") == []


def test_a_process_reads_a_round_once(system: InMemorySystem) -> None:
    a_lottery(system)
    fetch(system, Endpoint(system))
    process = system.process()
    process.draw_prize("gala", a_person("ann"), "key")

    reads = count_reads(system)
    process.draw_prize("gala", a_person("bob"), "key")

    assert not [table for table in reads if table == "transparency"]


def test_a_stored_round_that_the_chain_did_not_sign_decides_no_draw(
    system: InMemorySystem,
) -> None:
    class Forger(Endpoint):
        def fetch(self, round_no: int) -> BeaconRound | None:
            beacon_round = super().fetch(round_no)
            return beacon_round and BeaconRound(round_no, SIGNER.signature(round_no + 1))

    a_lottery(system)
    fetch(system, Forger(system))

    with pytest.raises(errors.InvariantViolated):
        system.process().draw_prize("gala", a_person("ann"), "key")


@pytest.mark.parametrize("chain", [f"{OTHER.chain},{OTHER.public_key.hex()}", ""])
def test_a_round_of_a_chain_whose_key_is_not_known_decides_no_draw(
    system: InMemorySystem, chain: str
) -> None:
    """Else the role that stores rounds could choose winners after `BeaconChain` was replaced."""
    a_lottery(system)
    fetch(system, Endpoint(system))
    process = system.process(settings=Settings({**VARIABLES, "BEACON_CHAIN": chain}))

    for _ in range(2):
        with pytest.raises(errors.Unavailable, match="beacon"):
            process.draw_prize("gala", a_person("ann"), "key")

    assert system.draws.list_draws("gala", "ann") == []


def test_a_late_round_is_asked_for_once_a_second_whatever_crowd_waits(
    system: InMemorySystem,
) -> None:
    a_lottery(system)
    process = system.process()
    system.pass_time(20_000)
    reads = count_reads(system)

    for number in range(30):
        with pytest.raises(DayNotStarted) as refusal:
            process.draw_prize("gala", a_person(f"user-{number}"), "key")
        system.pass_time(100)

    assert refusal.value.retry_after_s == 1
    assert reads.count("transparency") == 3


def test_a_round_that_is_late_or_can_not_be_read_is_a_failure(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    process = system.process()
    assert campaign.beacon
    due_ms = CHAIN.time_ms(campaign.beacon.round_of(0))
    system.clock.at_ms = due_ms + LATE_MS - 1
    with pytest.raises(DayNotStarted):
        process.draw_prize("gala", a_person("ann"), "key")

    system.pass_time(1_001)
    with pytest.raises(errors.Unavailable, match="not there yet"):
        process.draw_prize("gala", a_person("ann"), "key")
    away = Away(system.rounds, "find", error=errors.Unavailable)
    process = system.process(rounds=away)
    for _ in range(20):
        with pytest.raises(errors.Unavailable, match="can't be read"):
            process.draw_prize("gala", a_person("ann"), "key")

    assert len(away.requests) == 1


def test_a_point_is_of_the_seed_and_of_the_round(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    fetch(system, Endpoint(system))

    draw = system.draw("gala", "ann", "key").draw

    assert campaign.beacon
    day = day_at("Asia/Shanghai", system.clock.now_ms())
    assert draw.beacon_round == campaign.beacon.round_of(day.starts_at_ms)
    randomness = BeaconRound(draw.beacon_round, SIGNER.signature(draw.beacon_round)).randomness
    seed = system.prizes.day_seed("gala", draw.day)
    assert draw.point == draw_point(seed, "gala", "ann", 1, randomness)
    assert draw.point != draw_point(seed, "gala", "ann", 1)
    assert system.draws.list_draws("gala", "ann") == [draw]
    assert system.draw("gala", "ann", "key").draw == draw
    assert system.differences() == []


ONE_IN = 1_000_000


def test_an_insider_with_all_rows_and_keys_knows_no_point_before_the_round(
    system: InMemorySystem,
) -> None:
    # The attack of a review: the day's seed is known, and user ids are tried until one wins.
    campaign = a_lottery(system, miss_weight=ONE_IN - 10)
    day = day_at("Asia/Shanghai", NOW_MS)
    seed = system.prizes.day_seed("gala", day.name)
    guess = BeaconRound(1, SIGNER.signature(1)).randomness
    users = (f"user-{number}" for number in range(3_000_000))
    bound = 2**52 // 1_000
    ground = next(user for user in users if draw_point(seed, "gala", user, 1, guess) < bound)
    assert campaign.beacon

    with pytest.raises(DayNotStarted):
        system.draw("gala", ground, "key")
    fetch(system, Endpoint(system))
    draw = system.draw("gala", ground, "key").draw

    assert draw.point >= bound


def test_a_repeat_finds_its_draw_while_a_new_day_waits_for_its_round(
    system: InMemorySystem,
) -> None:
    a_lottery(system)
    fetch(system, Endpoint(system))
    first = system.draw("gala", "ann", "key").draw
    system.clock.at_ms = day_at("Asia/Shanghai", NOW_MS).ends_at_ms

    assert system.draw("gala", "ann", "key").draw == first
    system.pass_time(60_000)
    assert system.draw("gala", "ann", "key").draw == first
    with pytest.raises(errors.Unavailable, match="not there yet"):
        system.draw("gala", "ann", "next")


def test_a_new_day_waits_for_a_new_round(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    endpoint = Endpoint(system)
    fetch(system, endpoint)
    first = system.draw("gala", "ann", "key").draw
    system.clock.at_ms = day_at("Asia/Shanghai", NOW_MS).ends_at_ms

    with pytest.raises(DayNotStarted):
        system.draw("gala", "ann", "next")
    fetch(system, endpoint)
    second = system.draw("gala", "ann", "next").draw

    assert campaign.beacon
    assert second.beacon_round == campaign.beacon.round_of(
        day_at("Asia/Shanghai", NOW_MS + DAY_MS).starts_at_ms
    )
    assert (first.draw_no, second.draw_no) == (1, 1)
    assert first.beacon_round != second.beacon_round


def test_a_campaign_that_does_not_give_says_so_also_without_a_round(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    off = replace(campaign, status=CampaignStatus.OFF, version=2)
    assert system.campaigns.edit(off, campaign)

    with pytest.raises(CampaignPaused):
        system.draw("gala", "ann", "key")
    system.clock.at_ms = campaign.ends_at_ms
    with pytest.raises(CampaignEnded):
        system.draw("gala", "ann", "key")


def test_who_has_drawn_is_told_it_again_also_where_no_round_comes_any_more(
    system: InMemorySystem,
) -> None:
    # The simulation found it: over midnight a repeat was told that the campaign had ended.
    campaign = a_lottery(system, ends_at_ms=NOW_MS + DAY_MS)
    fetch(system, Endpoint(system))
    draw = system.draw("gala", "ann", "key").draw
    system.clock.at_ms = campaign.ends_at_ms + 1

    assert system.draw("gala", "ann", "key").draw == draw
    with pytest.raises(CampaignEnded):
        system.draw("gala", "ann", "another")


def test_a_round_that_never_comes_is_never_replaced_and_the_money_goes_back(
    system: InMemorySystem,
) -> None:
    campaign = a_lottery(system)
    system.deposit("operator", 1_000)
    cash = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=0)
    system.put_prize(cash)
    system.change_stock(system.prizes.list_prizes("gala")[0], 10)
    silent = Endpoint(system, late_ms=None)
    assert system.balance_fen("operator") == 0

    for _ in range(5):
        fetch(system, silent)
        with pytest.raises(errors.Unavailable):
            system.draw("gala", "ann", "key")
    report = fetch(system, silent)
    system.clock.at_ms = campaign.ends_at_ms + 60_000
    for _ in range(4):
        system.expire()
        system.pass_time(60_000)

    assert report == FetchReport(kept_count=0, missing_count=1)
    assert len(set(silent.requests)) == 1
    assert "beacon_round_missing" in told(system)
    assert system.balance_fen("operator") == 1_000
    assert system.differences() == []


# ---------------------------------------------------------------- who fetches


def test_a_round_is_there_within_a_second_of_being_published(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    late = Endpoint(system, late_ms=900)
    assert campaign.beacon
    due = campaign.beacon.round_of(0)

    while not system.rounds.find(CHAIN.chain_hash, due):
        fetch(system, late, for_ms=LOOK_EVERY_MS + 1)
        system.pass_time(500)

    assert system.clock.now_ms() - CHAIN.time_ms(due) < 900 + 2 * LOOK_EVERY_MS
    assert system.clock.now_ms() - NOW_MS < 20_000


def test_rounds_are_fetched_once_and_only_for_campaigns_that_draw(system: InMemorySystem) -> None:
    a_lottery(system)
    endpoint = Endpoint(system)
    later = a_campaign(
        campaign_id="later",
        starts_at_ms=NOW_MS + 2 * DAY_MS,
        ends_at_ms=NOW_MS + 3 * DAY_MS,
        beacon=CampaignBeacon(CHAIN, NOW_MS, "UTC"),
    )
    assert system.campaigns.create(later)
    assert system.campaigns.create(a_campaign(campaign_id="without"))

    reports = [fetch(system, endpoint) for _ in range(3)]

    assert [report.kept_count for report in reports] == [1, 0, 0]
    assert len(endpoint.requests) == 1


def test_a_beacon_of_another_form_keeps_no_other_campaign_from_its_rounds(
    system: InMemorySystem,
) -> None:
    a_lottery(system)
    key, row = next(
        (key, row)
        for key, row in system.dynamo.tables["transparency"].items()
        if key[0] == keys.DRAWING
    )
    beacon_text = row["beacon"]["S"].rpartition(",")[0]
    other = {**row, "sk": {"S": f"{key[1]}-other"}, "beacon": {"S": f"{beacon_text},draw"}}
    system.dynamo.tables["transparency"][key[0], f"{key[1]}-other"] = other

    assert len(system.rounds.list_drawing(NOW_MS)) == 1


def test_a_run_ends_in_time_where_endpoints_hang_and_asks_for_the_newest_first(
    system: InMemorySystem,
) -> None:
    class Hanging(Endpoint):
        def fetch(self, round_no: int) -> BeaconRound | None:
            system.pass_time(6_000)
            return super().fetch(round_no)

    for number in range(5):
        a_lottery(system, campaign_id=f"gala-{number}")
        system.pass_time(4_000)
    system.pass_time(20_000)
    began_at_ms, endpoint = system.clock.now_ms(), Hanging(system, late_ms=None)

    report = fetch(system, endpoint, for_ms=20_000)

    assert system.clock.now_ms() - began_at_ms <= 20_000 + 10_000
    assert endpoint.requests[:5] == sorted(endpoint.requests[:5], reverse=True)
    assert report.missing_count == 5


def test_a_campaign_whose_end_is_moved_draws_on(system: InMemorySystem) -> None:
    campaign = a_lottery(system, ends_at_ms=NOW_MS + 1_000)
    longer = replace(campaign, ends_at_ms=NOW_MS + 2 * DAY_MS, version=2)
    assert system.campaigns.edit(longer, campaign)
    system.pass_time(DAY_MS)

    fetch(system, Endpoint(system))

    assert system.draw("gala", "ann", "key").draw.beacon_round


def test_a_chain_that_is_not_ours_is_told(system: InMemorySystem) -> None:
    a_lottery(system, beacon=CampaignBeacon(QUICKNET, NOW_MS, "UTC"))
    endpoint = Endpoint(system)

    fetch(system, endpoint)

    assert endpoint.requests == []
    assert told(system) == ["beacon_chain_unknown"]


def test_an_operator_is_told_of_a_missing_round_after_a_while(system: InMemorySystem) -> None:
    a_lottery(system)
    silent = Endpoint(system, late_ms=None)

    fetch(system, silent, for_ms=15_000)
    early = told(system)
    system.pass_time(LATE_MS)
    fetch(system, silent, for_ms=3_000)

    assert early == []
    assert told(system) == ["beacon_round_missing"]


# ---------------------------------------------------------------- what operators may choose


def put(
    system: InMemorySystem,
    draw_beacon: DrawBeacon | None,
    *,
    has_beacon: bool = True,
    default: str = "day",
    **changes: Any,
) -> Campaign:
    process = system.process(
        settings=Settings({**VARIABLES, "DRAW_BEACON": default}),
        new_beacon=partial(a_new_beacon, system) if has_beacon else None,
    )
    plan = a_campaign(campaign_id="gala", **changes).plan
    process.edit_campaign(plan, None, None, an_operator(), draw_beacon)
    campaign = system.campaigns.find_campaign("gala")
    assert campaign
    return campaign


def test_a_campaign_draws_by_the_beacon_where_there_is_one(system: InMemorySystem) -> None:
    made = put(system, None)

    assert made.draw_beacon is DrawBeacon.DAY
    assert made.beacon == CampaignBeacon(CHAIN, NOW_MS, "Asia/Shanghai")
    assert put(system, None, title="Newer").beacon == made.beacon


@pytest.mark.parametrize(
    ("draw_beacon", "has_beacon", "default", "is_by_beacon"),
    [
        (None, False, "day", False),
        (DrawBeacon.NONE, True, "day", False),
        (None, True, "none", False),
        (DrawBeacon.DAY, True, "none", True),
    ],
)
def test_a_choice_counts_before_the_default_and_both_are_kept(
    system: InMemorySystem,
    draw_beacon: DrawBeacon | None,
    default: str,
    *,
    has_beacon: bool,
    is_by_beacon: bool,
) -> None:
    made = put(system, draw_beacon, has_beacon=has_beacon, default=default)

    assert (made.beacon is not None) is is_by_beacon
    # Its beacon is fixed from then on, whatever the deployment says later.
    assert put(system, None, default="day", title="Newer").beacon == made.beacon


def test_a_beacon_that_is_not_there_is_refused_and_nothing_is_created(
    system: InMemorySystem,
) -> None:
    with pytest.raises(errors.InvalidRequest, match="draw_beacon"):
        put(system, DrawBeacon.DAY, has_beacon=False)

    assert system.campaigns.find_campaign("gala") is None


@pytest.mark.parametrize("first", DrawBeacon)
def test_no_edit_changes_whether_a_round_counts(first: DrawBeacon, system: InMemorySystem) -> None:
    made = put(system, first)

    for other in set(DrawBeacon) - {first}:
        with pytest.raises(errors.InvalidRequest, match="draw_beacon"):
            put(system, other)

    assert made.draw_beacon is first
    assert system.campaigns.find_campaign("gala") == made


def test_no_edit_moves_the_days_of_a_campaign_with_a_beacon(system: InMemorySystem) -> None:
    # Each zone has another round for its day: an operator would know them, and choose.
    put(system, DrawBeacon.DAY)

    with pytest.raises(errors.InvalidRequest, match="timezone"):
        put(system, None, timezone="UTC")


# ---------------------------------------------------------------- proofs


def test_a_proof_has_the_round_of_its_day(system: InMemorySystem) -> None:
    campaign = a_lottery(system, rules=DrawRules())
    fetch(system, Endpoint(system))
    draw = system.draw("gala", "ann", "key").draw
    with pytest.raises(ProofNotReady):
        system.process().read_draw_proof("gala", draw.day)
    system.pass_time(DAY_MS)

    proof = system.process().read_draw_proof("gala", draw.day)

    assert (proof.beacon, proof.secret_version) == (campaign.beacon, 1)
    assert proof.round
    assert proof.round.round_no == draw.beacon_round
    assert PublicKey(SIGNER.public_key).has_signed(proof.round.round_no, proof.round.signature)
    without_chain = system.process(settings=Settings({**VARIABLES, "BEACON_CHAIN": ""}))
    assert without_chain.read_draw_proof("gala", draw.day) == proof


def test_a_day_without_a_round_has_a_proof_without_one(system: InMemorySystem) -> None:
    a_lottery(system)
    day = day_at("Asia/Shanghai", NOW_MS)
    system.pass_time(DAY_MS)

    assert system.process().read_draw_proof("gala", day.name).round is None


def count_reads(system: InMemorySystem) -> list[str]:
    """Return a list that grows by the table of each read of DynamoDB."""
    return count_calls(system, "get_item", "batch_get_item", "query")


def count_calls(system: InMemorySystem, *names: str) -> list[str]:
    """Return a list that grows by the table of each such call."""
    calls: list[str] = []
    client = system.dynamo

    def counted(name: str) -> None:
        real = getattr(client, name)

        def call(**arguments: Any) -> Any:
            calls.extend([arguments["TableName"]] if name != "batch_get_item" else ["batch"])
            return real(**arguments)

        setattr(client, name, call)

    for name in names:
        counted(name)
    return calls


def told(system: InMemorySystem) -> list[str]:
    """Return what operators were told."""
    return [*system.logger.events, *(name for name, _ in system.logger.errors)]
