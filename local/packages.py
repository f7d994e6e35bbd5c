"""Package check for `make release`: install each package in an empty folder, and use it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import redpacket
from local import places
from local.errors import StackError

RELEASE = places.LOCAL / "release"
PAGE_PACKAGES = places.ROOT / "web" / "node_modules"
BILLS = ("requirements", "passphrase", "payments", "page")

_CALL = "from redpacket_client.api.packets import grab_packet; grab_packet.sync_detailed"
_TYPES = """\
import type { paths } from "./redpacket-client.ts";
type Sent = paths["/packets"]["post"]["responses"]["201"]["content"]["application/json"];
export const idOf = (sent: Sent): string => sent.packet_id;
"""
_ELEMENT = f"""\
import {{ Window }} from {json.dumps((PAGE_PACKAGES / "happy-dom/lib/index.js").as_uri())};
const window = new Window({{ url: "https://host.example/" }});
for (const name of Object.getOwnPropertyNames(window))
  if (!(name in globalThis)) globalThis[name] = window[name];
await import("@redpacket/element");
if (!customElements.get("red-packet")) throw new Error("the package defines no element");
await window.happyDOM.close();
process.exit(0);
"""


def command(folder: Path) -> None:
    """Install the wheel with the command, and run the command and the verifier."""
    _install(folder, f"redpacket-{redpacket.__version__}-py3-none-any.whl")
    told = _run(folder, "bin/redpacket", "--version")
    if told != f"redpacket {redpacket.__version__}":
        raise StackError(f"the command says that it is {told}")
    _run(folder, "bin/redpacket", "--help")
    _run(folder, "bin/python", "-m", "redpacket.verify", "--help")


def python_client(folder: Path) -> None:
    """Install the Python client, and import one function."""
    _install(folder, "redpacket-client-python.tar.gz")
    _run(folder, "bin/python", "-c", _CALL)


def typescript_client(folder: Path) -> None:
    """Compile a program that uses the TypeScript client's types."""
    client = (RELEASE / "redpacket-client.ts").read_text(encoding="utf-8")
    (folder / "redpacket-client.ts").write_text(client, encoding="utf-8")
    (folder / "program.ts").write_text(_TYPES, encoding="utf-8")
    options = ("--noEmit", "--strict", "--allowImportingTsExtensions", "--module", "preserve")
    _run(folder, "node", PAGE_PACKAGES / "typescript" / "bin" / "tsc", *options, "program.ts")


def element(folder: Path) -> None:
    """Install the package with the custom element, and define the element in a document."""
    package = RELEASE / f"redpacket-element-{redpacket.__version__}.tgz"
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    (folder / "program.mjs").write_text(_ELEMENT, encoding="utf-8")
    _run(folder, "npm", "install", "--silent", "--offline", "--no-audit", package)
    _run(folder, "node", "program.mjs")


def bills(_folder: Path) -> None:
    """Check that each bill of materials names components."""
    for name in BILLS:
        bill = json.loads((RELEASE / f"{name}.cdx.json").read_text(encoding="utf-8"))
        if not bill["components"]:
            raise StackError(f"{name}.cdx.json is empty")


def _install(folder: Path, package: str) -> None:
    _run(folder, places.UV, "venv", "--quiet", "--no-config", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    options = ("--quiet", "--no-config", "--python", python)
    _run(folder, places.UV, "pip", "install", *options, RELEASE / package)


def _run(folder: Path, *words: Path | str) -> str:
    """Run a command in a folder; return its output. Raises StackError."""
    run = subprocess.run(
        [*map(str, words)], cwd=folder, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise StackError(f"{' '.join(map(str, words))} failed:\n{run.stdout}{run.stderr}")
    return run.stdout.strip()


CHECKS: tuple[Callable[[Path], None], ...] = (
    command,
    python_client,
    typescript_client,
    element,
    bills,
)


def main() -> None:
    """Check each package, and list the release files."""
    for check in CHECKS:
        with TemporaryDirectory() as folder:
            check(Path(folder))
    for file in sorted(RELEASE.iterdir()):
        print(f"{file.stat().st_size:>10,}  {file.name}")
    print(f"Built and checked {redpacket.__version__} in {RELEASE.relative_to(places.ROOT)}.")


if __name__ == "__main__":
    try:
        main()
    except StackError as error:
        sys.exit(f"make release: {error}")
