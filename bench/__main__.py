"""Command that runs benches and prints their figures. The last line of output is JSON.

`python -m bench` runs all benches, and writes docs/performance.md.

`python -m bench claim memory` runs these two benches, and writes nothing.

`python -m bench --write capacity` runs this bench, and writes the page.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench import report
from bench.report import BENCHES
from local.places import ROOT

# Run each bench in a new process, so that no other bench affects its memory.
CHILD = """
import importlib, json, sys
print(json.dumps(importlib.import_module("bench." + sys.argv[1]).measure()))
"""


def main(words: Sequence[str]) -> int:
    """Run benches. Return 1 if a bench failed or missed a bound."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(words)
    if unknown := set(given.names) - set(BENCHES):
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    names = given.names or [*BENCHES]
    kept = report.read()
    for name in names:
        kept[name] = run(name)
    if given.write or not given.names:
        report.write(kept)
    lines = {name: kept[name].get("figures") for name in names}
    failed = {name: kept[name]["failed"] for name in names if "failed" in kept[name]}
    for name, how in failed.items():
        print(f"{name}: {how}", file=sys.stderr)
    print(json.dumps(lines[names[0]] if len(names) == 1 else lines))
    return int(bool(failed))


def run(name: str) -> dict[str, Any]:
    """Run a bench, and return its record for docs/performance.json."""
    print(f"== {name}", flush=True)
    record: dict[str, Any] = {
        "on": datetime.now(UTC).date().isoformat(),
        "machine": report.machine(),
    }
    last = ""
    command = [sys.executable, "-c", CHILD, name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout or ():
            if last:
                print(last, end="", flush=True)
            last = line
    if child.returncode:
        return {**record, "failed": f"it ended with status {child.returncode}"}
    record["figures"] = json.loads(last)
    rows = BENCHES[name].values(record)
    for figure, value in rows:
        print(f"{figure.says:75} {report.formatted(value):>10}  {figure.bound()}")
    missed = [each.key for each, value in rows if each.is_bound and not each.is_reached(value)]
    if missed:
        record["failed"] = f"a bound does not hold: {', '.join(missed)}"
    return record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
