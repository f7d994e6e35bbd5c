"""The bench of the public log logs every commitment once."""

import pytest

from bench import log
from local.template import read_template
from redpacket.fairness.use_cases import extend_log


@pytest.mark.parametrize("runs", [1, 2])
def test_runs_log_all_commitments_once(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extend_log, "BATCH_MAX", 60)

    took_s, units = log.run(200, runs, read_template())

    assert took_s > 0
    assert units.written > 200
