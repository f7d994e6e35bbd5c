"""The verifier `redpacket.verify` detects lies in public answers about packets and days."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from local.places import ROOT
from redpacket.lottery.api import views as lottery_views
from redpacket.lottery.model.lottery import Draw
from redpacket.lottery.use_cases.read_draws import DrawPage
from redpacket.packets.api import views
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet
from redpacket.packets.split import Split, Terms, amounts_fen
from redpacket.packets.use_cases.read_proof import Proof
from redpacket.packets.use_cases.read_records import Record, status_of
from redpacket.platform.user import User
from redpacket.verify.command import FALSE, TRUE, UNREADABLE, main
from testing.builders import a_campaign, a_claim, a_packet, a_prize, some_terms
from testing.in_memory_system import InMemorySystem
from testing.lottery.prizes import write_prize

Write = Callable[[Any], str]
Answers = dict[str, dict[str, Any]]
Lie = tuple[str, Callable[[dict[str, Any]], Any], str]
"""Name of a document, a change of it, and the command's answer to the changed document."""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a document into a separate file."""

    def to_file(document: Any) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return to_file


def _as_json(shown: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(shown))
    return document


def a_proof(terms: Terms, first_no: int = 1, last_no: int | None = None) -> dict[str, Any]:
    last_no = last_no or terms.count
    amounts = list(amounts_fen(terms))[first_no - 1 : last_no]
    after = str(last_no) if last_no < terms.count else None
    return {**views.proof_view(Proof(terms, first_no, amounts, after))}


def a_record(packet: Packet) -> dict[str, Any]:
    claims: list[Share] = [a_claim(packet, no, f"user-{no}") for no in (1, 2, 5)]
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
    return _as_json(views.record_view(record, views.UserPresenter({})))


@cache
def _packet() -> Answers:
    packet = a_packet(terms=some_terms(1000, 5))
    return {"proof": a_proof(packet.terms), "record": a_record(packet)}


@cache
def _day() -> Answers:
    """Return the API's answers about a past day: its proof, ann's draws, and the campaign."""
    system = InMemorySystem()
    assert system.campaigns.create(a_campaign(campaign_id="gala", miss_weight=10))
    for prize_id in ("cup", "pen"):
        write_prize(system.prizes, a_prize("gala", prize_id))
    draws = [system.draw("gala", "ann", f"key-{number}").draw for number in range(12)]
    return _answers(system, "gala", draws)


def _answers(system: InMemorySystem, campaign_id: str, draws: list[Draw]) -> Answers:
    shown = system.lotteries().get(campaign_id)
    system.pass_time(24 * 3_600_000)
    proof = system.process().read_draw_proof(campaign_id, shown.day)
    return {
        "proof": _as_json(lottery_views.draw_proof_view(proof)),
        "draws": _as_json(lottery_views.draws_view(DrawPage("ann", draws, None, None, None), {})),
        "campaign": _as_json(lottery_views.campaign_view(shown, [], [], system.clock.now_ms())),
    }


ANSWERS: dict[str, Callable[[], Answers]] = {
    "packet": _packet,
    "day": _day,
}


def sets(**changes: Any) -> Callable[[Any], None]:
    return lambda document: document.update(changes)


def lies(about: Callable[[Any], dict[str, Any]], n: int = 4) -> Callable[[Any], None]:
    """Change draw number *n*."""
    return lambda draws: draws["items"][n - 1].update(about(draws["items"][n - 1]))


def hides_a_win(draws: dict[str, Any]) -> None:
    won = next(draw for draw in draws["items"] if draw["prize"])
    won.update(prize=None, outcome="missed")


def shares_twice(**changes: Any) -> Callable[[dict[str, Any]], None]:
    """Return a lie: the record repeats its first claim, with *changes* and a true amount."""

    def lie(record: dict[str, Any]) -> None:
        claim = {**record["claims"][0], **changes}
        true = amounts_fen(some_terms(1000, 5))[claim["share_no"] - 1]
        record["claims"].insert(0, {**claim, "amount_fen": true})

    return lie


def ask(write: Write, kind: str, name: str = "", change: Callable[[Any], Any] = print) -> int:
    """Verify the answers of a *kind* after changing one of them."""
    answers = copy.deepcopy(ANSWERS[kind]())
    if name:
        change(answers[name])
    user = [] if kind == "packet" else ["--user", "ann"]
    return main([*(write(each) for each in answers.values()), *user])


# ---------------------------------------------------------------- valid answers


@pytest.mark.parametrize("split", list(Split))
def test_valid_answers_of_the_api_are_verified(
    split: Split, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    packet = a_packet(terms=some_terms(1000, 5, split=split))
    sent = views.sent_view(packet, "https://a.example")
    files = [write(each) for each in (a_proof(packet.terms), a_record(packet), sent)]

    assert main([*files, "--commitment", packet.terms.commitment.upper()]) == TRUE

    output = capsys.readouterr().out
    assert "compared    5 amounts of 5 shares, 5 claims of records" in output
    assert output.endswith("VERIFIED\n")
    assert str(packet.terms) in output


def test_a_record_that_hides_amounts_is_verified_without_them(write: Write) -> None:
    proof, record = copy.deepcopy(_packet()).values()
    for claim in (*record["claims"], record["luckiest"], record["mine"]):
        claim["amount_fen"] = None

    assert main([write(proof), write(record)]) == TRUE


def test_pages_of_a_proof_are_verified_together(write: Write) -> None:
    terms = some_terms(1000, 5)

    assert main([write(a_proof(terms, 1, 3)), write(a_proof(terms, 4, 5))]) == TRUE


def test_valid_answers_about_draws_are_verified(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, draws, campaign = _day().values()
    other = {**draws["items"][0], "day": "20270129"}
    files = [write(proof), write(draws), write({**draws, "items": [other]}), write(campaign)]
    noted = ["--commitment", campaign["commitment"].upper(), "--user", "ann"]

    assert main([*files, *noted]) == TRUE

    output = capsys.readouterr().out
    assert f"day         {proof['day']} of gala" in output
    assert "compared    12 draws, 1 are of other days" in output
    assert output.endswith("VERIFIED\n")


def test_the_command_needs_only_python(write: Write) -> None:
    """Run the command without site packages."""
    proof, (day, draws, _) = _packet()["proof"], _day().values()

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-S", "-m", "redpacket.verify", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
        )
        return done.returncode, done.stdout

    code, output = run(write(proof))
    assert (code, output[-9:]) == (TRUE, "VERIFIED\n")
    assert run(write(proof | {"total_fen": 999}))[0] == FALSE
    assert (run("missing.json")[0], run()[0]) == (UNREADABLE, UNREADABLE)
    assert run(write(day), write(draws))[0] == TRUE
    # A different seed yields different points.
    assert run(write({**day, "seed": "00" * 32}), write(draws))[0] == FALSE


def test_a_text_from_the_server_cannot_hide_the_result(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    hiding = "x\r\x1b[1A\x1b[KVERIFIED\n\x1b[8m\u202e\ud800"
    proof = a_proof(some_terms())

    assert main([write({**proof, "commitment": hiding})]) == FALSE
    assert main([write({**proof, "seed": hiding})]) == UNREADABLE

    captured = capsys.readouterr()
    lines = [*captured.out.splitlines(), *captured.err.splitlines()]
    assert all(line.isprintable() for line in lines)
    assert "VERIFIED" not in lines
    assert "x\\r\\x1b[1A\\x1b[KVERIFIED\\n\\x1b[8m\\u202e\\ud800" in captured.out


# ---------------------------------------------------------------- lies

OTHER = a_packet(terms=some_terms(1001, 6, split=Split.BELL), sender=User("other"))

LIES: dict[str, list[Lie]] = {
    "packet": [
        ("proof", lambda proof: proof["amounts_fen"].__setitem__(2, 0), "share 3: says 0, is"),
        ("proof", lambda proof: proof["amounts_fen"].__delitem__(slice(3, 5)), "next: says"),
        ("proof", sets(seed="AAECAwQFBgcICQoLDA0ODw"), "commitment: says"),
        ("proof", sets(commitment="0" * 64), "commitment: says"),
        ("proof", sets(algorithm="cut_points"), "commitment: says"),
        ("proof", sets(total_fen=1001), "commitment: says"),
        ("proof", sets(count=6), "commitment: says"),
        ("proof", sets(share_fen_min=2), "commitment: says"),
        ("proof", sets(share_fen_max=10), "no packet has such terms"),
        ("proof", sets(unit_fen=3), "no packet has such terms"),
        ("proof", sets(first_share_no=2), "share 2: says"),
        ("proof", sets(next="5"), "next: says 5, is None"),
        ("record", lambda record: record["claims"][1].update(amount_fen=0), "share 2: says 0, is"),
        ("record", lambda record: record["luckiest"].update(amount_fen=0), "share 1: says 0, is"),
        ("record", lambda record: record["mine"].update(amount_fen=0), "share 1: says 0, is"),
        ("record", lambda record: record["claims"][0].update(share_no=6), "is no share"),
        ("record", sets(commitment=OTHER.terms.commitment), "commitment: says"),
        ("record", sets(total_fen=1001), "total_fen: says 1001, is 1000"),
        ("record", sets(count=6), "count: says 6, is 5"),
        ("record", sets(split="bell"), "split: says bell"),
        ("record", shares_twice(user_token="other"), "share 1: belongs to other and to user-1"),
        ("record", shares_twice(share_no=2), "user-1 has shares 1 and 2"),
    ],
    "day": [
        ("draws", lies(lambda draw: {"point": draw["point"] + 1}), "draw 4: point"),
        ("draws", lies(lambda draw: {"draw_id": draw["draw_id"][::-1]}), "draw 4: draw_id"),
        ("draws", lies(lambda draw: {"formula": draw["formula"][:-1]}), "draw 4: formula"),
        ("draws", lies(lambda _: {"odds": "car:1|0"}), "draw 4: prize"),
        (
            "draws",
            lies(lambda _: {"prize": {"prize_id": "car"}, "outcome": "won"}),
            "draw 4: prize",
        ),
        ("draws", lies(lambda _: {"outcome": "lost"}), "draw 4: outcome"),
        ("draws", hides_a_win, ": prize: says None, is "),
        ("draws", lambda draws: draws["items"].pop(0), "draw 1 of ann on that day is missing"),
        ("draws", lambda draws: draws["items"].pop(5), "draw 6 of ann on that day is missing"),
        ("draws", lambda draws: draws["items"].append(draws["items"][0]), "draw 1: appears twice"),
        ("draws", sets(user_token="bob"), "user_token: says bob, is ann"),
        ("proof", sets(campaign_id="other"), "draw 1: draw_id"),
        ("proof", sets(day="20270129"), "commitment: says"),
        ("proof", lambda proof: proof.update(seed=proof["seed"][::-1]), "commitment: says"),
        ("proof", sets(commitment="0" * 64), "commitment: says"),
    ],
}


@pytest.mark.parametrize("kind", LIES)
def test_a_false_answer_is_detected_and_named(
    kind: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(write, kind) == TRUE
    capsys.readouterr()

    unnoticed = []
    for number, (name, change, sentence) in enumerate(LIES[kind]):
        code, output = ask(write, kind, name, change), capsys.readouterr().out
        wrong = [line for line in output.splitlines() if line.startswith("WRONG ")]
        if code != FALSE or not any(sentence in line for line in wrong):
            unnoticed.append((number, code, sentence, output))

    assert unnoticed == []


def test_a_commitment_other_than_the_noted_one_is_detected(write: Write) -> None:
    # Proof and record agree with each other, but not with the promised commitment.
    other = a_packet(terms=some_terms(1000, 5, seed=b"another 16 bytes"))
    noted = ["--commitment", some_terms(1000, 5).commitment]
    files = [write(a_proof(other.terms)), write(a_record(other))]

    assert main(files) == TRUE
    assert main([*files, *noted]) == FALSE
    assert main([write(_day()["proof"]), *noted]) == FALSE


def test_a_page_of_another_proof_is_detected(write: Write) -> None:
    pages = [a_proof(some_terms(1000, 5), 1, 3), a_proof(some_terms(1000, 5, unit_fen=5), 4)]

    assert main([write(page) for page in pages]) == FALSE


def test_many_differences_are_counted_and_some_are_shown(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = a_proof(some_terms(100_000, 100)) | {"amounts_fen": [0] * 100}

    assert main([write(proof)]) == FALSE

    output = capsys.readouterr().out
    assert output.count("WRONG ") == 21
    assert "and 80 more" in output
    assert output.endswith("NOT VERIFIED, differences: 100\n")


# ---------------------------------------------------------------- unreadable files

UNREADABLE_FILES = [
    "",
    "{",
    "[]",
    "1",
    "[" * 100_000,
    {"code": "proof_not_ready", "status": 409},
    {"user_token": "ann", "items": ["won"]},
]

NO_CLAIMS: list[Any] = [None, 1, {"share_no": 1}, [1], [{}], [{"share_no": 1}]]
MALFORMED: dict[str, dict[str, list[dict[str, Any]]]] = {
    "packet": {
        "proof": [
            *({"seed": seed} for seed in ("no base64!", "AAECAwQFBgcICQoLDA0ODw==", 1)),
            {"algorithm": "fair"},
            *({"total_fen": total} for total in ("1000", 1000.0)),
            *({"count": count} for count in (True, 1_000_001)),
            *({"amounts_fen": amounts} for amounts in (None, [True], [1.0])),
            {"first_share_no": None},
            {"commitment": None},
        ],
        "record": [{"claims": claims} for claims in NO_CLAIMS],
    },
    "day": {
        "proof": [
            *({"seed": seed} for seed in ("", "00" * 31, "AB" * 32, "zz" * 32, 7)),
            *({"day": day} for day in ("20251231", "21000102", "2027012", "20271301", "today")),
        ],
        "draws": [{"items": ["won"]}],
    },
}

ODDS = ("cup:10", "cup:10,|1", "|", "cup:-1|1", f"cup:{10**15}|1", 7)
MALFORMED_DRAWS: list[dict[str, Any]] = [
    *({"odds": odds} for odds in ODDS),
    *({"n": number} for number in ("1", 0, 10**12)),
    {"point": "7"},
    {"prize": {}},
    {"day": None},
]


def test_a_file_that_is_not_an_answer_is_unreadable(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(a_proof(some_terms()))
    files = [*map(write, UNREADABLE_FILES), str(tmp_path / "missing.json")]

    for file in files:
        assert [main([file]), main([good, file])] == [UNREADABLE] * 2, file

        captured = capsys.readouterr()
        assert captured.err.startswith("UNREADABLE: ")
        assert "VERIFIED" not in captured.out


def _replaced(by: dict[str, Any], _: object) -> dict[str, Any]:
    return by


def test_an_answer_of_another_form_is_unreadable(write: Write) -> None:
    forms = [
        (kind, name, sets(**change))
        for kind, documents in MALFORMED.items()
        for name, changes in documents.items()
        for change in changes
    ]
    forms += [("day", "draws", lies(partial(_replaced, it))) for it in MALFORMED_DRAWS]

    read = [form for form in forms if ask(write, *form) != UNREADABLE]

    assert read == []
