"""Log in the layout of C2SP tlog-tiles, read by a client that follows the specifications."""

import hashlib
from itertools import pairwise

import httpx

from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of, verifier_key_of
from redpacket.fairness.model.merkle import Peaks
from redpacket.fairness.use_cases.extend_log import BATCH_MAX
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import NOW_MS
from testing.fairness.fake_head_signer import FakeSigner
from testing.fairness.tlog_client import TlogClient, mth
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.handlers import HandlerTransport, handlers_of

SIZE = 70_000
"""Number of entries in the specification's example, which has tiles of three levels."""


def a_log(system: InMemorySystem, size: int) -> list[Commitment]:
    """Append entries in batches as large as a run's, and return them."""
    book = DynamoLog(Dynamo(lambda: system.dynamo, TABLE_NAMES))
    entries = [
        Commitment(CommitmentKind.PACKET, id_hash_of(f"{no}"), f"{no:064x}", NOW_MS + no)
        for no in range(size)
    ]
    peaks, before = Peaks(), book.find_end()[0]
    for start in range(0, size, BATCH_MAX):
        batch = entries[start : start + BATCH_MAX]
        nodes = {node: node_hash for entry in batch for node, node_hash in peaks.append(entry.leaf)}
        after = type(before)(peaks.size, peaks.root.hex())
        assert book.append(before, after, batch, nodes)
        before = after
    return entries


def test_a_client_of_the_specification_reads_a_log_of_three_levels() -> None:
    system, signer = InMemorySystem(), FakeSigner()

    def sign() -> None:
        assert system.process(head_signer=signer).extend_log((), 60_000).is_signed

    with handlers_of(system):
        http = httpx.Client(base_url="http://log", transport=HandlerTransport({}))
        client = TlogClient(verifier_key_of(signer.public_key()), http)
        assert client.get("/checkpoint").json()["code"] == "unavailable"
        sign()
        assert client.checkpoint() == (0, hashlib.sha256().digest())
        entries = a_log(system, SIZE)
        sign()

        size, root = client.checkpoint()
        levels = [client.level(number, size) for number in range(3)]

        assert (size, [len(each) for each in levels]) == (SIZE, [SIZE, 273, 1])
        texts = client.entries(size)
        assert texts == [str(entry).encode() for entry in entries]
        assert levels[0] == [hashlib.sha256(b"\0" + text).digest() for text in texts]
        for below, above in pairwise(levels):
            assert above == [mth(below[256 * no : 256 * no + 256]) for no in range(len(above))]
        assert mth(levels[0]) == root
        first, last = (http.get(f"/transparency?cursor={at}").json() for at in (0, SIZE - 1))
        assert ([item["index"] for item in first["items"]], first["next"]) == ([*range(100)], "100")
        assert ([item["index"] for item in last["items"]], last["next"]) == ([SIZE - 1], None)
        # These paths are above the head, spell a tile differently, or are no tile at all.
        for path in (
            *("0/273", "0/273.p/113", "2/000", "2/000.p/2", "3/000.p/1", "entries/274.p/1"),
            *("0/x000/001", "00/001", "0/1", "0/000.p/256", "0/000.p/0", "0/000/", "64/000"),
            *("entries/273.p/01", "-1/000", "0/000.p/", "checkpoint"),
        ):
            assert client.get(f"/tile/{path}").json()["code"] == "packet_not_found", path
