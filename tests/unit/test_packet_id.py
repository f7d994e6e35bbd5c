from __future__ import annotations

from collections import Counter

import pytest

from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import (
    PARTS_MAX,
    check_packet_id,
    part_count,
    part_of_share,
    part_of_user,
)

ID = "AbCdEfGhIjKlMnOpQrStUv"


@pytest.mark.parametrize(("cut", "parts"), [("", 1), ("~2", 2), ("~10", 10), ("~64", PARTS_MAX)])
def test_an_id_says_how_many_parts_its_packet_has(cut: str, parts: int) -> None:
    assert part_count(check_packet_id(ID + cut)) == parts


@pytest.mark.parametrize(
    "cut", ["~", "~0", "~1", "~01", "~02", "~65", "~100", "~2~2", "~x", "~2\n"]
)
def test_no_other_number_of_parts_exists(cut: str) -> None:
    with pytest.raises(PacketNotFound):
        check_packet_id(ID + cut)


def test_shares_and_users_are_spread_evenly() -> None:
    shares = Counter(part_of_share(f"{ID}~7", number) for number in range(1, 701))
    users = Counter(part_of_user(f"{ID}~7", f"user-{number}") for number in range(7000))

    assert shares == Counter(dict.fromkeys(range(7), 100))
    assert set(users) == set(range(7))
    assert max(users.values()) < 1.2 * min(users.values())
    assert {part_of_share(ID, 5), part_of_user(ID, "ann")} == {0}
