"""Soak test: a week of production in minutes, on one local stack. It prints JSON last.

make soak MINUTES=30 SEED=1
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from local import places
from local.build import Building
from local.commands import end_on_signals, say
from local.promises import last_release
from local.stack import Stack
from testing.soak.agreement import MUST_SEE, Agreement
from testing.soak.crowd import Crowd
from testing.soak.mirror import Mirror
from testing.soak.troubles import Troubles
from testing.soak.watch import Watch

FIRST_RELEASE = "15ff6e46"
"""Commit to upgrade from until there is a release; no later commit breaks stored rows."""
PEOPLE, NAIVE = 300, 24
KEPT = places.LOCAL / "soak"
SHOWN, SHOWN_ALIKE = 8, 12
"""Failures to show of each group, and how many first characters are equal within a group."""
FEATURES = (
    *(f"packet {kind}" for kind in ("plain", "split", "two-step", "passphrase", "timed")),
    *("packet for few", "packet paid", "packet of a campaign", "rain", "claim", "thanks", "end"),
    *("draw", "cash prize", "help", "payment by wechat", "payment by host"),
    *("paid at wechat", "paid at host", "refund outside", "withdrawal by wechat"),
    *("withdrawal by host", "confirmation", "cancel", "profile", "page", "notices", "deposit"),
    *("approval", "campaign edit", "repeat", "seal of another release", "row put back"),
    "name that a restore lost",
)
"""Features that a soak must exercise at least once."""
FAULTS = ("cache killed", "functions killed", "upgrade", "keys rotated", "tables restored")
CONTROLS = ("forgets keys", "no sequence")


def checkout(commit: str, folder: Path) -> Path:
    """Write a commit's source tree into *folder*."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", commit], cwd=places.ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def soak(minutes: float, seed: int, commit: str, folder: Path) -> tuple[Watch, Agreement]:
    """Run a soak, and return its record and its final comparison."""
    old, watch, chance = checkout(commit, folder / "previous"), Watch(), random.Random(seed)
    with Building(say, folder / "build.log") as building:
        building.finish()  # before the crowd acts
    with Stack(folder / "state", say=say, sources=old) as stack:
        crowd = Crowd(stack, watch, seed, PEOPLE, NAIVE)
        mirror = Mirror(stack, crowd)
        troubles = Troubles(stack, crowd, watch, mirror)
        mirror.put()
        crowd.begin()
        say(f"{PEOPLE} users act on {commit}")
        ends_at = time.monotonic() + 60 * minutes
        steps: list[Callable[[], None]] = [
            lambda: troubles.upgrade(places.ROOT, rotates=False),
            lambda: troubles.upgrade(old, rotates=False),
            lambda: troubles.upgrade(places.ROOT, rotates=True),
            lambda: troubles.restore(chance, lambda: disturb(troubles, chance, 10)),
        ]
        try:
            for number, step in enumerate(steps):
                left_s = ends_at - time.monotonic()
                disturb(troubles, chance, left_s / (len(steps) + 1 - number))
                say(f"step {number + 1} of {len(steps)}: {watch.requests} requests so far")
                try:
                    step()
                except RuntimeError as error:
                    watch.violated(f"step {number + 1}: {error}")
            disturb(troubles, chance, ends_at - time.monotonic())
        finally:
            crowd.end()
        say("The crowd has left")
        agreement = Agreement(crowd, troubles)
        try:
            agreement.check()
        except RuntimeError as error:  # the rows and logs that are kept show the cause
            watch.violated(f"comparison: {error}")
        if watch.violations or watch.unexplained():
            keep(stack, folder)
    return watch, agreement


def keep(stack: Stack, folder: Path) -> None:
    """Keep the logs and table rows of a failed soak."""
    shutil.rmtree(KEPT, ignore_errors=True)
    shutil.copytree(folder / "state" / "logs", KEPT)
    for name, table in stack.outputs.items():
        if name.endswith("Table"):
            pages = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=table)
            _write_lines(name, (row for page in pages for row in page["Items"]))
    logs = stack.aws("logs")
    for group in logs.describe_log_groups()["logGroups"]:
        name = group["logGroupName"]
        pages = logs.get_paginator("filter_log_events").paginate(logGroupName=name)
        _write_lines(name.rpartition("/")[2], (each for page in pages for each in page["events"]))
    say(f"Its logs and rows are in {KEPT}")


def _write_lines(name: str, rows: Iterable[Any]) -> None:
    lines = (f"{json.dumps(row, default=repr, ensure_ascii=False)}\n" for row in rows)
    (KEPT / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def disturb(troubles: Troubles, chance: random.Random, seconds: float) -> None:
    """Inject one fault after another for the given seconds."""
    ends_at = time.monotonic() + seconds
    while (left_s := ends_at - time.monotonic()) > 0:
        time.sleep(min(left_s, chance.uniform(2, 20)))
        troubles.disturb(chance)
        troubles.plays_waiting()


def main() -> int:
    """Run a soak, and fail if anything differs or was not exercised."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="commit", default="")
    given = parser.parse_args()
    end_on_signals()
    commit = given.commit or last_release(places.ROOT, "HEAD^") or FIRST_RELEASE
    began_at = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="redpacket-soak-") as folder:
        watch, agreement = soak(given.minutes, given.seed, commit, Path(folder))
    unexplained = watch.unexplained()
    missing = [name for name in FEATURES if not watch.done[name]]
    missing += [name for name in FAULTS if not watch.faults[name]]
    missing += [name for name in MUST_SEE if not agreement.seen[name]]
    missing += [f"control: {name}" for name in CONTROLS if not agreement.naive[name]]
    shown: Counter[str] = Counter()
    for text in watch.violations:
        shown[text[:SHOWN_ALIKE]] += 1
        if shown[text[:SHOWN_ALIKE]] <= SHOWN:
            say(f"FAILED {text}")
    for failure in unexplained[:SHOWN]:
        say(f"FAILED {failure}")
    result = {
        "requests": watch.requests,
        "faults": sum(watch.faults.values()),
        "upgrades": watch.faults["upgrade"],
        "violations": len(watch.violations),
        "slow_answers": watch.slow,
        "errors_5xx_unexplained": len(unexplained),
        "errors_5xx_unexplained_before": len(watch.unexplained(is_old=True)),
        "errors_5xx": len(watch.failures),
        "missing": missing,
        "naive": dict(agreement.naive),
        "of_fault": dict(watch.faults),
        "done": dict(sorted(watch.done.items())),
        "seen": dict(sorted(agreement.seen.items())),
        "from": commit,
        "seed": given.seed,
        "seconds": round(time.monotonic() - began_at),
    }
    print(json.dumps(result, ensure_ascii=False))
    return 1 if watch.violations or unexplained or missing else 0


if __name__ == "__main__":
    sys.exit(main())
