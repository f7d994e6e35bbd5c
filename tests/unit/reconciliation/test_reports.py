"""Reports over a ledger of known rows, and the report for each saved query."""

import re
from collections import Counter
from itertools import product
from unittest.mock import Mock

import pytest

from local.places import ROOT
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.claim import ShareStatus
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import return_row
from redpacket.payments.model.payments import PaymentReturn, ReturnReason, ReturnStatus
from redpacket.platform.dynamodb.client import to_wire
from redpacket.reconciliation.use_cases.runs import report_views, stale_databases
from redpacket.reconciliation.use_cases.statements import DORMANT_MS, MOVING_MS, Run, texts
from redpacket_cli.reports import REPORTS
from testing.platform.fake_services import FakeDeadLetters
from testing.reconciliation.planted import World

Rows = list[dict[str, str | None]]


@pytest.fixture(scope="module")
def world() -> World:
    """Return a ledger with a pending claim."""
    world = World()
    world.system.grab(world.open, "zoe")
    world.system.pass_time(MOVING_MS)
    return world


def _shown(world: World, name: str) -> Rows:
    """Return a report's rows as `redpacket report` reads them after a run."""
    system = world.system
    system.compare(FakeDeadLetters(0))
    run, duck = Run("00", system.clock.now_ms()), system.duck
    assert duck
    duck.rows("CREATE SCHEMA IF NOT EXISTS shown")
    for view in report_views(run, duck.database, "shown"):
        duck.rows(view["sql"])
    columns, *rows = duck.named_rows(f"SELECT * FROM shown.{name}")  # noqa: S608
    return [dict(zip(columns, row, strict=True)) for row in rows]  # type: ignore[arg-type]


def test_each_report_has_its_saved_query() -> None:
    saved = re.findall(
        r"Name: (\w+), QueryString: SELECT \* FROM (\w+) }", (ROOT / "template.yaml").read_text()
    )

    assert {name for name, _ in saved} == {view for _, view in saved} == set(REPORTS)
    assert set(texts("reports")) == set(REPORTS)


def test_a_valid_run_replaces_earlier_ones() -> None:
    ended = {"SUCCEEDED": ["b-1"], "ABORTED": ["c"], "TIMED_OUT": []}
    runs = Mock(newest=ended.get)

    assert stale_databases("a-1", "redpacket_00_a_1_2", runs=runs) == [
        f"redpacket_00_{run}_{look}" for run in ("b_1", "c") for look in (1, 2, 3, 4)
    ]


def test_winners_lists_all_wins(world: World) -> None:
    draws = [
        (draw.prize.prize_id, str(draw.unit_no), user, draw.draw_id)
        for user in ("user-0", "user-1")
        for draw in world.system.draws.list_draws("fair", user)
        if draw.prize
    ]

    rows = _shown(world, "winners")

    assert [(w["prize_id"], w["unit_no"], w["user_id"], w["draw_id"]) for w in rows] == sorted(
        draws
    )
    assert {row["amount_fen"] for row in rows if row["prize_id"] == "cash"} == {"100"}


def test_spend_has_sent_claimed_and_refunded_amounts_by_day_and_campaign(world: World) -> None:
    expected: Counter[tuple[str, str]] = Counter()
    for facts in world.system.ledger_state().packets:
        campaign_id = facts.packet.rules.campaign_id or ""
        expected[campaign_id, "sent_fen"] += facts.packet.funded_fen
        for share in facts.shares:
            status = "claimed" if share.status is ShareStatus.CLAIMED else "refunded"
            expected[campaign_id, f"{status}_fen"] += share.amount_fen

    rows = _shown(world, "spend")

    assert {row["day"] for row in rows} == {"2026-11-18"}
    amounts = ("sent_fen", "claimed_fen", "refunded_fen")
    assert {
        (str(row["campaign_id"]), name): int(row[name] or 0) for row in rows for name in amounts
    } == {
        (campaign, name): expected[campaign, name] for campaign in ("", "fair") for name in amounts
    }


def test_refunds_has_the_rate(world: World) -> None:
    """One of the two closed packets was fully claimed; the other has no claims."""
    (rows,) = _shown(world, "refunds")

    assert rows == {
        "day": "2026-11-18",
        "campaign_id": "",
        "packet_count": "2",
        "total_fen": "2000",
        "refunded_fen": "1000",
        "refunded_percent": "50.0",
    }


def test_waiting_work_is_listed_with_its_age(world: World) -> None:
    by_kind = {row["kind"]: row for row in _shown(world, "waiting")}

    assert set(by_kind) == {"claim to settle", "packet to pay for", "withdrawal"}
    assert {row["row_count"] for row in by_kind.values()} == {"1"}
    assert by_kind["withdrawal"]["amount_fen"] == "50"
    assert {row["oldest_age_s"] for row in by_kind.values()} == {str(MOVING_MS // 1000)}


def test_waiting_lists_only_open_returns_and_their_remaining_money() -> None:
    world = World()
    returns = [
        PaymentReturn(
            number=f"pm{place:030d}",
            transaction_id=f"t{place}",
            amount_fen=100 + place,
            reason=ReturnReason.SECOND,
            channel=ProviderName.WECHAT,
            noted_at_ms=world.system.clock.now_ms(),
            status=status,
            refunded_fen=refunded_fen,
        )
        for place, (status, refunded_fen) in enumerate(product(ReturnStatus, (0, 30)))
    ]
    for returned in returns:
        key = payment_keys.payment_return(returned.number, returned.transaction_id)
        world.system.dynamo.tables["payments"][key["pk"], key["sk"]] = to_wire(return_row(returned))
    world.system.pass_time(MOVING_MS)

    by_kind = {row["kind"]: row for row in _shown(world, "waiting")}

    pending = [returned for returned in returns if not returned.is_over]
    assert len(pending) == 4
    assert by_kind["payment to return"]["row_count"] == str(len(pending))
    assert by_kind["payment to return"]["amount_fen"] == str(
        sum(returned.left_fen for returned in pending)
    )


def test_balances_at_rest_are_dormant_after_half_a_year(world: World) -> None:
    assert _shown(world, "dormant") == []
    world.system.pass_time(DORMANT_MS)
    world.system.deposit("bob", 1)

    rows = _shown(world, "dormant")

    balances = world.system.ledger_state().balances_fen
    resting = {name: fen for name, fen in balances.items() if fen > 0 and name != "user:bob"}
    assert {str(row["account"]): int(row["balance_fen"] or 0) for row in rows} == resting
    assert [row["last_entry_day"] for row in rows] == ["2026-11-18"] * len(rows)
