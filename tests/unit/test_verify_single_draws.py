"""`redpacket.verify` on draws that took rounds of their own, from public answers alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local.beacon.chain import LocalChain
from redpacket.domain.beacon import BeaconRound, CampaignBeacon
from redpacket.domain.errors import BeaconPending
from redpacket.domain.lottery import chain_commitment, choose, draw_point
from redpacket.edge import lottery_views
from redpacket.flows.campaigns.read_draws import DrawPage
from redpacket.verify.command import FALSE, TRUE, UNREADABLE, main
from testing.builders import a_prize
from testing.in_memory_system import InMemorySystem
from tests.unit.test_beacon import DAY_MS, SIGNER, Endpoint, fetch
from tests.unit.test_single_draws import a_lottery

QUICKNET_HASH = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"

Answer = dict[str, Any]
Answers = tuple[Answer, Answer, Answer]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """What the API says of a day that is over: its proof, ann's draws, the campaign.

    The first of ann's five draws came too late for the last unit.
    """
    system = InMemorySystem()
    a_lottery(system, prize={"total": 1})
    shown = lottery_views.campaign_view(system.lotteries().recall("gala"))
    endpoint = Endpoint(system)

    def begin(user: str) -> None:
        with pytest.raises(BeaconPending):
            system.draw("gala", user, "key")

    begin("ann")
    begin("bob")
    fetch(system, endpoint, 15_000)
    draws = [system.draw("gala", user, "key").draw for user in ("bob", "ann")][1:]
    (cup,) = system.draws.list_prizes("gala")
    system.put_prize(a_prize("gala", "tea", weight=1, total=0))
    for prize in (cup, system.draws.list_prizes("gala")[1]):
        system.change_stock(prize, 9)
    system.load_campaign("gala")
    for number in range(2, 6):
        with pytest.raises(BeaconPending):
            system.draw("gala", "ann", f"key-{number}")
        fetch(system, endpoint, 15_000)
        draws.append(system.draw("gala", "ann", f"key-{number}").draw)
    system.pass_time(DAY_MS)
    proof = lottery_views.draw_proof_view(system.process().read_draw_proof("gala", draws[0].day))
    said = lottery_views.draws_view(DrawPage("ann", draws, None))
    proved, listed, campaign_said = (json.loads(json.dumps(each)) for each in (proof, said, shown))
    return proved, listed, campaign_said


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., int]:
    def verify(*documents: Any) -> int:
        files = []
        for number, document in enumerate(documents):
            (tmp_path / f"{number}.json").write_text(json.dumps(document))
            files.append(str(tmp_path / f"{number}.json"))
        return main([*files, "--public-key", SIGNER.public_key.hex(), "--user", "ann"])

    return verify


def test_draws_with_rounds_of_their_own_are_verified_and_it_says_what_was_checked(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    proof, draws, campaign = answers
    gone = [item["gone_prize_id"] for item in draws["items"]]

    assert run(*answers) == TRUE

    said = capsys.readouterr().out
    assert f"beacon      {len(gone)} rounds of chain" in said
    assert "signature   compared with the chain's public key" in said
    assert "order       not checked: compare odds and round" in said
    assert (
        f"gone        not checked: the last units of {len(gone) - gone.count(None)} prizes" in said
    )
    assert said.endswith("VERIFIED\n")
    assert campaign["draw_beacon"] == "draw"
    assert (campaign["beacon_round"], campaign["beacon_at_ms"]) == (None, None)
    assert (proof["beacon_round"], proof["signature"]) == (None, None)
    assert proof["beacon"]["is_per_draw"] is True


def first(draws: Answer) -> Answer:
    found: Answer = draws["items"][0]
    return found


def another_round(_proof: Answer, draws: Answer) -> None:
    """Take another round, whose signature is right, and all that follows from it."""
    item = first(draws)
    round_no = item["beacon_round"] + 1
    item["beacon_round"] = round_no
    item["signature"] = SIGNER.signature(round_no).hex()


def a_later_beginning(_proof: Answer, draws: Answer) -> None:
    first(draws)["attempted_at_ms"] += 6_000


def a_beginning_of_another_day(_proof: Answer, draws: Answer) -> None:
    first(draws)["attempted_at_ms"] -= DAY_MS


def a_forged_signature(_proof: Answer, draws: Answer) -> None:
    item = first(draws)
    forger = LocalChain(secret=666, genesis_s=0)
    item["signature"] = forger.signature(item["beacon_round"]).hex()


def a_prize_that_was_not_meant_is_gone(_proof: Answer, draws: Answer) -> None:
    item = next(item for item in draws["items"] if item["gone_prize_id"])
    item["gone_prize_id"] = "tea"


def a_win_that_is_gone(_proof: Answer, draws: Answer) -> None:
    item = next(item for item in draws["items"] if item["gone_prize_id"])
    item["prize"] = {"prize_id": item["gone_prize_id"]}
    item["outcome"] = "won"


def a_miss_that_is_gone(_proof: Answer, draws: Answer) -> None:
    item = next(item for item in draws["items"] if item["gone_prize_id"])
    item["odds"] = "|1"


def a_gone_prize_that_is_not_told(_proof: Answer, draws: Answer) -> None:
    item = next(item for item in draws["items"] if item["gone_prize_id"])
    item["gone_prize_id"] = None


def a_gap(_proof: Answer, draws: Answer) -> None:
    del draws["items"][1]


def no_own_rounds(proof: Answer, _draws: Answer) -> None:
    proof["beacon"]["is_per_draw"] = False


def a_round_of_the_day(proof: Answer, draws: Answer) -> None:
    item = first(draws)
    proof["beacon_round"], proof["signature"] = item["beacon_round"], item["signature"]


@pytest.mark.parametrize(
    "forge",
    [
        another_round,
        a_later_beginning,
        a_beginning_of_another_day,
        a_forged_signature,
        a_prize_that_was_not_meant_is_gone,
        a_win_that_is_gone,
        a_miss_that_is_gone,
        a_gone_prize_that_is_not_told,
        a_gap,
        no_own_rounds,
        a_round_of_the_day,
    ],
)
def test_whatever_is_forged_is_found(
    forge: Callable[[Answer, Answer], None], answers: Answers, run: Callable[..., int]
) -> None:
    proof, draws, _ = copy.deepcopy(answers)
    forge(proof, draws)

    assert run(proof, draws) in {FALSE, UNREADABLE}


def test_draws_that_were_begun_together_are_found(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    # An insider may begin two numbers, and complete the better one first: all else is true.
    proof, draws, _ = copy.deepcopy(answers)
    one, two = sorted(draws["items"], key=lambda item: item["n"])[:2]
    for name in ("attempted_at_ms", "beacon_round", "signature"):
        two[name] = one[name]
    seed, found = bytes.fromhex(proof["seed"]), bytes.fromhex(one["signature"])
    randomness = BeaconRound(one["beacon_round"], found).randomness
    two["point"] = draw_point(seed, "gala", "ann", two["n"], randomness)
    prize_id = choose(two["odds"], two["point"])
    two["prize"] = {"prize_id": prize_id} if prize_id else None
    two["outcome"], two["gone_prize_id"] = "won" if prize_id else "missed", None

    assert run(proof, draws) == FALSE
    assert "began before the one before was over" in capsys.readouterr().out


def test_a_known_chain_that_says_it_began_later_is_found(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    # Rounds to come of such a chain are rounds of long ago, whose signatures are right.
    proof, draws, _ = copy.deepcopy(answers)
    proof["beacon"]["chain_hash"] = QUICKNET_HASH

    assert run(proof, draws) == FALSE
    assert "WRONG       the beacon's genesis_s: says" in capsys.readouterr().out


def test_a_campaign_can_not_say_later_that_its_draws_had_rounds_of_their_own(
    system: InMemorySystem,
) -> None:
    campaign = a_lottery(system)
    assert campaign.beacon
    seed, day = system.draws.day_seed("gala", "20270129"), "20270129"
    by_day = replace(campaign.beacon, is_per_draw=False)
    table = system.draws.find_table("gala")

    assert table
    assert table.commitment == chain_commitment("gala", seed, day, campaign.beacon)
    assert table.commitment != chain_commitment("gala", seed, day, by_day)
    assert CampaignBeacon.parse(str(campaign.beacon)) == campaign.beacon
    assert CampaignBeacon.parse(str(by_day)) == by_day
