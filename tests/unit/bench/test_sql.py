"""The ledger that the reconciliation bench replicates has no differences."""

from pathlib import Path

from bench import sql
from local.warehouse import Duck
from redpacket.reconciliation.use_cases.statements import Run


def test_a_repeated_ledger_is_larger_and_has_no_differences(tmp_path: Path) -> None:
    system = sql.a_ledger(packets=4)
    run = Run("00", system.clock.now_ms())

    once = sql.write(system, 1, tmp_path / "once")
    thrice = sql.write(system, 3, tmp_path / "thrice")
    counts = Duck(tmp_path / "thrice", run).type_rows(run).counts(run)

    assert thrice > 2 * once
    assert {name: found for name, (_, found) in counts.items() if found} == {}
    assert any(seen for seen, _ in counts.values())
