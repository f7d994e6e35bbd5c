"""What a cold start costs: the grab and the payout function, against the libraries they stand on.

make bench-cold

Each start is a process of its own, with what Lambda would give it and nothing else: the function's
folder, the layer as `sam build` makes it with its .pyc, and the runtime's boto3. Counted in the
process' own CPU, so that a busy machine matters little; medians of interleaved rounds.

Fails where a function costs more than BOUNDS times an import of boto3 alone, and also where a
grab that imports what it should not would pass.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import boto3

from bench.rounds import Figures, interleaved, ratio, spread
from local import places
from local.build import Building

ROUNDS = 7
BOUNDS = {"grab": 1.3, "payout": 1.75}
RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3")

# What is left to do before the first command to a server.
GRAB = "import app; from redpacket.edge import wiring; wiring.switches(); wiring.board()"
PAYOUT = "import app; from redpacket.edge import wiring; wiring._aws('dynamodb')"
CONTENDERS = {
    "baseline": "import redis, botocore.session",
    "boto3": "import boto3",
    "grab": GRAB,
    "grab_winner": f"{GRAB}; wiring._aws('dynamodb'); wiring._aws('sqs')",
    "payout": PAYOUT,
    # A first winner without a line of ours.
    "clients": (
        "import redis, botocore.session as found; redis.Redis(); session = found.get_session(); "
        "session.create_client('dynamodb'); session.create_client('sqs')"
    ),
    # What the bound is there to notice.
    "heavy_grab": f"import boto3, pydantic; {GRAB}",
}

START = """
import sys, time
sys.path[:0] = {path}
began_s = time.process_time()
{start}
print((time.process_time() - began_s) * 1000)
"""

ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "CACHE_ENDPOINT": "cache.example:6379",
    "CACHE_TLS": "true",
    "CACHE_CLUSTER": "false",
    "SWITCHES_TABLE": "switches",
}


def main() -> int:
    """Measure, and print; the last line is JSON. Return 1 where a bound does not hold."""
    with TemporaryDirectory(prefix="redpacket-") as folder:
        costs_ms = _costs_ms(Path(folder))
    for name, costs in costs_ms.items():
        print(f"{name:11} {spread(costs)} ms, {_ratio(costs_ms, name, 'boto3'):.2f} x boto3 alone")
    # The least that it took: what a bound is held to must not depend on other work.
    least_ms = {name: min(costs) for name, costs in costs_ms.items()}
    over_boto3 = {
        name: round(least_ms[name] / least_ms["boto3"], 2) for name in (*BOUNDS, "heavy_grab")
    }
    print(
        json.dumps(
            {
                **{f"{name}_ms": round(median(costs), 1) for name, costs in costs_ms.items()},
                "ratio": _ratio(costs_ms, "grab", "baseline"),
                "winner_ratio": _ratio(costs_ms, "grab_winner", "baseline"),
                "winner_over_clients": _ratio(costs_ms, "grab_winner", "clients"),
                **{f"{name}_over_boto3": found for name, found in over_boto3.items()},
            }
        )
    )
    return _judge(over_boto3)


def _ratio(costs_ms: Figures, name: str, base: str) -> float:
    return round(ratio(costs_ms, base, name), 2)


def _judge(over_boto3: dict[str, float]) -> int:
    heavy = [name for name, bound in BOUNDS.items() if over_boto3[name] > bound]
    for name in heavy:
        print(
            f"{name}: more than {BOUNDS[name]} x boto3 alone; `python -X importtime` tells why",
            file=sys.stderr,
        )
    is_blind = over_boto3["heavy_grab"] <= BOUNDS["grab"]
    if is_blind:
        print("the bound would not notice a grab with boto3 and pydantic", file=sys.stderr)
    return int(bool(heavy) or is_blind)


def _costs_ms(folder: Path) -> Figures:
    _unpack(folder)
    _copy_runtime(folder / "runtime")
    runs = {name: partial(_start_ms, name, folder) for name in CONTENDERS}
    # Once before: that reads the files from the disk, and leaves the runtime's .pyc.
    interleaved(runs, rounds=1)
    return interleaved(runs, ROUNDS)


def _start_ms(name: str, folder: Path) -> float:
    function = "PayoutFunction" if name == "payout" else "GrabFunction"
    path = [folder / function, folder / "SharedLayer" / "python", folder / "runtime"]
    code = START.format(path=[str(part) for part in path], start=CONTENDERS[name])
    # Isolated, and without the site-packages of the interpreter that made the .pyc.
    done = subprocess.run(
        [places.LAMBDA_PYTHON, "-I", "-S", "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def _unpack(folder: Path) -> None:
    with Building(print, folder / "build.log") as building:
        archives = building.finish().archives
        for archive in archives:
            if archive.stem in {"SharedLayer", "GrabFunction", "PayoutFunction"}:
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(folder / archive.stem)


def _copy_runtime(folder: Path) -> None:
    """Copy what Lambda's own Python has beside the standard library."""
    installed = Path(boto3.__file__).parents[1]
    for name in RUNTIME_PACKAGES:
        # A link will do for 25 MB of models.
        ignored = shutil.ignore_patterns("data", "__pycache__")
        shutil.copytree(installed / name, folder / name, ignore=ignored)
        if (installed / name / "data").exists():
            (folder / name / "data").symlink_to(installed / name / "data")
    shutil.copy(installed / "six.py", folder)


if __name__ == "__main__":
    sys.exit(main())
