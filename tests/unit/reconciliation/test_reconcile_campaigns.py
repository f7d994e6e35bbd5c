"""Reconciliation of campaigns: budgets, quotas, prizes' money and ends, draws and stock."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import DrawRules
from redpacket.lottery.dynamodb import unit_stock
from redpacket.lottery.dynamodb.items import draw_row
from redpacket.lottery.model.lottery import Draw, Prize, PrizeKind
from redpacket.packets.dynamodb import keys
from redpacket.packets.dynamodb.items import prize_claimer_row, share_row
from redpacket.packets.model.packet import Packet
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.errors import Unavailable
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.builders import a_campaign, a_claim, a_prize, list_shares
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem
from testing.lottery.prizes import write_prize

HOUR_MS = 3_600_000
CASH_FEN = 100


class Fair:
    """System with a rain of two packets and a lottery of goods and cash, whose rows are old
    enough to be compared.
    """

    def __init__(self) -> None:
        self.system = system = InMemorySystem()
        now_ms = system.clock.now_ms()
        rules = DrawRules(attempts_per_user_per_day=5, wins_per_user_per_day=5)
        self.campaign = a_campaign(
            campaign_id="fair", ends_at_ms=now_ms + 4 * HOUR_MS, rules=rules, miss_weight=0
        )
        assert system.campaigns.create(self.campaign)
        self.packets = [system.send(campaign=self.campaign, life_ms=3 * HOUR_MS) for _ in range(2)]
        for packet in self.packets:
            for user in ("ann", "bob"):
                system.grab(packet, user)
        system.deposit("operator", 10_000)
        self.cash = system.put_prize(
            a_prize("fair", "cash", kind=PrizeKind.PACKET, amount_fen=CASH_FEN, total=20)
        )
        self.cup = system.put_prize(a_prize("fair", "cup", per_day=4, once_per_user=True))
        system.load_campaign("fair")
        for user in ("ann", "bob", "cat"):
            for number in range(3):
                system.draw("fair", user, f"key-{number}")
        system.settle()
        system.pass_time(MOVING_MS + 1)

    def table(self, name: str) -> dict[tuple[str, str], dict[str, Any]]:
        return self.system.dynamo.tables[name]  # type: ignore[return-value]

    def put(self, table: str, row: dict[str, Any]) -> None:
        self.table(table)[row["pk"], row.get("sk", "")] = to_wire(row)

    def row(self, table: str, key: dict[str, str]) -> dict[str, Any]:
        return self.table(table)[key["pk"], key.get("sk", "")]

    def differences(self) -> list[Difference]:
        result = self.system.reconcile()
        return result.differences

    def draws(self, prize: Prize) -> list[Draw]:
        return [
            draw
            for user in ("ann", "bob", "cat")
            for draw in self.system.draws.list_draws("fair", user)
            if draw.prize and draw.prize.prize_id == prize.prize_id
        ]


@pytest.fixture
def fair() -> Fair:
    return Fair()


def _subjects(differences: list[Difference]) -> set[tuple[str, str]]:
    return {(difference.rule, difference.subject) for difference in differences}


def test_a_correct_campaign_has_no_differences(fair: Fair, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fair.draws(fair.cash)
    assert fair.draws(fair.cup)
    monkeypatch.setattr(unit_stock, "NOTED_MIN", 0)
    fair.system.load_campaign("fair")  # This stores the unit up to which all units are won.
    assert any(pk.startswith("stock#") for pk, _ in fair.table("draws"))

    assert fair.differences() == []
    assert fair.system.differences() == []


def test_a_quota_row_of_a_user_without_claims_is_found(fair: Fair) -> None:
    first_at_ms = fair.system.clock.now_ms() - MOVING_MS - 1
    key = keys.claim_count("fair", "eve")
    fair.put("quotas", {**key, "claim_count": 1, "first_at_ms": first_at_ms})

    (difference,) = fair.differences()

    assert (difference.subject, difference.expected, difference.actual) == ("fair eve", 0, 1)


def test_a_packet_that_no_budget_funded_is_found(fair: Fair) -> None:
    packet_id = fair.packets[0].packet_id
    key = campaign_keys.campaign_packet("fair", packet_id)
    del fair.table("campaigns")[key["pk"], key["sk"]]

    assert _subjects(fair.differences()) == {("I1", "fair"), ("I1", packet_id)}


@pytest.mark.parametrize(
    "change", [{"status": {"S": "off"}}, {"ends_at_ms": {"N": str(10**13)}}], ids=str
)
def test_a_campaign_that_changed_without_an_edit_is_found(
    fair: Fair, change: dict[str, Any]
) -> None:
    fair.system.row("campaigns", campaign_keys.campaign("fair")).update(change)

    assert ("I-window", "fair") in _subjects(fair.differences())


def test_a_row_among_campaign_packets_is_not_treated_as_a_window(fair: Fair) -> None:
    """The send role can put rows among campaign packets, even under a window's sort key."""
    packet = fair.packets[0]
    (claim, *_) = list_shares(fair.system.packets, packet.packet_id)
    after = fair.row("campaigns", campaign_keys.window("fair", 1)) | {
        "set_at_ms": {"N": str(claim.decided_at_ms - HOUR_MS)},
        "starts_at_ms": {"N": str(claim.decided_at_ms + HOUR_MS)},
    }
    fair.table("campaigns")["windows#fair", "window#0000000002"] = {
        **after,
        "sk": {"S": "window#0000000002"},
    }
    first = fair.row("campaigns", campaign_keys.window("fair", 1))
    first["set_at_ms"] = {"N": str(claim.decided_at_ms - 2 * HOUR_MS)}
    found = _subjects(fair.differences())
    for version in ("1", "01", "001", "0001", "00001", "99"):
        fair.put("campaigns", {"pk": "packets#fair", "sk": f"window#{version}"})

    assert found >= {("I-window", packet.packet_id), ("I-window", "fair")}
    assert _subjects(fair.differences()) == found


def test_an_end_that_moved_without_the_money_of_its_prizes_is_found(fair: Fair) -> None:
    system = fair.system

    before = system.campaigns.find_campaign("fair")
    assert before
    edited = replace(before, ends_at_ms=before.ends_at_ms + HOUR_MS, version=2)
    # The edit is interrupted before it reaches the prizes.
    assert system.campaigns.edit(edited, before)
    ((packet_id, _),) = fair.cash.packets

    (difference,) = fair.differences()

    assert (difference.rule, difference.subject) == ("I9", packet_id)
    assert difference.expected == edited.ends_at_ms
    assert difference.actual == fair.campaign.ends_at_ms


def test_an_end_that_is_being_moved_is_not_a_difference(fair: Fair) -> None:
    system, ends_at_ms = fair.system, fair.campaign.ends_at_ms + HOUR_MS
    before = system.campaigns.find_campaign("fair")
    assert before
    assert system.campaigns.edit(replace(before, ends_at_ms=ends_at_ms, version=2), before)
    ((packet_id, _),) = fair.cash.packets
    sleep_ms = system.clock.sleep_ms

    def meanwhile(duration_ms: int) -> None:
        sleep_ms(duration_ms)
        system.packets.reschedule(packet_id, ends_at_ms, 99)

    system.clock.sleep_ms = meanwhile  # type: ignore[method-assign]

    assert fair.differences() == []


def test_stock_without_its_money_is_found(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash.packets
    write_prize(fair.system.prizes, replace(fair.cash, total=21, version=fair.cash.version + 1))

    (difference,) = fair.differences()

    assert (difference.rule, difference.subject) == ("I9", "fair cash")
    assert (difference.expected, difference.actual) == (21, 20)
    assert packet_id


@pytest.mark.parametrize("kind", ["cup", "cash"])
def test_a_unit_that_was_won_twice_is_found(fair: Fair, kind: str) -> None:
    prize = fair.cup if kind == "cup" else fair.cash
    draw = replace(fair.draws(prize)[0], user_id="eve", draw_id="f" * 32)
    fair.put("draws", draw_row(draw))

    differences = fair.differences()

    if kind == "cup":
        assert any(
            "rows of unit" in difference.what
            for difference in differences
            if difference.subject == "fair cup"
        )
        # The draw was not counted either.
        assert ("I9", f"fair eve {draw.day}") in _subjects(differences)
    else:
        assert ("I9", prize.packets[0][0]) in _subjects(differences)
        assert any("winner vs owner" in difference.what for difference in differences)


@pytest.mark.parametrize("name", ["point", "draw_no", "odds", "version"])
def test_a_draw_with_a_wrong_point_or_wrong_odds_is_found(fair: Fair, name: str) -> None:
    draw = fair.draws(fair.cup)[0]
    changes = {
        "point": replace(draw, point=draw.point ^ 1),
        "draw_no": replace(draw, draw_no=9),
        "odds": replace(draw, odds="cup:1|0"),
        "version": replace(draw, snapshot_version=99),
    }
    fair.put("draws", draw_row(changes[name]))

    assert ("I5", draw.draw_id) in _subjects(fair.differences())


def test_a_share_of_a_prize_without_a_draw_is_found(fair: Fair) -> None:
    ((packet_id, _),) = fair.cash.packets
    packet = fair.system.packets.find_packet(packet_id)
    assert packet
    taken = {share.share_no for share in list_shares(fair.system.packets, packet_id)}
    free_no = min(set(range(1, 21)) - taken)
    claim = a_claim(
        packet, free_no, "eve", decided_at_ms=fair.system.clock.now_ms() - MOVING_MS - 5
    )
    fair.put("shares", share_row(claim))
    fair.put("shares", prize_claimer_row(claim, "eve"))

    differences = fair.differences()

    assert any(
        "claims of eve" in difference.what
        for difference in differences
        if difference.subject == "fair cash"
    )
    # The claim is not queued, so its payout is also late.
    assert _subjects(differences) == {("I9", "fair cash"), ("I8", packet_id)}


@pytest.mark.parametrize(
    "name", ["sent_fen", "sent_count", "received_fen", "received_count", "luckiest_count"]
)
def test_a_yearly_sum_that_differs_from_the_entries_is_found(name: str) -> None:
    system = InMemorySystem()
    packet: Packet = system.send("sue", count=2)
    system.grab_all(packet, "ann", "bob")
    system.settle()
    (end,) = [facts.packet.end for facts in system.ledger_state().packets]
    assert end
    assert end.luckiest
    account = "user:sue" if name.startswith("sent") else f"user:{end.luckiest.user_id}"
    system.pass_time(MOVING_MS + 1)
    assert system.reconcile().differences == []
    row = system.dynamo.tables["accounts"][account, "balance"]
    kept = next(cell for cell in row if cell.startswith(name))
    row[kept] = {"N": str(int(row[kept]["N"]) + 1)}

    (difference,) = system.reconcile().differences

    assert (difference.rule, difference.subject, difference.what) == (
        "I1",
        account,
        f"{kept} vs entries",
    )


@pytest.mark.parametrize("name", ["plan", "prizes"])
def test_an_unreadable_campaign_is_found_and_ends_no_run(fair: Fair, name: str) -> None:
    fair.row("campaigns", campaign_keys.shown("fair"))[name] = {"S": "broken"}

    found = {(each.subject, each.what) for each in fair.differences()}

    assert ("fair", "campaign that can be read") in found


@pytest.mark.parametrize("name", ["packet", "draw", "campaign"])
def test_an_audit_without_the_ledger_fails_and_reports_no_difference(name: str) -> None:
    away = Away()
    audits = InMemorySystem().process(dead_letters=Mock()).audits
    away_audits = replace(
        audits, packets=away, find_draw=away.find_draw, find_snapshot=away.find_snapshot
    )
    subject = ("gala", "ann", "draw") if name == "draw" else ("gala",)

    with pytest.raises(Unavailable):
        getattr(away_audits, name)(*subject)


def test_a_chain_of_seeds_that_differs_from_the_commitment_of_its_campaign_is_found(
    fair: Fair,
) -> None:
    seed = fair.row("campaigns", campaign_keys.lottery_seed("fair"))
    name = "sealed" if "sealed" in seed else "seed"
    seed[name] = {"S": seed[name]["S"][:2] + "01" * 31}

    found = {(each.subject, each.what) for each in fair.differences()}

    assert ("fair", "commitment of its seeds") in found


def test_a_campaign_that_shows_another_commitment_than_the_logged_one_is_found(fair: Fair) -> None:
    logged = {"kind": "campaign", "commitment": "ab" * 32, "at_ms": 1}
    fair.put("commitments", {"pk": "hash", **logged})

    found = {(each.subject, each.what) for each in fair.differences()}

    assert ("campaign with the hash hash", "commitment that it shows") in found
