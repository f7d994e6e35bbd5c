"""Table of the results of the suites with real processes."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- faults-real:begin -->", "<!-- faults-real:end -->"

LEGEND = """\
**Faults** are injected into processes and queue messages; for "send" they are retries. **Repairs**
are shares that the cache assigned wrongly and the ledger corrected. **Naive** counts violations by
the control, which responds before the ledger write, or checks and writes in separate steps. **Back
after** is the median and longest time from the end of a fault until a user claims a new share; for
"failover" it starts when the cache's name resolves to the replica. Written by
`make faults-real`.
"""


@dataclass
class Figures:
    """Figures of one suite."""

    suite: str
    runs: int = 0
    claims: int = 0
    faults: int = 0
    repairs: int = 0
    violations: list[str] = field(default_factory=list)
    naive_violations: int = 0
    recovered_ms: list[int] = field(default_factory=list)
    seconds: float = 0.0

    def cells(self) -> list[str]:
        recovered = "-"
        if self.recovered_ms:
            middle = round(statistics.median(self.recovered_ms))
            recovered = f"{middle:,} / {max(self.recovered_ms):,}"
        numbers = [self.runs, self.claims, self.faults, self.repairs]
        numbers += [len(self.violations), self.naive_violations]
        return [self.suite, *(f"{n:,}" for n in numbers), recovered, f"{self.seconds:.0f}"]


HEAD = ["Suite", "Runs", "Claims", "Faults", "Repairs", "Violations", "Naive", "Back after ms"]


def table(figures: Sequence[Figures]) -> str:
    """Return a Markdown table with one row for each suite."""
    rows = [[*HEAD, "Seconds"], ["---", *["--:"] * len(HEAD)]]
    rows += [each.cells() for each in figures]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write(document: Path, text: str) -> None:
    """Replace the text between the markers of *document*, and nothing else."""
    before, _, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    document.write_text(f"{before}{BEGIN}\n{text}\n\n{LEGEND}{END}{after}", encoding="utf-8")
