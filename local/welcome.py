"""The text of `make run` and `make up`: the page's address, a token, and commands to paste."""

import json
import shlex
from typing import Any

from local.client import Client
from local.stack import Stack

ADMIN_SCOPE = "hongbao/admin"
PACKET: dict[str, Any] = {"kind": "lucky", "total_fen": 1000, "count": 5, "greeting": "恭喜发财"}
# Enough for a hundred packets like the one above.
DEPOSIT_FEN = 100_000


def welcome(stack: Stack) -> str:
    """Fund a first user, send a first packet, and return the text that shows how to go on."""
    alice, bob = stack.token("alice", nickname="Alice"), stack.token("bob", nickname="Bob")
    with Client(stack.api, stack.token("operator", scope=ADMIN_SCOPE)) as operator:
        operator.post("/admin/deposits", {"user": "alice", "amount_fen": DEPOSIT_FEN}, "first")
    with Client(stack.api, alice) as sender:
        packet_id = sender.post("/packets", PACKET, "first")["packet_id"]
    packet = f"{stack.api}/packets/{packet_id}"
    body = json.dumps(PACKET, ensure_ascii=False)
    key, kind = "Idempotency-Key: first", "Content-Type: application/json"
    send = _curl(f"{stack.api}/packets", alice, "-H", key, "-H", kind, "-d", body)
    return f"""
The page:     {stack.api}/
A packet:     {stack.api}/packets/{packet_id}
The API:      {stack.api}  (the page has it under /api)
More tokens:  curl -s {stack.api}/dev/tokens -d '{{"sub": "carol", "nickname": "Carol"}}'
Alice's token, with {DEPOSIT_FEN / 100:.2f} yuan in her account:
{alice}

Alice sends a packet (sent already: the same key gives the same packet, change it for another one):
{send}

Bob grabs a share:
{_curl(f"{packet}/grab", bob, "-X", "POST")}

Who took how much:
{_curl(packet, bob)}
"""


def _curl(url: str, token: str, *options: str) -> str:
    return shlex.join(["curl", "-s", url, "-H", f"Authorization: Bearer {token}", *options])
