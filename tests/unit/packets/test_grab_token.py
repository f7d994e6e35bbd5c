import pytest

from redpacket.packets.errors import GrabTokenInvalid
from redpacket.packets.model.grab_token import check_grab_token, grab_token
from testing.builders import NOW_MS

SEED = b"a seed of 16 b.."
TOKEN = grab_token(SEED, "packet", "ann", NOW_MS)


def test_a_token_is_valid_for_its_user_until_it_ends() -> None:
    check_grab_token(TOKEN, SEED, "packet", "ann", NOW_MS - 1)

    with pytest.raises(GrabTokenInvalid):
        check_grab_token(TOKEN, SEED, "packet", "ann", NOW_MS)


@pytest.mark.parametrize(
    ("packet_id", "user_id", "seed"),
    [("other", "ann", SEED), ("packet", "bob", SEED), ("packet", "ann", b"another seed....")],
)
def test_a_token_is_for_one_user_and_one_packet(packet_id: str, user_id: str, seed: bytes) -> None:
    with pytest.raises(GrabTokenInvalid):
        check_grab_token(TOKEN, seed, packet_id, user_id, NOW_MS - 1)


@pytest.mark.parametrize(
    "token", ["", "x", "=", "é", "AAAA", TOKEN[:-4], TOKEN + "AAAA", "A" * 200]
)
def test_a_malformed_token_is_invalid(token: str) -> None:
    with pytest.raises(GrabTokenInvalid):
        check_grab_token(token, SEED, "packet", "ann", NOW_MS - 1)


def test_a_token_with_a_changed_end_is_invalid() -> None:
    later = grab_token(SEED, "packet", "ann", NOW_MS + 60_000)

    with pytest.raises(GrabTokenInvalid):
        check_grab_token(later[:8] + TOKEN[8:], SEED, "packet", "ann", NOW_MS - 1)
