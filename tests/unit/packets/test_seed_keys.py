"""Sealed seeds in rows and caches: they reveal no amount without the deployment's keys."""

from dataclasses import replace
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEED_KEYS, PUBLISHED_SEEDS
from redpacket.fairness.model.days import SEED_BYTES, chain_commitment, day_seed
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.redis.packet_state import read_head, write_head
from redpacket.packets.split import Split, Terms, amounts_fen, share_amount_fen
from redpacket.packets.use_cases.read_proof import read_proof
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvariantViolated
from testing.builders import a_campaign, some_terms
from testing.in_memory_system import InMemorySystem, a_person
from testing.platform.fake_tables import TABLE_NAMES

OTHER_KEYS = SeedKeys({2: "another-key-of-seeds"})
DAY = "20270129"


def sealed_terms(split: Split = Split.DOUBLE_MEAN) -> Terms:
    return PUBLISHED_SEEDS.seal_terms("packet-1", some_terms(split=split))


def packets_by(system: InMemorySystem, seeds: SeedKeys | None) -> DynamoPackets:
    """Return the packet repository of a function with these keys."""
    return DynamoPackets(Dynamo(lambda: system.dynamo, TABLE_NAMES), seeds=seeds)


def stored(packets: DynamoPackets, packet: Packet) -> Packet:
    (packet_found,) = packets.list_packets([packet.packet_id])
    return packet_found


def everything_kept(system: InMemorySystem) -> str:
    """Return all texts that a reader of the tables and the cache can see."""
    tables: dict[str, Any] = system.dynamo.tables
    rows = [str(row) for table in tables.values() for row in table.values()]
    return "\n".join([*rows, str(vars(system.memory)["caches"])])


def test_an_insider_with_tables_and_cache_computes_no_amount(system: InMemorySystem) -> None:
    packet = system.send("sender", count=5, total_fen=5_000)
    system.grab(packet, "ann")
    terms = packet.terms

    assert terms.stored in everything_kept(system)
    assert terms.seed_text not in everything_kept(system)
    stolen = stored(packets_by(system, None), packet).terms
    with pytest.raises(InvariantViolated):
        amounts_fen(stolen)
    guessed = replace(stolen, seed=stolen.sealed)
    assert list(amounts_fen(guessed)) != list(amounts_fen(terms))
    assert guessed.commitment != terms.commitment


def test_a_closed_packet_needs_no_key(system: InMemorySystem) -> None:
    packet = system.send("sender", count=2)
    system.grab_all(packet, "ann", "bob")
    system.settle()

    closed = stored(packets_by(system, OTHER_KEYS), packet)
    proof = read_proof(
        packet.packet_id,
        a_person("ann"),
        after_no=0,
        limit=10,
        packets=packets_by(system, OTHER_KEYS),
    )

    assert closed.status is PacketStatus.CLOSED
    assert closed.terms == packet.terms
    assert proof.terms.commitment == packet.terms.commitment
    assert proof.terms.secret_version == 1


def test_the_newest_key_seals_and_older_ones_open(system: InMemorySystem) -> None:
    both = SeedKeys.parse('{"1":"published-key-of-seeds-for-tests","7":"a newer one"}')
    packet = system.send("sender", count=3)

    assert stored(packets_by(system, both), packet).terms == packet.terms
    assert both.seal_terms("packet-1", some_terms()).secret_version == 7
    assert packet.terms.secret_version == 1


def test_packets_of_another_key_are_readable_without_amounts() -> None:
    terms = sealed_terms()

    read = OTHER_KEYS.read_terms("packet-1", terms.stored)

    assert (read.count, read.total_fen, read.secret_version) == (10, 1_000, 1)
    for compute in (amounts_fen, str, lambda each: share_amount_fen(each, 1)):
        with pytest.raises(InvariantViolated):
            compute(read)


def test_equal_shares_need_no_key() -> None:
    read = OTHER_KEYS.read_terms("packet-1", sealed_terms(Split.EQUAL).stored)

    assert share_amount_fen(read, 1) == 100
    assert list(amounts_fen(read)) == [100] * 10


@pytest.mark.parametrize("split", Split)
def test_rows_and_caches_keep_sealed_terms_unchanged(split: Split) -> None:
    terms = sealed_terms(split)

    cached, _ = read_head(write_head(terms, terms.count, 0, ""))

    assert cached == terms.stored
    assert PUBLISHED_SEEDS.read_terms("packet-1", cached) == terms
    assert len(terms.stored) == len(str(terms))


def test_a_seed_follows_from_key_packet_and_salt() -> None:
    terms = some_terms()
    salts = terms, replace(terms, seed=terms.seed[::-1])
    ids = "packet-1", "packet-2"

    seeds = {PUBLISHED_SEEDS.seal_terms(name, salt).seed for name in ids for salt in salts}
    seeds.add(SeedKeys({1: "another"}).seal_terms("packet-1", terms).seed)

    assert len(seeds) == 5


def test_terms_that_were_never_sealed_stay_unchanged() -> None:
    terms = some_terms()

    assert PUBLISHED_SEEDS.read_terms("packet-1", terms.stored) == terms
    assert (terms.stored, terms.secret_version) == (str(terms), None)


def test_an_insider_with_the_rows_of_a_campaign_cannot_derive_the_seed_of_a_day(
    system: InMemorySystem,
) -> None:
    dynamo = Dynamo(lambda: system.dynamo, TABLE_NAMES)
    DynamoEditedCampaigns(dynamo, seeds=PUBLISHED_SEEDS).create(a_campaign(campaign_id="gala"))
    row = system.dynamo.tables["campaigns"]["seed#gala", "seed"]
    prizes = DynamoPrizes(dynamo, seeds=PUBLISHED_SEEDS)
    snapshot = prizes.find_snapshot("gala")
    assert snapshot

    kept = bytes.fromhex(row["sealed"]["S"])

    assert "seed" not in row
    assert len(kept) == SEED_BYTES
    assert chain_commitment("gala", prizes.day_seed("gala", DAY), DAY) == snapshot.commitment
    assert chain_commitment("gala", day_seed(kept, DAY), DAY) != snapshot.commitment
    for seeds in (None, OTHER_KEYS):
        with pytest.raises(InvariantViolated):
            DynamoPrizes(dynamo, seeds=seeds).day_seed("gala", DAY)


def test_malformed_keys_are_refused() -> None:
    assert SeedKeys.parse(PUBLISHED_SEED_KEYS) is not None
    for text in ("", "{}", '{"0":"a"}', '{"256":"a"}', '{"one":"a"}'):
        with pytest.raises(ValueError):  # noqa: PT011 - also json's own
            SeedKeys.parse(text)
