from redpacket.packets.dynamodb.items import share_row
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from testing.builders import a_claim, a_packet
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES


def test_more_claims_than_one_batch_reads_are_all_found() -> None:
    client, packet = FakeDynamo(), a_packet(total_fen=1000, count=150)
    claims = [a_claim(packet, number, f"user-{number}") for number in range(1, 151)]
    for claim in claims:
        client.put_item(TableName="shares", Item=to_wire(share_row(claim)))
    packets = DynamoPackets(Dynamo(lambda: client, TABLE_NAMES))

    shares = packets.list_refs([claim.ref for claim in claims])

    assert {share.share_no for share in shares} == set(range(1, 151))
