"""End-to-end scenarios of typical hosts, over HTTP.

S1: the classic packet. S2: a company's campaign. S3: WeChat's two steps. S4: shares split in
advance. S5: a lottery with goods, cash and friends.
"""

import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.seed_keys import seed_keys_of
from local.stack import Stack
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.platform.dynamodb.client import Dynamo
from testing.platform.cloud import tables_of
from tests.integration.conftest import Eventually, HttpUser, Invoke, MakeUser

pytestmark = pytest.mark.usefixtures("invariants")

ROOT = Path(__file__).parents[2]


def _all_settled(reader: HttpUser, packet_id: str) -> bool:
    return all(claim["payout"] == "settled" for claim in reader.record(packet_id)["claims"])


def _closed(reader: HttpUser, packet_id: str, invoke: Invoke) -> bool:
    invoke("ExpireFunction", {"source": "aws.events"})
    return bool(reader.record(packet_id)["status"] == "closed")


def test_s1_a_packet_is_sent_grabbed_recorded_and_refunded(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    ann = a_user(funds_fen=20_000, nickname="Ann")
    group = [a_user(nickname=f"Friend {number}") for number in range(15)]

    # Ann sends ten lucky shares to a group of fifteen friends, who grab concurrently.
    sent = ann.send(total_fen=10_000, count=10, greeting="新年快乐").json()
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda friend: friend.grab(sent["packet_id"]), group))
    claims = [answer.json() for answer in answers if answer.status_code == httpx.codes.OK]
    assert len(claims) == 10
    assert sum(claim["amount_fen"] for claim in claims) == 10_000

    # Any user can read the claims and see the luckiest one.
    eventually(lambda: _all_settled(ann, sent["packet_id"]))
    record = group[0].record(sent["packet_id"])
    assert (record["claimed_count"], record["count"], record["status"]) == (10, 10, "emptied")
    assert record["luckiest"]["amount_fen"] == max(claim["amount_fen"] for claim in claims)
    assert record["emptied_in_ms"] >= 0

    # Most of the second packet is unclaimed, and is refunded to Ann when the packet expires.
    second = ann.send(total_fen=10_000, count=10, expires_in_s=2).json()
    taken = group[0].grab(second["packet_id"]).json()["amount_fen"]
    eventually(lambda: _closed(ann, second["packet_id"], invoke))
    assert ann.record(second["packet_id"])["refunded_fen"] == 10_000 - taken
    assert ann.balance_fen() == 10_000 - taken
    assert sum(friend.balance_fen() for friend in group) == 10_000 + taken
    year = time.gmtime().tm_year
    sent_this_year = ann.http.get(f"/me/sent?year={year}").json()
    assert (sent_this_year["total_fen"], sent_this_year["count"]) == (20_000, 2)


def test_s2_a_company_gives_to_its_employees(
    a_user: MakeUser, operator: HttpUser, invoke: Invoke, eventually: Eventually
) -> None:
    numbers = [str(100_230 + number) for number in range(6)]
    employees = [a_user(number) for number in numbers]
    a_user(operator.host_id, funds_fen=30_000)
    before = operator.balance_fen()

    # An operator plans a campaign of 300 yuan: at most two shares per user, from three packets.
    now_ms = int(time.time() * 1000)
    plan = {
        "title": "年会",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 16_000,
        "budget_fen": 30_000,
        "quota_per_user": 2,
        "status": "on",
    }
    assert operator.http.put("/admin/campaigns/party", json=plan).status_code == httpx.codes.CREATED
    packet: dict[str, Any] = {"kind": "equal", "total_fen": 10_000, "count": 5}
    packet |= {"passphrase": "新年快乐", "campaign_id": "party"}
    packets = [operator.send(**packet).json()["packet_id"] for _ in range(3)]
    over_budget = operator.send(total_fen=1000, count=1, campaign_id="party")
    assert over_budget.json()["code"] == "insufficient_funds"
    preheated = operator.http.post("/admin/campaigns/party/preheat")
    assert preheated.status_code == httpx.codes.ACCEPTED

    # Users who enter the phrase get at most two shares each. Payouts are switched off meanwhile.
    off = operator.http.put("/admin/switches/payout", json={"on": False, "reason": "drill"})
    assert off.status_code == httpx.codes.OK
    assert employees[0].grab(packets[0], "什么").json()["code"] == "passphrase_mismatch"
    for employee in employees[:4]:
        claims = [employee.grab(packet, "新年快乐") for packet in packets]
        assert [answer.status_code for answer in claims] == [200, 200, 403]
        assert claims[-1].json()["code"] == "quota_exhausted"
    operator.http.put("/admin/switches/payout", json={"on": True})

    # The packet's record shows no employee's number.
    page = employees[0].http.get(f"/packets/{packets[0]}").text
    assert not any(number in page for number in numbers)

    # The campaign ends; all claimers are paid, and the rest is refunded.
    eventually(lambda: all(_closed(operator, packet, invoke) for packet in packets))
    assert [employee.balance_fen() for employee in employees] == [4_000] * 4 + [0] * 2
    assert operator.balance_fen() == before - 16_000


def test_s3_wechat_grabs_and_opens_with_live_amounts(
    a_user: MakeUser, eventually: Eventually
) -> None:
    sender = a_user(funds_fen=20_000)
    crowd = [a_user() for _ in range(20)]
    sent = sender.send(
        total_fen=20_000, count=10, split="double_mean_live", opening="two_step"
    ).json()
    packet_id = sent["packet_id"]

    # Twenty users tap 抢 for ten shares, and all are admitted.
    with ThreadPoolExecutor(max_workers=8) as pool:
        admissions = list(pool.map(lambda user: user.grab(packet_id).json(), crowd))
    assert {admission["outcome"] for admission in admissions} == {"admitted"}
    assert sender.record(packet_id)["claimed_count"] == 0
    not_ready = sender.http.get(f"/packets/{packet_id}/proof")
    assert not_ready.json()["code"] == "proof_not_ready"

    # All tap 拆. The first ten get amounts that are drawn live, and the others are too late.
    with ThreadPoolExecutor(max_workers=8) as pool:
        pairs = zip(crowd, admissions, strict=True)
        opened = list(pool.map(lambda pair: pair[0].open(packet_id, pair[1]["grab_token"]), pairs))
    won = [answer.json() for answer in opened if answer.status_code == httpx.codes.OK]
    lost = [answer.json()["code"] for answer in opened if answer.status_code != httpx.codes.OK]
    assert sorted(claim["share_no"] for claim in won) == list(range(1, 11))
    assert sum(claim["amount_fen"] for claim in won) == 20_000
    assert lost == ["packet_emptied"] * 10

    # A replay from the revealed seed gives the same amounts in the same order.
    eventually(lambda: _all_settled(sender, packet_id))
    proof = sender.http.get(f"/packets/{packet_id}/proof").json()
    assert proof["commitment"] == sent["commitment"]
    in_order = [claim["amount_fen"] for claim in sorted(won, key=lambda claim: claim["share_no"])]
    assert proof["amounts_fen"] == in_order


def test_s4_shares_of_a_bell_split_are_split_in_advance(
    a_user: MakeUser, eventually: Eventually, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=100_000)
    claimers = [a_user() for _ in range(40)]
    sent = sender.send(
        total_fen=40_000, count=40, split="bell", share_fen_min=500, share_fen_max=1_500
    ).json()
    packet_id = sent["packet_id"]

    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda claimer: claimer.grab(packet_id).json(), claimers))

    # The amounts are within their bounds and add up to the total, and more than half are near the
    # mean.
    amounts = [answer["amount_fen"] for answer in answers]
    assert sum(amounts) == 40_000
    assert all(500 <= amount <= 1_500 for amount in amounts)
    near = sum(750 <= amount <= 1_250 for amount in amounts)
    assert near > len(amounts) / 2
    assert statistics.fmean(amounts) == 1_000

    # Anyone can verify the split with the proof, the record, and Python's standard library.
    eventually(lambda: _all_settled(sender, packet_id))
    proof, record = tmp_path / "proof.json", tmp_path / "record.json"
    proof.write_text(sender.http.get(f"/packets/{packet_id}/proof").text)
    record.write_text(sender.http.get(f"/packets/{packet_id}?limit=100").text)
    assert _verify(proof, record).returncode == 0
    planted = json.loads(record.read_text())
    planted["claims"][7]["amount_fen"] += 1
    record.write_text(json.dumps(planted))
    assert _verify(proof, record).returncode == 1


def test_s5_a_lottery_with_goods_cash_and_friends(
    a_user: MakeUser,
    invoke: Invoke,
    eventually: Eventually,
    dynamodb: Any,
    stack: Stack,
    tmp_path: Path,
) -> None:
    boss = a_user("lottery-boss", funds_fen=10_000, scope="hongbao/admin")
    crowd = [a_user() for _ in range(12)]
    now_ms = int(time.time() * 1000)
    plan = {
        "title": "双十一抽奖",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "miss_weight": 10,
        "rules": {"attempts_per_user_per_day": 2, "wins_per_user_per_day": 1},
        "passphrase": "好运连连",
        "status": "on",
    }
    path = "/admin/campaigns/double-eleven"

    # An operator plans one phone, three pens a day, and ten cash prizes of 5 yuan.
    assert boss.http.put(path, json=plan).status_code == httpx.codes.CREATED
    phone = {"title": "手机", "kind": "goods", "weight": 1, "total": 1, "once_per_user": True}
    pen = {"title": "笔", "kind": "goods", "weight": 20, "total": 100, "per_day": 3}
    cash = {"title": "红包", "kind": "packet", "weight": 5, "total": 10, "amount_fen": 500}
    for prize_id, prize in {"phone": phone, "pen": pen, "cash": cash}.items():
        answer = boss.http.put(f"{path}/prizes/{prize_id}", json=prize)
        assert answer.status_code == httpx.codes.CREATED, answer.text
    assert boss.http.post(f"{path}/preheat").status_code == httpx.codes.ACCEPTED
    assert boss.balance_fen() == 5_000
    seen = crowd[0].http.get("/campaigns/double-eleven").json()

    # All users draw twice, concurrently.
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda user: user.draw("double-eleven"), crowd * 2))
    assert {answer.status_code for answer in answers} == {200}
    assert crowd[0].draw("double-eleven").json()["code"] == "attempts_exhausted"

    # A friend enters a similar phrase, so the inviter may draw once more.
    token = crowd[0].user_token()
    helped = crowd[1].help("double-eleven", token, "好运莲莲")
    assert helped.json() == {"outcome": "helped", "attempts_left_of_inviter": 1}
    answers.append(crowd[0].draw("double-eleven"))
    assert answers[-1].json()["attempts_left"] == 0

    # No user won twice, the stock and the daily limit held, and the operator's list agrees.
    pages = [user.http.get("/campaigns/double-eleven/draws").json()["items"] for user in crowd]
    wins = [[item["prize"]["prize_id"] for item in page if item["prize"]] for page in pages]
    assert max(len(won) for won in wins) <= 1
    won = Counter(prize_id for page in wins for prize_id in page)
    assert sum(won.values()) == sum(answer.json()["outcome"] == "won" for answer in answers)
    assert (won["phone"] <= 1, won["pen"] <= 3, won["cash"] <= 10) == (True, True, True)
    prizes = boss.http.get(path).json()["prizes"]
    assert {prize["prize_id"]: prize["issued"] for prize in prizes} == {
        prize_id: won[prize_id] for prize_id in ("cash", "pen", "phone")
    }

    # The operator ends the campaign; won cash is paid, and the rest is refunded.
    over = {**plan, "ends_at_ms": int(time.time() * 1000)}
    assert boss.http.put(path, json=over).status_code == httpx.codes.OK

    def is_over() -> bool:
        invoke("ExpireFunction", {"source": "aws.events"})
        return boss.balance_fen() == 10_000 - 500 * won["cash"]

    eventually(is_over)
    balances = [user.balance_fen() for user in crowd]
    assert balances == [500 * page.count("cash") for page in wins]
    assert crowd[0].draw("double-eleven").json()["code"] == "campaign_ended"

    # Users can verify their draws when the day is over. The test reads the seed from the ledger
    # instead of waiting.
    ledger = DynamoPrizes(Dynamo(lambda: dynamodb, tables_of(stack)), seed_keys_of(stack))
    proof, draws = tmp_path / "proof.json", tmp_path / "draws.json"
    shown = {name: seen[name] for name in ("campaign_id", "day", "commitment")}
    seed = ledger.day_seed("double-eleven", seen["day"]).hex()
    proof.write_text(json.dumps({**shown, "seed": seed}))
    draws.write_text(crowd[0].http.get("/campaigns/double-eleven/draws").text)
    assert _verify(proof, draws).returncode == 0, _verify(proof, draws).stdout
    planted = json.loads(draws.read_text())
    planted["items"][0]["point"] ^= 1
    draws.write_text(json.dumps(planted))
    assert _verify(proof, draws).returncode == 1


def _verify(*files: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", "-c", _RUN, str(ROOT / "shared"), *map(str, files)]
    return subprocess.run(command, check=False, capture_output=True)


_RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1));"
    " runpy.run_module('redpacket.verify', run_name='__main__')"
)


@pytest.fixture(autouse=True)
def _payouts_on_again(operator: HttpUser) -> Any:
    yield
    operator.http.put("/admin/switches/payout", json={"on": True})
