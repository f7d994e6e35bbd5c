"""The simulation finds no violation, its control has many, and a seed gives one scenario."""

import ast
import inspect
import os
import subprocess
import sys
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from redpacket.lottery.model.lottery import PrizeKind
from redpacket.payments.model.provider import TransferState
from redpacket.reconciliation.checks import lottery, packets, postings
from testing.payments import outside_checks
from tests.faults.disasters import Disaster
from tests.faults.draws import DrawSchedule
from tests.faults.packets import CopiedWindows, PacketSchedule
from tests.faults.payments import PaymentSchedule
from tests.faults.schedule import Schedule
from tests.faults.simulation import DRAWS, MANY, PACKETS, PAYMENTS, blind_checks, run_schedules


def _much_happens_to_users(schedules: list[Schedule]) -> None:
    assert any("was told share" in line for schedule in schedules for line in schedule.trace)


def _much_happens_in_lotteries(schedules: list[DrawSchedule]) -> None:
    told = [draw for schedule in schedules for draw in schedule.told_to.values()]
    traces = "\n".join(line for schedule in schedules for line in schedule.trace)
    assert {draw.prize and draw.prize.kind for draw in told} == {
        None,
        PrizeKind.PACKET,
        PrizeKind.GOODS,
    }
    assert any(
        len({draw.day for draw in draw_schedule.told_to.values()}) > 1
        for draw_schedule in schedules
    )
    for line in ("is told attempts_exhausted", " helped user-", "a day passes", "is flushed"):
        assert line in traces


# Few packet schedules refuse an owner for a while, and in few payment schedules a statement returns
# a paid transfer. The seeds below include some of these schedules.
@pytest.mark.parametrize(("of", "seed"), [(PACKETS, 5001), (DRAWS, 1), (PAYMENTS, 2001)])
def test_faults_conserve_every_fen_and_prize(of: str, seed: int) -> None:
    some: list[Any] = []

    result = run_schedules(
        MANY,
        seed=seed,
        of=of,
        look=lambda schedule: some.append(schedule) if len(some) < 40 else None,
    )

    assert result.first_differences == []
    assert result.faults > MANY * 20
    assert blind_checks(of, result.seen) == []
    # Transactions conflicted with others that held the same rows.
    assert sum(schedule.system.dynamo.conflict_count for schedule in some) > 40
    if of == PACKETS:
        _much_happens_to_users(some)
    if of == DRAWS:
        _much_happens_in_lotteries(some)


_CHECK = ("check_", "_check_")


def _checks_of(module: ModuleType) -> dict[str, set[str]]:
    """Return the checks of a module, and the checks that each of them calls."""
    functions = [
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(_CHECK)
    ]
    return {
        function.name: {
            name.id
            for name in ast.walk(function)
            if isinstance(name, ast.Name) and name.id.startswith(_CHECK)
        }
        for function in functions
    }


def test_every_check_runs_and_must_see_items() -> None:
    checks: dict[str, set[str]] = {}
    for module in (lottery, outside_checks, packets, postings):
        checks |= _checks_of(module)
    seen = PacketSchedule.MUST_SEE | DrawSchedule.MUST_SEE | PaymentSchedule.MUST_SEE
    for _ in range(3):
        seen = seen | {part for name in seen for part in checks.get(name, ())}

    # The audits of reconciliation run the remaining checks.
    assert checks.keys() - seen == {
        *("check_late_claims", "check_late_close"),
        *("check_posted", "check_tally", "check_unit"),
    }


def test_a_check_that_sees_no_item_is_reported() -> None:
    seen = Counter(dict.fromkeys(DrawSchedule.MUST_SEE, 1))
    seen["check_lottery"] = 0

    assert blind_checks(DRAWS, seen) == ["check_lottery"]


def test_after_faults_stop_a_gateway_ends_pending_operations() -> None:
    schedule = PaymentSchedule(1, is_naive=False)
    schedule.run()

    for state in (TransferState.PROCESSING, TransferState.CANCELLING):
        assert state not in {schedule.gateway.next_state(state) for _ in range(200)}


@pytest.mark.parametrize("of", [PACKETS, DRAWS, PAYMENTS])
def test_the_usual_design_fails(of: str) -> None:
    assert run_schedules(20, seed=1, of=of, is_naive=True).violations > 10


@pytest.mark.parametrize(
    ("disaster", "what"),
    [
        (Disaster.RESTORE, "paid by the gateway"),
        (Disaster.FORGET, "paid by the gateway"),
        (Disaster.LOSE, "answers"),
    ],
)
def test_a_design_that_trusts_its_rows_pays_out_missing_money(
    disaster: Disaster, what: str
) -> None:
    struck, overpaid = 0, 0
    for seed in range(1, 800):
        schedule = PaymentSchedule(seed, is_naive=True)
        schedule.prepare()
        if schedule.aftermath.kind is not disaster:
            continue
        whats = {difference.what for difference in PaymentSchedule(seed, is_naive=True).run()}
        struck, overpaid = struck + 1, overpaid + (what in whats)
        if struck == 40:
            break

    assert (struck, overpaid > 6) == (40, True)


def test_a_packet_that_trusts_its_copy_of_the_window_fails() -> None:
    differences = [found for seed in range(1, 41) for found in CopiedWindows(seed).run()]

    assert {found.rule for found in differences} == {"I-window"}


@pytest.mark.parametrize("kind", [PacketSchedule, DrawSchedule, PaymentSchedule])
def test_a_seed_gives_one_schedule_for_any_hash_seed(kind: type[Schedule]) -> None:
    code = (
        f"from {kind.__module__} import {kind.__name__} as Kind;"
        "one = Kind(11); one.run(); print(one.steps, one.faults.count, one.trace)"
    )

    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(told) == 1
