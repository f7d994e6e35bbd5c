"""Welcome text for `make run` and `make up`: addresses, tokens, and commands to paste."""

import json
from typing import Any

from local.chat.room import PEOPLE
from local.chat.server import KINDS
from local.client import Client
from local.stack import Stack

ADMIN_SCOPE = "hongbao/admin"
PACKET: dict[str, Any] = {"kind": "lucky", "total_fen": 1000, "count": 5, "greeting": "恭喜发财"}
# Amount in fen, enough for a hundred packets like PACKET.
DEPOSIT_FEN = 100_000
# Operators pay for prizes from their own accounts, and cannot credit themselves.
OPERATOR_FEN = 10_000_000
PAYERS = "operator", "operate", "treasury"
"""Operators whom the console's sign-in offers: administrator, campaign operator, and treasury."""


def welcome(stack: Stack) -> str:
    """Fund the first user and the operators, send a packet, and return a text with next steps."""
    alice, bob = stack.token("alice", nickname="Alice"), stack.token("bob", nickname="Bob")
    with Client(stack.api, stack.token("treasurer", scope=ADMIN_SCOPE)) as treasurer:
        for user, amount_fen in (
            ("alice", DEPOSIT_FEN),
            *((each, OPERATOR_FEN) for each in PAYERS),
        ):
            deposit = {"user": user, "amount_fen": amount_fen}
            treasurer.post("/admin/deposits", deposit, f"first-{user}")
        open_chats(treasurer)
    if stack.issuer:
        return _own_issuer(stack)
    with Client(stack.api, alice) as sender:
        packet_id = sender.post("/packets", PACKET, "first")["packet_id"]
    left = stack.unit.text(DEPOSIT_FEN - PACKET["total_fen"])
    return f"""
The page:     {stack.page}/
A packet:     {stack.page}/packets/{packet_id}
The console:  {stack.page}/operator   (sign in as Administrator)
Group chats:  {stack.chat}   (simulated Telegram and Lark)
The API:      {stack.api}   (for the page also under /api)

To try the API, paste this into another terminal. Alice has {left}.

API={stack.api} PACKET={packet_id}
ALICE={alice}
BOB={bob}

Bob grabs a share of Alice's packet:
curl -s -X POST "$API/packets/$PACKET/grab" -H "Authorization: Bearer $BOB"; echo

Bob reads who claimed how much:
curl -s "$API/packets/$PACKET" -H "Authorization: Bearer $BOB"; echo

Alice sends another packet; a retry with the same key sends no second one:
curl -s "$API/packets" -H "Authorization: Bearer $ALICE" -H 'Idempotency-Key: second' \\
  -d '{json.dumps(PACKET, ensure_ascii=False)}'; echo

A token for another user:
curl -s "$API/dev/tokens" -d '{{"sub": "carol", "nickname": "Carol"}}'; echo
"""


def open_chats(operator: Client) -> None:
    """Admit groups from the simulated chat platforms, and fund their members."""
    for platform in KINDS:
        chat = {"title": platform.name, "day_fen": OPERATOR_FEN, "language": "zh"}
        operator.put(f"/admin/chats/{platform.name}/{platform.group_id}", chat)
        for person in PEOPLE:
            member = platform.host_id(person)
            deposit = {"user": member, "amount_fen": DEPOSIT_FEN}
            operator.post("/admin/deposits", deposit, f"first-{member}")


def _own_issuer(stack: Stack) -> str:
    """Return the welcome text for a stack with the developer's own issuer."""
    return f"""
The page:     {stack.page}/
The console:  {stack.page}/operator   (sign in as Operator)
The API:      {stack.api}   (for the page also under /api)

Users have tokens of {stack.issuer}. Its user alice has {stack.unit.text(DEPOSIT_FEN)}.
"""
