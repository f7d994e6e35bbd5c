"""Sealed references to packet ids: equal for equal ids, and useless if changed."""

import re

from redpacket.packets.model.packet_ref import PACKET_REF, SEALED_CURSOR, seal, unseal
from redpacket.packets.model.seed_keys import SeedKeys
from testing.builders import a_packet_id

OLD, NEW = "old " * 8, "new " * 8
KEYS = SeedKeys({1: OLD})
ID = a_packet_id(20)


def test_a_reference_has_one_form_for_every_id_and_returns_it() -> None:
    for packet_id in (a_packet_id(), a_packet_id(2), a_packet_id(64)):
        ref = seal("refs", packet_id, KEYS)

        assert re.fullmatch(PACKET_REF, ref)
        assert unseal("refs", ref, KEYS) == packet_id
        assert seal("refs", packet_id, KEYS) == ref


def test_a_changed_reference_and_one_of_another_purpose_name_nothing() -> None:
    ref = seal("refs", ID, KEYS)
    changed = {
        ref[:at] + other + ref[at + 1 :]
        for at in range(len(ref) - 1)
        for other in "AQ_"
        if other != ref[at]
    }

    found = {unseal("refs", text, KEYS) for text in (*changed, ref[:-4], ref + "AAAA", "", "é")}

    assert found == {None}
    assert unseal("cursors", ref, KEYS) is None
    assert unseal("refs", ref, SeedKeys({1: NEW})) is None


def test_references_survive_a_new_key_while_the_old_one_is_kept() -> None:
    ref = seal("refs", ID, KEYS)
    rotated = SeedKeys({1: OLD, 2: NEW})

    assert unseal("refs", ref, rotated) == ID
    assert seal("refs", ID, rotated) != ref
    assert unseal("refs", ref, SeedKeys({2: NEW})) is None


def test_positions_in_every_list_fit_into_a_sealed_cursor() -> None:
    for place in ("9", f"127.{10**12}.{ID}", f"{10**12}#{'x' * 100}", ID):
        cursor = seal("cursors", place, KEYS)

        assert re.fullmatch(SEALED_CURSOR, cursor)
        assert unseal("cursors", cursor, KEYS) == place
