"""Every split from send to proof, over HTTP, verified as somebody without AWS would."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.packet_ids import PUBLISHED_IDS
from local.stack import Stack
from redpacket.domain.split import Split
from tests.integration.conftest import Eventually, Invoke, MakeUser, User

pytestmark = pytest.mark.usefixtures("invariants")

ROOT = Path(__file__).parents[2]
LUCKY = [split for split in Split if split is not Split.EQUAL]


def proof_of(user: User, packet_id: str, **query: int) -> httpx.Response:
    return user.http.get(f"/packets/{packet_id}/proof", params=query)


def verify(
    folder: Path, *documents: Any, commitment: str, log_of: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command on files, with a Python that has no packages; *log_of* for the log."""
    files = []
    for number, document in enumerate(documents):
        file = folder / f"{number}.json"
        file.write_text(json.dumps(document))
        files.append(str(file))
    if log_of:
        files = ["log", *files, "--id", log_of]
    command = [sys.executable, "-S", "-m", "redpacket.verify", *files, "--commitment", commitment]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("split", list(Split))
def test_a_packet_is_sent_emptied_proven_and_verified(
    split: Split, a_user: MakeUser, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=8800)
    takers = [a_user() for _ in range(5)]
    kind = "equal" if split is Split.EQUAL else "lucky"
    unit_fen = 100 if split is Split.BASE_DOUBLE_MEAN else 1
    total_fen = 8800 if unit_fen > 1 else 1000
    order: dict[str, Any] = {
        "kind": kind,
        "split": split,
        "total_fen": total_fen,
        "unit_fen": unit_fen,
    }

    sent = sender.send(count=5, **order).json()
    early = proof_of(sender, sent["packet_id"])
    claims = [taker.grab(sent["packet_id"]).json() for taker in takers]
    proof = proof_of(takers[0], sent["packet_id"]).json()
    record = takers[0].record(sent["packet_id"])
    good = verify(tmp_path, proof, record, sent, commitment=sent["commitment"])
    record["claims"][0]["amount_fen"] += 1
    wrong = verify(tmp_path, proof, record, sent, commitment=sent["commitment"])

    assert (early.status_code, early.json()["code"]) == (409, "proof_not_ready")
    assert (proof["commitment"], proof["algorithm"]) == (sent["commitment"], split)
    told = {claim["share_no"]: claim["amount_fen"] for claim in claims}
    assert [told[no] for no in range(1, 6)] == proof["amounts_fen"]
    assert {amount % unit_fen for amount in told.values()} == {0}
    assert (good.returncode, good.stderr) == (0, ""), good.stdout
    assert wrong.returncode == 1, wrong.stdout


def test_a_packet_is_in_the_signed_log_within_seconds(
    stack: Stack, a_user: MakeUser, eventually: Eventually, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=1000)

    def read(path: str, **query: Any) -> httpx.Response:
        """Ask as somebody without a token does."""
        url = f"{stack.api}/transparency{path}"
        return httpx.get(url, params=query, timeout=30, trust_env=False)

    before = read("").json()
    sent = sender.send().json()
    id_hash = hashlib.sha256(sent["packet_id"].encode()).hexdigest()
    index = eventually(lambda: read("/proof", id_hash=id_hash).json().get("index", -1) + 1) - 1
    page = read("", cursor=index).json()
    size = page["size"]
    files = [page, read("/proof", id_hash=id_hash, size=size).json()]
    if before["size"]:
        growth = read("/consistency", **{"from": before["size"], "to": size})
        files += [before, growth.json()]
    good = verify(tmp_path, *files, commitment=sent["commitment"], log_of=sent["packet_id"])
    wrong = verify(tmp_path, *files, commitment="0" * 64, log_of=sent["packet_id"])

    assert page["items"][0]["commitment"] == sent["commitment"]
    assert sent["packet_id"] not in str(page)
    assert (good.returncode, good.stderr) == (0, ""), good.stdout
    assert wrong.returncode == 1, wrong.stdout


@pytest.mark.usefixtures("only_own_sweeps")
def test_a_packet_that_expired_is_proven_once_it_is_closed(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=1000)
    sent = sender.send(split="bell", expires_in_s=1).json()

    def is_closed() -> bool:
        invoke("ExpireFunction", {})
        return bool(sender.record(sent["packet_id"])["status"] == "closed")

    eventually(is_closed)
    pages = [proof_of(sender, sent["packet_id"], cursor=cursor, limit=2) for cursor in (0, 2, 4)]

    assert [page.json()["next"] for page in pages] == ["2", "4", None]
    assert pages[0].json()["share_fen_max"] == 400
    done = verify(tmp_path, *(page.json() for page in pages), commitment=sent["commitment"])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/packets/" + "A" * 22 + "/proof", 404, "packet_not_found"),
        ("/packets/" + PUBLISHED_IDS.sign("A" * 22) + "/proof", 404, "packet_not_found"),
        ("/packets/nothing/proof", 404, "packet_not_found"),
        ("/packets/" + PUBLISHED_IDS.sign("A" * 22) + "/proof?limit=0", 422, "invalid_request"),
        (
            "/packets/" + PUBLISHED_IDS.sign("A" * 22) + "/proof?limit=100001",
            422,
            "invalid_request",
        ),
        ("/packets/" + PUBLISHED_IDS.sign("A" * 22) + "/proof?cursor=-1", 422, "invalid_request"),
    ],
)
def test_a_proof_that_cannot_be_given_is_refused(
    a_user: MakeUser, path: str, status: int, code: str
) -> None:
    answer = a_user().http.get(path)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
