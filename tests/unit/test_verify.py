from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from redpacket.domain.claim import ShareFate
from redpacket.domain.packet import Packet, Person
from redpacket.domain.split import Split, Terms, amounts_fen
from redpacket.edge import lottery_views, views
from redpacket.flows.campaigns.read_draws import DrawPage
from redpacket.flows.packets.read_proof import Proof
from redpacket.flows.packets.read_records import Record, status_of
from redpacket.verify.command import FALSE, TRUE, UNREADABLE, main
from testing.builders import a_campaign, a_claim, a_packet, a_prize, some_terms
from testing.in_memory_system import InMemorySystem

ROOT = Path(__file__).parents[2]

Write = Callable[[Any], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a document into a file of its own."""

    def to_file(document: Any) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return to_file


def a_proof(terms: Terms, first_no: int = 1, last_no: int | None = None) -> dict[str, Any]:
    last_no = last_no or terms.count
    amounts = list(amounts_fen(terms))[first_no - 1 : last_no]
    after = str(last_no) if last_no < terms.count else None
    return {**views.proof_view(Proof(terms, first_no, amounts, after))}


def a_record(packet: Packet, claims: list[ShareFate]) -> dict[str, Any]:
    record = Record(
        packet=packet,
        status=status_of(packet),
        claims=claims,
        next_no=None,
        claimed_count=len(claims),
        claimed_fen=0,
        emptied_in_ms=None,
        luckiest=claims[0],
        mine=claims[0],
    )
    shown = views.record_view(record, views.People({}))
    found: dict[str, Any] = json.loads(json.dumps(shown))
    return found


def some_record(packet: Packet) -> dict[str, Any]:
    return a_record(packet, [a_claim(packet, no, f"user-{no}") for no in (1, 2, 5)])


@pytest.mark.parametrize("split", list(Split))
def test_what_the_api_answers_is_verified(
    split: Split, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    packet = a_packet(terms=some_terms(1000, 5, split=split))
    sent = views.sent_view(packet, "https://a.example")
    files = [write(each) for each in (a_proof(packet.terms), some_record(packet), sent)]

    assert main([*files, "--commitment", packet.terms.commitment.upper()]) == TRUE

    said = capsys.readouterr().out
    assert "compared    5 amounts of 5 shares, 5 claims of records" in said
    assert said.endswith("VERIFIED\n")
    assert str(packet.terms) in said


def test_pages_of_a_proof_are_verified_together(write: Write) -> None:
    terms = some_terms(1000, 5)

    assert main([write(a_proof(terms, 1, 3)), write(a_proof(terms, 4, 5))]) == TRUE


def test_a_changed_fen_in_the_proof_is_found(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = a_proof(some_terms(1000, 5))
    proof["amounts_fen"][2] += 1

    assert main([write(proof)]) == FALSE

    said = capsys.readouterr().out
    right = list(amounts_fen(some_terms(1000, 5)))[2]
    assert f"share 3: says {right + 1}, is {right}\n" in said
    assert said.endswith("NOT VERIFIED, differences: 1\n")


@pytest.mark.parametrize("place", ["claims", "luckiest", "mine"])
def test_a_changed_fen_in_a_record_is_found(write: Write, place: str) -> None:
    packet = a_packet(terms=some_terms(1000, 5))
    record = some_record(packet)
    claim = record[place][1] if place == "claims" else record[place]
    claim["amount_fen"] -= 1

    assert main([write(a_proof(packet.terms)), write(record)]) == FALSE


def test_a_claim_of_a_share_that_does_not_exist_is_found(write: Write) -> None:
    packet = a_packet(terms=some_terms(1000, 5))
    record = some_record(packet)
    record["claims"][0]["share_no"] = 6

    assert main([write(a_proof(packet.terms)), write(record)]) == FALSE


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "AAECAwQFBgcICQoLDA0ODw"},
        {"commitment": "0" * 64},
        {"algorithm": "cut_points"},
        {"total_fen": 1001},
        {"count": 6},
        {"share_fen_min": 2},
        {"share_fen_max": 10},
        {"unit_fen": 3},
        {"first_share_no": 2},
        {"next": "5"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_field_of_the_proof_is_found(write: Write, change: dict[str, Any]) -> None:
    assert main([write(a_proof(some_terms(1000, 5)) | change)]) == FALSE


def test_a_proof_without_its_last_amounts_is_incomplete(write: Write) -> None:
    proof = a_proof(some_terms(1000, 5))
    del proof["amounts_fen"][3:]

    assert main([write(proof)]) == FALSE


def test_another_commitment_than_was_noted_is_found(write: Write) -> None:
    # Proof and record agree with each other, and with nothing that was promised.
    other = a_packet(terms=some_terms(1000, 5, seed=b"another 16 bytes"))
    noted = some_terms(1000, 5).commitment
    files = [write(a_proof(other.terms)), write(some_record(other))]

    assert main(files) == TRUE
    assert main([*files, "--commitment", noted]) == FALSE


@pytest.mark.parametrize("field", ["commitment", "total_fen", "count", "split"])
def test_a_record_of_another_packet_is_found(write: Write, field: str) -> None:
    packet = a_packet(terms=some_terms(1000, 5))
    other = a_packet(terms=some_terms(1001, 6, split=Split.BELL), sender=Person("other"))
    record = some_record(packet) | {field: some_record(other)[field]}

    assert main([write(a_proof(packet.terms)), write(record)]) == FALSE


def test_a_page_of_another_proof_is_found(write: Write) -> None:
    pages = [a_proof(some_terms(1000, 5), 1, 3), a_proof(some_terms(1000, 5, unit_fen=5), 4)]

    assert main([write(page) for page in pages]) == FALSE


def test_many_differences_are_counted_and_some_shown(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = a_proof(some_terms(100_000, 100)) | {"amounts_fen": [0] * 100}

    assert main([write(proof)]) == FALSE

    said = capsys.readouterr().out
    assert said.count("WRONG ") == 21
    assert "and 80 more" in said


UNREADABLE_FILES = {
    "nothing": "",
    "no JSON": "{",
    "no object": "[]",
    "a number": "1",
    "deep nesting": "[" * 100_000,
    "another object": {"code": "proof_not_ready", "status": 409},
}


@pytest.mark.parametrize("document", UNREADABLE_FILES.values(), ids=list(UNREADABLE_FILES))
def test_a_file_that_is_not_an_answer_is_unreadable(
    write: Write, document: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(a_proof(some_terms()))

    assert main([write(document)]) == UNREADABLE
    assert main([good, write(document)]) == UNREADABLE

    captured = capsys.readouterr()
    assert captured.err.startswith("UNREADABLE: ")
    assert "VERIFIED" not in captured.out


@pytest.mark.parametrize(
    "change",
    [
        {"seed": "no base64!"},
        {"seed": "AAECAwQFBgcICQoLDA0ODw=="},
        {"seed": 1},
        {"algorithm": "fair"},
        {"total_fen": "1000"},
        {"total_fen": 1000.0},
        {"count": True},
        {"count": 1_000_001},
        {"amounts_fen": None},
        {"amounts_fen": [True]},
        {"amounts_fen": [1.0]},
        {"first_share_no": None},
        {"commitment": None},
    ],
    ids=str,
)
def test_a_proof_of_another_form_is_unreadable(write: Write, change: dict[str, Any]) -> None:
    assert main([write(a_proof(some_terms()) | change)]) == UNREADABLE


@pytest.mark.parametrize(
    "claims", [None, 1, {"share_no": 1}, [1], [{}], [{"share_no": 1}]], ids=str
)
def test_a_record_of_another_form_is_unreadable(write: Write, claims: Any) -> None:
    packet = a_packet(terms=some_terms(1000, 5))
    record = some_record(packet) | {"claims": claims}

    assert main([write(a_proof(packet.terms)), write(record)]) == UNREADABLE


def test_a_file_that_is_not_there_is_unreadable(tmp_path: Path) -> None:
    assert main([str(tmp_path / "missing.json")]) == UNREADABLE


def run_bare(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as somebody would who has nothing but Python: no site packages at all."""
    command = [sys.executable, "-S", "-m", "redpacket.verify", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_the_command_needs_nothing_but_python(write: Write) -> None:
    proof = a_proof(some_terms())

    good = run_bare(write(proof))
    wrong = run_bare(write(proof | {"total_fen": 999}))
    unreadable = run_bare("missing.json")

    assert (good.returncode, good.stderr) == (TRUE, "")
    assert good.stdout.endswith("VERIFIED\n")
    assert (wrong.returncode, unreadable.returncode) == (FALSE, UNREADABLE)
    assert run_bare().returncode == UNREADABLE


# ---------------------------------------------------------------- draws of a day


A_CAR = {"prize_id": "car", "title": "汽车", "kind": "goods"}


def a_drawn_day(count: int = 12) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return what the API says of a day that is over: the campaign on it, its proof, its draws."""
    system = InMemorySystem()
    system.campaigns.create(a_campaign(campaign_id="gala", miss_weight=10))
    for prize_id in ("cup", "pen"):
        system.draws.put_prize(a_prize("gala", prize_id), None)
    shown = system.lotteries().recall("gala")
    draws = [system.draw("gala", "ann", f"key-{number}").draw for number in range(count)]
    system.pass_time(24 * 3_600_000)
    proof = system.process().read_draw_proof("gala", shown.day)
    return (
        _as_json(lottery_views.campaign_view(shown)),
        _as_json(lottery_views.draw_proof_view(proof)),
        _as_json(lottery_views.draws_view(DrawPage("ann", draws, None))),
    )


def _as_json(shown: Mapping[str, object]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(shown))
    return found


def test_what_the_api_says_of_draws_is_verified(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, proof, draws = a_drawn_day()
    other = {**draws["items"][0], "day": "20270129"}
    files = [write(proof), write(draws), write({**draws, "items": [other]}), write(campaign)]
    noted = ["--commitment", campaign["commitment"].upper(), "--user", "ann"]

    assert main([*files, *noted]) == TRUE

    said = capsys.readouterr().out
    assert f"day         {proof['day']} of gala" in said
    assert "compared    12 draws, 1 are of other days" in said
    assert said.endswith("VERIFIED\n")


@pytest.mark.parametrize(
    "lie",
    [
        lambda draw: {"prize": None, "outcome": "missed"} if draw["prize"] else {"prize": A_CAR},
        lambda draw: {"outcome": "missed" if draw["prize"] else "won"},
        lambda draw: {"point": draw["point"] + 1},
        lambda draw: {"draw_id": draw["draw_id"][::-1]},
        lambda draw: {"formula": draw["formula"].replace("none", "")},
        lambda _: {"odds": "car:1|0"},
    ],
)
def test_a_draw_that_is_not_what_its_seed_makes_of_it_is_found(
    lie: Callable[[dict[str, Any]], dict[str, Any]],
    write: Write,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, proof, draws = a_drawn_day()
    draws["items"][3] |= lie(draws["items"][3])

    assert main([write(proof), write(draws)]) == FALSE

    said = capsys.readouterr().out
    assert f"draw {draws['items'][3]['n']}" in said
    assert "NOT VERIFIED" in said


@pytest.mark.parametrize("left_out", [0, 5])
def test_a_draw_that_is_left_out_is_found(
    left_out: int, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    _, proof, draws = a_drawn_day()
    hidden = draws["items"].pop(left_out)

    assert main([write(proof), write(draws)]) == FALSE

    assert f"draw {hidden['n']} of ann on that day is missing" in capsys.readouterr().out


def test_a_number_that_is_drawn_twice_is_found(write: Write) -> None:
    _, proof, draws = a_drawn_day()

    assert main([write(proof), write(draws), write(draws)]) == FALSE


def test_draws_of_another_user_are_found(write: Write) -> None:
    _, proof, draws = a_drawn_day()

    assert main([write(proof), write(draws), "--user", "bob"]) == FALSE
    assert main([write(proof), write({**draws, "user_token": "bob"})]) == FALSE


@pytest.mark.parametrize("name", ["campaign_id", "day", "seed", "commitment"])
def test_a_proof_of_another_day_is_found(name: str, write: Write) -> None:
    campaign, proof, draws = a_drawn_day()
    other = {"campaign_id": "other", "day": "20270129"}
    proof[name] = other.get(name, proof[name][::-1])

    assert main([write(proof), write(draws), write(campaign)]) == FALSE


def test_a_noted_commitment_of_a_day_must_be_kept(write: Write) -> None:
    _, proof, _ = a_drawn_day(count=0)

    assert main([write(proof), "--commitment", "00" * 32]) == FALSE


@pytest.mark.parametrize(
    "changes",
    [
        {"odds": "cup:10"},
        {"odds": "cup:10,|1"},
        {"odds": "|"},
        {"odds": "cup:-1|1"},
        {"odds": f"cup:{10**15}|1"},
        {"odds": 7},
        {"point": "7"},
        {"prize": {}},
        {"day": None},
        {"n": "1"},
        {"n": 0},
        {"n": 10**12},
    ],
)
def test_a_malformed_draw_is_unreadable(changes: dict[str, Any], write: Write) -> None:
    _, proof, draws = a_drawn_day(count=1)

    unreadable = write({**draws, "items": [{**draws["items"][0], **changes}]})

    assert main([write(proof), unreadable]) == UNREADABLE


@pytest.mark.parametrize("seed", ["", "00" * 31, "AB" * 32, "zz" * 32, 7])
def test_a_malformed_seed_of_a_day_is_unreadable(seed: object, write: Write) -> None:
    _, proof, _ = a_drawn_day(count=0)

    assert main([write({**proof, "seed": seed})]) == UNREADABLE


def test_malformed_draws_are_unreadable(write: Write) -> None:
    _, proof, _ = a_drawn_day(count=0)

    assert main([write(proof), write({"user_token": "ann", "items": ["won"]})]) == UNREADABLE


@pytest.mark.parametrize("day", ["20251231", "21000102", "2027012", "20271301", "today"])
def test_a_day_that_no_campaign_has_is_unreadable(day: str, write: Write) -> None:
    _, proof, _ = a_drawn_day(count=0)

    assert main([write({**proof, "day": day})]) == UNREADABLE
