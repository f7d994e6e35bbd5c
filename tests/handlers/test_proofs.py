"""Splits from send to proof over HTTP, each verified as a user without AWS would verify it."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from local.packet_ids import PUBLISHED_IDS
from redpacket.packets.split import Split
from testing.platform.users import HttpUser
from tests.handlers.conftest import Eventually, Invoke, MakeUser
from tests.integration.test_fairness import verify


def proof_of(user: HttpUser, packet_id: str, **query: int) -> httpx.Response:
    return user.http.get(f"/packets/{packet_id}/proof", params=query)


@pytest.mark.parametrize("split", list(Split))
def test_a_packet_is_sent_emptied_proven_and_verified(
    split: Split, a_user: MakeUser, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=8800)
    claimers = [a_user() for _ in range(5)]
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
    claims = [claimer.grab(sent["packet_id"]).json() for claimer in claimers]
    proof = proof_of(claimers[0], sent["packet_id"]).json()
    record = claimers[0].record(sent["packet_id"])
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


def test_an_expired_packet_has_a_proof_once_it_is_closed(
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


def test_a_proof_that_cannot_be_given_is_refused(sender: HttpUser) -> None:
    unknown = PUBLISHED_IDS.sign("A" * 22)

    for packet_id in ("A" * 22, unknown, "nothing"):
        answer = proof_of(sender, packet_id)
        assert (answer.status_code, answer.json()["code"]) == (404, "packet_not_found")
    for query in ({"limit": 0}, {"limit": 100_001}, {"cursor": -1}):
        answer = proof_of(sender, unknown, **query)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
