"""`redpacket.verify` on days that took a round of the beacon, from public answers alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from local.beacon.chain import LocalChain
from local.places import ROOT
from redpacket.domain.beacon import BeaconRound, CampaignBeacon
from redpacket.domain.lottery import draw_point
from redpacket.edge import lottery_views
from redpacket.flows.campaigns.read_draws import DrawPage
from redpacket.verify.command import FALSE, TRUE, UNREADABLE, main
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.in_memory_system import InMemorySystem

SIGNER = LocalChain(secret=20_260_101, genesis_s=NOW_MS // 1000 - 1_000, period_s=3)
KEY = SIGNER.public_key.hex()

Answers = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """What the API says of a day that is over: its proof, ann's draws, the campaign."""
    system = InMemorySystem()
    beacon = CampaignBeacon(SIGNER.chain, NOW_MS, "Asia/Shanghai")
    campaign = a_campaign(campaign_id="gala", miss_weight=10, beacon=beacon)
    assert system.campaigns.create(campaign)
    system.draws.put_prize(a_prize("gala", total=1000), None)
    round_no = beacon.round_of(0)
    found = BeaconRound(round_no, SIGNER.signature(round_no))
    system.pass_time(20_000)
    system.rounds.keep(SIGNER.chain.chain_hash, found)
    shown = lottery_views.campaign_view(system.lotteries().recall("gala"))
    draws = [system.draw("gala", "ann", f"key-{number}").draw for number in range(6)]
    system.pass_time(24 * 3_600_000)
    proof = lottery_views.draw_proof_view(system.process().read_draw_proof("gala", draws[0].day))
    said = lottery_views.draws_view(DrawPage("ann", draws, None))
    proved, listed, campaign_said = (json.loads(json.dumps(each)) for each in (proof, said, shown))
    return proved, listed, campaign_said


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., int]:
    def verify(*documents: Any, key: str = KEY) -> int:
        return main([*_files(tmp_path, documents), "--public-key", key, "--user", "ann"])

    return verify


def _files(folder: Path, documents: tuple[Any, ...]) -> list[str]:
    files = []
    for number, document in enumerate(documents):
        (folder / f"{number}.json").write_text(json.dumps(document))
        files.append(str(folder / f"{number}.json"))
    return files


def test_a_day_with_a_round_is_verified_and_says_what_was_checked(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*answers) == TRUE

    said = capsys.readouterr().out
    assert f"beacon      round {answers[0]['beacon_round']} of chain" in said
    assert "signature   compared with the chain's public key" in said
    assert "order       not checked: the commitment must have been known before 2026-" in said
    assert said.endswith("VERIFIED\n")


def test_without_the_library_all_but_the_signature_is_checked(
    answers: Answers, tmp_path: Path
) -> None:
    proof, draws, _ = answers
    command = [sys.executable, "-S", "-m", "redpacket.verify", "--public-key", KEY]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}

    def run_bare(*documents: Any) -> subprocess.CompletedProcess[str]:
        files = _files(tmp_path, documents)
        return subprocess.run(
            [*command, *files], capture_output=True, text=True, check=False, env=environment
        )

    good = run_bare(proof, draws)
    forged = run_bare({**proof, "signature": "00" * 48}, draws)

    assert good.returncode == TRUE, good.stderr
    assert "signature   not checked: it needs the package pyblst" in good.stdout
    # Another signature makes other points.
    assert forged.returncode == FALSE


def _forged(proof: dict[str, Any], draws: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an operator would show who made a signature that suits them."""
    signature = LocalChain(secret=666, genesis_s=0).signature(proof["beacon_round"])
    randomness = BeaconRound(1, signature).randomness
    seed = bytes.fromhex(proof["seed"])
    items = [
        {**item, "point": draw_point(seed, "gala", "ann", item["n"], randomness), "odds": "|1"}
        for item in draws["items"]
    ]
    items = [{**item, "prize": None, "outcome": "missed"} for item in items]
    return {**proof, "signature": signature.hex()}, {**draws, "items": items}


def test_a_forged_round_is_found_though_all_points_follow_from_it(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    proof, draws, _ = answers

    assert run(*_forged(proof, draws)) == FALSE

    said = capsys.readouterr().out
    assert "WRONG       signature of round" in said
    assert said.count("WRONG") == 1


def test_another_round_than_the_named_one_is_found(
    answers: Answers, run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    # The operator waits for rounds until one suits them.
    proof, draws, _ = answers
    later = proof["beacon_round"] + 5
    signature = SIGNER.signature(later)
    randomness = BeaconRound(later, signature).randomness
    seed = bytes.fromhex(proof["seed"])
    items = [
        {
            **item,
            "beacon_round": later,
            "point": draw_point(seed, "gala", "ann", item["n"], randomness),
            "odds": "|1",
            "prize": None,
            "outcome": "missed",
        }
        for item in draws["items"]
    ]
    chosen = {**proof, "beacon_round": later, "signature": signature.hex()}

    assert run(chosen, {**draws, "items": items}) == FALSE

    said = capsys.readouterr().out
    assert "WRONG       beacon_round" in said
    assert said.count("WRONG") == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("committed_at_ms", NOW_MS + 30_000),
        ("timezone", "UTC"),
        ("period_s", 30),
        ("genesis_s", 1),
        ("chain_hash", "0" * 64),
    ],
)
def test_what_names_the_round_is_part_of_the_commitment(
    name: str, value: Any, answers: Answers, run: Callable[..., int]
) -> None:
    proof, draws, campaign = answers
    moved = {**proof, "beacon": {**proof["beacon"], name: value}}

    assert run(moved, draws, campaign) == FALSE


def test_a_proof_that_hides_its_beacon_is_found(answers: Answers, run: Callable[..., int]) -> None:
    proof, draws, _ = answers

    assert run({**proof, "beacon": None}, draws) == FALSE
    assert run({**proof, "beacon_round": None, "signature": None}, draws) == FALSE


def test_the_signature_of_another_chain_needs_its_key(
    answers: Answers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_files(tmp_path, answers[:2])) == TRUE

    assert "signature   not checked: give the chain's key" in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        {"beacon": {"chain_hash": "xyz"}},
        {"beacon_round": "7"},
        {"signature": "zz"},
        {"signature": None},
    ],
)
def test_a_malformed_beacon_is_unreadable(
    change: dict[str, Any], answers: Answers, run: Callable[..., int]
) -> None:
    assert run({**answers[0], **change}, answers[1]) == UNREADABLE


def test_a_malformed_public_key_is_unreadable(answers: Answers, run: Callable[..., int]) -> None:
    assert run(*answers, key="00") == UNREADABLE
    assert run(*answers, key="zz") == UNREADABLE
