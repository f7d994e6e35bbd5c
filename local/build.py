"""Builder that runs `sam build` on the real template and caches the result by a source hash."""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from local import places
from local.errors import StackError
from local.processes import Process

# Bucket on the emulator that receives the artifacts before the deployment.
ARTIFACT_BUCKET = "redpacket-artifacts"
SAYS_EVERY_S = 5.0
"""Seconds between two progress lines of a build, which may take two minutes."""
# Number of builds to keep, so that stacks with different sources can start concurrently.
BUILDS_KEPT = 3
SOURCES = ("shared", "lua", "functions")
# Properties that name a local folder to upload, keyed by resource type.
CODE_PROPERTIES = {
    "AWS::Serverless::Function": "CodeUri",
    "AWS::Serverless::LayerVersion": "ContentUri",
}


@dataclass(frozen=True, slots=True)
class Build:
    """Template ready for CloudFormation, with the archives that it references."""

    template: dict[str, Any]
    archives: list[Path]


class Building:
    """Background build; only one runs at a time. The build stops if the `with` block ends early."""

    def __init__(self, say: Callable[[str], None], log: Path, root: Path = places.ROOT) -> None:
        """Prepare to build the tree *root*: this repository, or the tree of another release."""
        self._say, self._log, self._root = say, log, root
        self._process: Process | None = None

    def __enter__(self) -> Self:
        """Begin the build, unless a build of these sources exists."""
        places.BUILDS.mkdir(parents=True, exist_ok=True)
        self._lock = (places.BUILDS / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._folder = places.BUILDS / _digest(self._root)
        self._began_at = time.monotonic()
        if not (self._folder / "template.json").exists():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
            self._process = _start_sam(self._folder / "sam", self._log, self._root)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the build if it is still running."""
        if self._process:
            self._process.stop()
        self._lock.close()

    def finish(self) -> Build:
        """Print progress lines until the build ends, and return the build."""
        if self._process:
            while (code := self._process.wait(SAYS_EVERY_S)) is None:
                log = os.path.relpath(self._log, places.ROOT)
                self._say(f"sam build: {self._took_s():.0f} s so far; its output is in {log}")
            if code != 0:
                raise StackError(f"sam build failed{self._process.log_tail()}")
            _package(self._folder)
            self._say(f"sam build: {self._took_s():.1f} s")
            _forget_old_builds(keep=self._folder)
        os.utime(self._folder)
        template = json.loads((self._folder / "template.json").read_text())
        return Build(template, sorted(self._folder.glob("*.zip")))

    def _took_s(self) -> float:
        return time.monotonic() - self._began_at


def architecture() -> str:
    """Return Lambda's name for this machine's processor."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"


def _digest(root: Path) -> str:
    digest = hashlib.sha256(_lambda_python_version().encode() + Path(__file__).read_bytes())
    files = [root / "template.yaml"]
    for source in SOURCES:
        files += sorted((root / source).rglob("*"))
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"\0{file.relative_to(root)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _lambda_python_version() -> str:
    command = [str(places.LAMBDA_PYTHON), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _start_sam(target: Path, log: Path, root: Path) -> Process:
    command = [
        *(str(places.SAM), "build", "--template", str(root / "template.yaml")),
        *("--build-dir", str(target), "--base-dir", str(root), "--no-cached"),
    ]
    return Process("sam build", command, log=log, env=_environment(), cwd=root)


def _package(folder: Path) -> None:
    """Convert sam's output in *folder* into archives and a template that references them."""
    built = folder / "sam"
    template = yaml.safe_load((built / "template.yaml").read_text())
    for name, resource in template["Resources"].items():
        if code := CODE_PROPERTIES.get(resource["Type"]):
            source = (built / resource["Properties"][code]).resolve()
            resource["Properties"][code] = _archive(source, folder / f"{name}.zip")
    shutil.rmtree(built)
    # Write the template last, so that its presence marks a complete folder. `default=str` converts
    # the dates of policies.
    (folder / "template.json").write_text(json.dumps(template, default=str, ensure_ascii=False))


def _environment() -> dict[str, str]:
    return os.environ | {
        "UV": str(places.UV),
        "LAYER_INTERPRETER": str(places.LAMBDA_PYTHON),
        "LAYER_PYTHON": _lambda_python_version(),
        "LAYER_PLATFORM": _layer_platform(),
        "SAM_CLI_TELEMETRY": "0",
        "__SAM_CLI_APP_DIR": str(places.SAM_SETTINGS),
    }


def _layer_platform() -> str:
    processor = {"arm64": "aarch64", "x86_64": "x86_64"}[architecture()]
    return f"{processor}-{'apple-darwin' if platform.system() == 'Darwin' else 'unknown-linux-gnu'}"


def _archive(source: Path, target: Path) -> dict[str, str]:
    # Store without compression, because the emulator unpacks the layer for every function.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for file in sorted(source.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(source))
    # The key contains the build's name, because CloudFormation updates a function's code only if
    # its location changes.
    return {"Bucket": ARTIFACT_BUCKET, "Key": f"{target.parent.name}/{target.name}"}


def _forget_old_builds(keep: Path) -> None:
    builds = [folder for folder in places.BUILDS.iterdir() if folder.is_dir() and folder != keep]
    builds.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in builds[BUILDS_KEPT - 1 :]:
        shutil.rmtree(folder)
