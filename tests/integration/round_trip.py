"""Program that sends, grabs and reads a packet with the released client; its arguments are an
address and two tokens.
"""

import json
import sys

from redpacket_client import AuthenticatedClient
from redpacket_client.api.packets import grab_packet, read_packet, send_packet
from redpacket_client.models import Claim, Record, SendBody, SentPacket


def main(api: str, sender: str, guest: str) -> None:
    """Print the claimed amount, then the guest's amount and the greeting from the record."""
    order = SendBody(kind="lucky", total_fen=100, count=1)
    sent = send_packet.sync(
        client=AuthenticatedClient(api, sender), body=order, idempotency_key="python"
    )
    assert isinstance(sent, SentPacket), sent
    client = AuthenticatedClient(api, guest)
    claim = grab_packet.sync(sent.packet_id, client=client)
    assert isinstance(claim, Claim), claim
    record = read_packet.sync(sent.packet_id, client=client)
    assert isinstance(record, Record), record
    mine = record.mine.amount_fen if record.mine else None
    sys.stdout.write(json.dumps([claim.amount_fen, mine, record.greeting]))


if __name__ == "__main__":
    main(*sys.argv[1:])
