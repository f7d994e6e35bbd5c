"""Signed public log over HTTP, verified as a user without AWS access would verify it."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.stack import Stack
from redpacket.fairness.model.log import verifier_key_of
from testing.fairness.tlog_client import TlogClient, mth
from tests.integration.conftest import Eventually, MakeUser

pytestmark = pytest.mark.usefixtures("invariants")

ROOT = Path(__file__).parents[2]


def verify(
    folder: Path, *documents: Any, commitment: str, log_of: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the verifier in a Python without packages. *log_of* is the packet to check in the log."""
    files = []
    for number, document in enumerate(documents):
        file = folder / f"{number}.json"
        file.write_text(json.dumps(document))
        files.append(str(file))
    if log_of:
        files = ["log", *files, "--id", log_of]
    command = [sys.executable, "-S", "-m", "redpacket.verify", *files, "--commitment", commitment]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_packet_is_in_the_signed_log_within_seconds(
    stack: Stack, a_user: MakeUser, eventually: Eventually, tmp_path: Path
) -> None:
    sender = a_user(funds_fen=1000)

    def read(path: str, **query: Any) -> httpx.Response:
        """Send a request without a token."""
        url = f"{stack.api}/transparency{path}"
        return httpx.get(url, params=query, timeout=30, trust_env=False)

    before = read("").json()
    sent = sender.send().json()
    id_hash = hashlib.sha256(sent["packet_id"].encode()).hexdigest()
    index = eventually(lambda: read("/proof", id_hash=id_hash).json().get("index", -1) + 1) - 1
    page = read("", cursor=index).json()
    size = page["size"]
    files = [page, read("/proof", id_hash=id_hash, size=size).json()]
    if before["size"]:
        growth = read("/consistency", **{"from": before["size"], "to": size})
        files += [before, growth.json()]
    good = verify(tmp_path, *files, commitment=sent["commitment"], log_of=sent["packet_id"])
    wrong = verify(tmp_path, *files, commitment="0" * 64, log_of=sent["packet_id"])

    assert page["items"][0]["commitment"] == sent["commitment"]
    assert sent["packet_id"] not in str(page)
    assert (good.returncode, good.stderr) == (0, ""), good.stdout
    assert wrong.returncode == 1, wrong.stdout

    with httpx.Client(base_url=stack.api, timeout=30, trust_env=False) as http:
        key = verifier_key_of(bytes.fromhex(page["public_key"]))
        client = TlogClient(key, http)
        size, root = client.checkpoint()
        texts = client.entries(size)
        assert client.level(0, size) == [hashlib.sha256(b"\0" + each).digest() for each in texts]
        assert mth(client.level(0, size)) == root
    assert f",{id_hash},{sent['commitment']},".encode() in texts[index]
    assert f"note key    {key}" in good.stdout
