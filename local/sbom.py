"""Writes the bill of materials of a release: every pinned package that is deployed, by CycloneDX.

It is made of the compiled requirements of the layers and of the page's lock file, without network.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import redpacket
from local import places

LAYERS = ("requirements", "passphrase", "payments")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)((?:.*\\\n)*.*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def document() -> dict[str, Any]:
    """Return the bill: packages of the layers and shipped packages of the page."""
    components = {component["purl"]: component for component in [*_of_layers(), *_of_page()]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "redpacket",
                "version": redpacket.__version__,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [components[purl] for purl in sorted(components)],
    }


def _of_layers() -> list[dict[str, Any]]:
    components = []
    for layer in LAYERS:
        text = (places.ROOT / "shared" / f"{layer}.txt").read_text(encoding="utf-8")
        for name, version, rest in _PIN.findall(text):
            hashes = [{"alg": "SHA-256", "content": digest} for digest in _HASH.findall(rest)]
            components.append(_component("pypi", name.lower(), version) | {"hashes": hashes})
    return components


def _of_page() -> list[dict[str, Any]]:
    lock = json.loads((places.ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    return [
        _component("npm", path.rpartition("node_modules/")[2], package["version"])
        for path, package in lock["packages"].items()
        if path and not package.get("dev")
    ]


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{version}"
    return {"type": "library", "name": name, "version": version, "purl": purl}


def main() -> None:
    """Write the named file."""
    inventory = document()
    Path(sys.argv[1]).write_text(json.dumps(inventory, indent=2) + "\n", encoding="utf-8")
    print(f"Wrote {sys.argv[1]}: {len(inventory['components'])} packages")


if __name__ == "__main__":
    main()
