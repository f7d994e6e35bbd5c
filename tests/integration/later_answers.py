"""Program that feeds a later version's responses to the generated client: they have new enum
values, new fields and a new problem code.
"""

from typing import Any

import httpx
from redpacket_client import AuthenticatedClient
from redpacket_client.api.packets import grab_packet, read_packet
from redpacket_client.models import Admission, Claim, Problem

CLAIM = {
    "outcome": "claimed_later",
    "packet_id": "p",
    "share_no": 1,
    "amount_fen": 7,
    "claimed_at_ms": 0,
    "payout": "brand_new",
    "new_field": {"a": 1},
}
FROZEN = {
    "type": "/problems/packet-frozen",
    "title": "Frozen",
    "detail": "The packet is frozen.",
    "code": "packet_frozen",
    "new_field": 1,
}


def grab(status: int, answer: dict[str, Any]) -> Admission | Claim | Problem | None:
    """Call the client's grab operation on a fake API that always returns *answer*."""
    return grab_packet.sync("p", client=_client(status, answer))


def _client(status: int, answer: dict[str, Any]) -> AuthenticatedClient:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, json=answer))
    client = AuthenticatedClient("https://api.example", "token")
    return client.set_httpx_client(
        httpx.Client(base_url="https://api.example", transport=transport)
    )


def main() -> None:
    """Check how the client parses the later version's responses."""
    claim = grab(200, CLAIM)
    assert isinstance(claim, Claim), claim
    assert (claim.amount_fen, claim.payout, claim.outcome) == (7, "brand_new", "claimed_later")
    for status in (403, 404, 409, 410, 422, 429, 503):
        problem = grab(status, {**FROZEN, "status": status})
        assert isinstance(problem, Problem), problem
        assert (problem.code, problem.status) == ("packet_frozen", status)
    for status in (401, 403, 404, 429):
        problem = grab(status, {"message": "Unauthorized"})
        assert isinstance(problem, Problem), problem
        assert problem.message == "Unauthorized"
    assert grab(418, FROZEN) is None
    missing = read_packet.sync("p", client=_client(404, FROZEN))
    assert isinstance(missing, Problem), missing


if __name__ == "__main__":
    main()
