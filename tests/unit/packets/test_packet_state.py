import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.redis.packet_state import PacketHeads, write_head
from redpacket.packets.split import Split, Terms
from testing.builders import some_terms

MONTH_MS = 30 * 24 * 3600 * 1000

KEY = "rp:4{packet}"
HEADS = PacketHeads(PUBLISHED_SEEDS)

any_terms = st.builds(
    Terms,
    st.sampled_from(Split),
    st.integers(1, 10**12),
    st.integers(1, 1_000_000),
    st.integers(1, 10**9),
    st.integers(1, 10**9),
    st.integers(1, 10_000),
    st.binary(min_size=16, max_size=16),
)


@given(
    any_terms,
    st.integers(1, 1_000_000),
    st.integers(0, 80 * 12 * MONTH_MS),
    st.sampled_from(["", "!", "?", "!?"]),
    st.sampled_from(["", "*", "@a-_Z"]),
    st.sampled_from(["", "|-3,86401000,7,12"]),
)
def test_terms_are_restored_from_a_state(
    terms: Terms, count: int, opens_ms: int, marks: str, proof: str, tail: str
) -> None:
    head = HEADS.write(KEY, terms, count, opens_ms, marks)

    assert HEADS.read(KEY, f"O{head}{proof}{tail}") == (str(terms), marks + proof)
    assert (int(head[:8], 36), int(head[8:12], 36)) == (opens_ms, count)


@pytest.mark.parametrize("split", Split)
def test_a_state_is_short(split: Split) -> None:
    usual = some_terms(20_000, 10, split=split, share_fen_max=20_000)
    longest = some_terms(10**10, 100, split=split, share_fen_min=100, unit_fen=100)

    # A longer value would make Valkey store the hash unpacked. The id of the server's life
    # (lib/life) adds five bytes.
    assert len("O" + HEADS.write(KEY, usual, 10, 2 * MONTH_MS, "!")) + 5 <= 64
    assert len("O" + HEADS.write(KEY, longest, 7, 2 * MONTH_MS, "!?")) <= 72


@given(st.data())
def test_no_letter_of_a_head_can_be_changed(data: st.DataObject) -> None:
    terms = some_terms(20_000, 10)
    head = HEADS.write(KEY, terms, 10, MONTH_MS, "!?")
    at = data.draw(st.integers(0, len(head) - 1))
    letter = data.draw(st.text(max_size=2).filter(lambda text: text != head[at]))
    changed = head[:at] + letter + head[at + 1 :]

    stored = HEADS.read(KEY, f"O{changed}")

    # The rest after the head belongs to the scripts.
    assert stored is None or (stored[0] == str(terms) and stored[1].startswith("!?"))


def test_a_head_is_bound_to_its_key_and_to_its_seed_keys() -> None:
    old, new = SeedKeys({1: "old"}), SeedKeys({1: "old", 2: "new"})
    heads = [PacketHeads(seeds).write(KEY, some_terms(), 10, 0, "") for seeds in (old, new)]

    assert [bool(PacketHeads(new).read(KEY, "O" + head)) for head in heads] == [True, True]
    assert [bool(PacketHeads(old).read(KEY, "O" + head)) for head in heads] == [True, False]
    assert PacketHeads(new).read("rp:4{other}", "O" + heads[1]) is None


def test_a_head_with_an_unknown_split_is_written_again() -> None:
    seeds = SeedKeys({1: "old"})
    head = write_head(some_terms(), 10, 0, "")
    head = f"{head[:12]}z{head[13:]}"
    mac = seeds.sign(f"{KEY}\n{head}")

    assert PacketHeads(seeds).read(KEY, f"O{head[:12]}{mac}{head[12:]}") is None
