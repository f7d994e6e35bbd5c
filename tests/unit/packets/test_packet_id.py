import hmac
import json
import string
from base64 import urlsafe_b64encode
from collections import Counter
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS, PUBLISHED_KEYS
from redpacket.packets.api import packet_ids as edge_ids
from redpacket.packets.api.packet_ids import preheat_cursor_of
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.packet import (
    SHARDS_MAX,
    other_shards,
    partition_count,
    shard_count,
    shard_of_share,
    shard_of_user,
    shards_for,
)
from redpacket.packets.model.packet_id import PacketIds
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest, user_ids
from redpacket.platform.settings import SettingMissing
from testing.builders import a_packet_id

RANDOM = "AbCdEfGhIjKlMnOpQrStUv"
ID = PUBLISHED_IDS.sign(RANDOM)
KEY, OTHER_KEY, THIRD_KEY = "k" * 32, "o" * 32, "t" * 32


def test_an_id_has_a_random_part_a_key_version_and_six_bytes_of_an_hmac() -> None:
    key = PUBLISHED_KEYS.partition(":")[2].encode()

    for steps, cut in ((1, ""), (7, "~7")):
        tag = hmac.digest(key, f"{RANDOM}t{cut}".encode(), "sha256")[:6]
        signed = PUBLISHED_IDS.sign(RANDOM, steps)
        assert signed == f"{RANDOM}t{urlsafe_b64encode(tag).decode()}{cut}"
        assert len(signed) == 31 + len(cut)


def test_an_id_contains_the_number_of_its_shards() -> None:
    for steps in (1, 2, 10, SHARDS_MAX):
        assert shard_count(PUBLISHED_IDS.check(PUBLISHED_IDS.sign(RANDOM, steps))) == steps
    cut = {1: 1, 100: 1, 101: 2, 1_000: 10, 1_000_000: SHARDS_MAX}
    assert {count: shards_for(count, 100) for count in cut} == cut


@pytest.mark.parametrize("place", range(31))
def test_an_id_with_one_changed_character_is_not_found(place: int) -> None:
    for letter in set(string.ascii_letters + string.digits + "-_") - {ID[place]}:
        assert not PUBLISHED_IDS.has_signed(ID[:place] + letter + ID[place + 1 :])


CUTS = "~ ~0 ~1 ~01 ~02 ~2 ~64 ~65 ~100 ~2~2 ~x ~2\n .1"


def test_another_form_or_number_of_shards_is_not_found() -> None:
    forms = ["", RANDOM, ID[:-1], ID + "A", ID + "\n", "{" + ID[1:], "好" * 31]
    of_three = PUBLISHED_IDS.sign(RANDOM, 3).removesuffix("~3")
    forms += [start + cut for cut in CUTS.split(" ") for start in (ID, of_three)]

    for text in forms:
        with pytest.raises(PacketNotFound):
            PUBLISHED_IDS.check(text)


def test_the_first_key_signs_and_all_are_accepted() -> None:
    before = PacketIds.parse(f"1:{KEY}")
    after = PacketIds.parse(f"2:{OTHER_KEY},1:{KEY}")

    assert after.has_signed(before.sign(RANDOM))
    assert after.sign(RANDOM)[22] == "2"
    assert not before.has_signed(after.sign(RANDOM))
    # Each version has its own key.
    assert not PacketIds.parse(f"2:{KEY}").has_signed(after.sign(RANDOM))


@pytest.mark.parametrize(
    ("previous", "version"), [("", "1"), ("1", "2"), ("2,1", "3"), ("9", "a"), ("t,1", "u")]
)
def test_a_key_without_a_version_gets_the_one_after_the_highest(
    previous: str, version: str
) -> None:
    others = [f"{each}:{OTHER_KEY}" for each in previous.split(",") if each]

    assert PacketIds.parse(",".join([KEY, *others])).sign(RANDOM)[22] == version


@pytest.mark.parametrize("keys", [KEY, f"{THIRD_KEY},1:{KEY}"], ids=["dropped", "replaced"])
def test_a_key_whose_version_changes_with_the_earlier_keys_keeps_its_ids(keys: str) -> None:
    packet_id = PacketIds.parse(f"{KEY},1:{OTHER_KEY}").sign(RANDOM)

    assert packet_id[22] == "2"
    assert PacketIds.parse(keys).has_signed(packet_id)


def test_no_previous_keys_leave_an_empty_piece() -> None:
    assert PacketIds.parse(f"1:{KEY},").sign(RANDOM) == PacketIds.parse(f"1:{KEY}").sign(RANDOM)


def test_malformed_keys_are_refused_and_not_quoted() -> None:
    wrong = ["", ",", f":{KEY}", f"{KEY},Z:{OTHER_KEY}", f"12:{KEY}", f"~:{KEY}", "1:short"]
    for keys in (*wrong, f"1:{KEY},1:{OTHER_KEY}"):
        with pytest.raises(ValueError, match="key") as refused:
            PacketIds.parse(keys)
        assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "ids"), [("PACKET_ID_KEYS", edge_ids.packet_ids), ("USER_ID_KEY", user_ids)]
)
@pytest.mark.parametrize("keys", ["", "1:{{resolve:secretsmanager:arn:aws:secretsmanager:x}},"])
def test_a_missing_or_unresolved_key_raises_an_error(
    name: str, ids: Any, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, keys.removeprefix("1:").rstrip(",") if name == "USER_ID_KEY" else keys)
    ids.cache_clear()

    with pytest.raises(SettingMissing, match=name):
        ids()


def test_a_new_id_is_signed_with_the_key_of_the_deployment() -> None:
    first, second = edge_ids.new_packet_id(1), edge_ids.new_packet_id(5)

    assert PUBLISHED_IDS.has_signed(first)
    assert PUBLISHED_IDS.has_signed(second)
    assert second.endswith("~5")
    assert first[:22] != second[:22]


def test_no_new_id_looks_like_a_command_option(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter(["-" + RANDOM[1:], RANDOM])
    monkeypatch.setattr("secrets.token_urlsafe", lambda _: next(made))

    assert edge_ids.new_packet_id(1) == ID


def test_an_invented_id_is_answered_before_the_handler_does_anything() -> None:
    handler, requested = Api(), []

    @handler.route("GET /packets/{packet_id}")
    def read(request: HttpRequest) -> HttpAnswer[dict[str, str]]:
        requested.append(edge_ids.packet_id_of(request))
        return HttpAnswer({})

    def status(packet_id: str) -> tuple[int, str | None]:
        event = {
            "routeKey": "GET /packets/{packet_id}",
            "pathParameters": {"packet_id": packet_id},
            "requestContext": {"requestId": "r"},
        }
        answer = handler(event, None)
        return answer["statusCode"], json.loads(answer["body"]).get("code")

    assert status(RANDOM) == (404, "packet_not_found")
    assert status(ID[:-1] + ("A" if ID[-1] != "A" else "B")) == (404, "packet_not_found")
    assert status(ID)[0] == 200
    assert requested == [ID]


def _cursor(text: str) -> str | None:
    return preheat_cursor_of(HttpRequest({}, {"cursor": text}, {}, {}, b""))


def test_the_cursor_of_a_preheat_names_an_existing_packet() -> None:
    assert _cursor(ID) == ID
    assert _cursor(f"{PUBLISHED_IDS.sign(RANDOM, 9)}.8") is not None
    with pytest.raises(PacketNotFound):
        _cursor(f"{ID}~9.8")
    with pytest.raises(InvalidRequest):
        _cursor("22")


def test_shares_and_users_are_spread_evenly() -> None:
    cut = PUBLISHED_IDS.sign(RANDOM, 7)
    shares = Counter(shard_of_share(cut, number) for number in range(1, 701))
    users = Counter(shard_of_user(cut, f"user-{number}") for number in range(7000))

    assert shares == Counter(dict.fromkeys(range(7), 100))
    assert set(users) == set(range(7))
    assert max(users.values()) < 1.2 * min(users.values())
    assert {shard_of_share(ID, 5), shard_of_user(ID, "ann")} == {0}


def test_a_packet_with_the_maximum_of_shards_has_one_partition_for_each() -> None:
    assert partition_count(a_packet_id(SHARDS_MAX)) == SHARDS_MAX


def test_a_user_tries_each_other_shard_once() -> None:
    packet_id = a_packet_id(5)
    for user_id in ("ann", "bob", "cat", "dan"):
        tried = [shard_of_user(packet_id, user_id), *other_shards(packet_id, user_id)]
        assert sorted(tried) == [0, 1, 2, 3, 4]
