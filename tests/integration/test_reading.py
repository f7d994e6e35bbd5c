"""What everybody may read: record pages, their own lists and books; never who somebody is."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

import redpacket
from local.stack import Stack
from redpacket.adapters.dynamo import keys
from redpacket.adapters.dynamo.client import to_wire
from redpacket.domain.ledger import send_id, user_account
from tests.integration.conftest import Eventually, Invoke, MakeUser, User

Settled = Callable[[str], dict[str, Any]]


@pytest.fixture
def settled(a_user: MakeUser, eventually: Eventually) -> Settled:
    """Wait until everybody who took a share of a packet has the money; return the record."""
    reader = a_user()

    def wait(packet_id: str) -> dict[str, Any]:
        def is_settled() -> dict[str, Any] | None:
            record = reader.record(packet_id)
            done = all(claim["payout"] == "settled" for claim in record["claims"])
            return record if done else None

        record: dict[str, Any] = eventually(is_settled)
        return record

    return wait


def _grab_all(packet_id: str, takers: list[User]) -> list[dict[str, Any]]:
    return [taker.grab(packet_id).json() for taker in takers]


# ---------------------------------------------------------------- the record page


def test_a_record_page_tells_everything_about_a_packet(
    a_user: MakeUser, eventually: Eventually
) -> None:
    sender = a_user(funds_fen=1000, nickname="Sender")
    taker, reader = a_user(nickname="Taker"), a_user()
    sent = sender.send(total_fen=1000, count=4, greeting=" 新年好 ").json()
    claim = taker.grab(sent["packet_id"]).json()

    record = reader.record(sent["packet_id"])

    assert record["sender"]["nickname"] == "Sender"
    assert record["sender"]["user_token"] == sender.http.get("/me").json()["user_token"]
    assert record["greeting"] == "新年好"
    same = ["packet_id", "kind", "split", "opening", "total_fen", "count", "commitment"]
    same += ["created_at_ms", "expires_at_ms"]
    assert {name: record[name] for name in same} == {name: sent[name] for name in same}
    assert record["status"] == "open"
    assert (record["claimed_count"], record["remaining_count"]) == (1, 3)
    assert record["claimed_fen"] == claim["amount_fen"]
    assert record["refunded_fen"] == 0
    absent = ["emptied_in_ms", "closed_at_ms", "luckiest", "mine", "next"]
    assert [record[name] for name in absent] == [None] * 5
    (shown,) = record["claims"]
    assert shown["share_no"] == claim["share_no"]
    assert shown["amount_fen"] == claim["amount_fen"]
    assert shown["claimed_at_ms"] == claim["claimed_at_ms"]
    assert shown["is_luckiest"] is False
    # What only the token says is shown once the claim is settled.
    eventually(lambda: reader.record(sent["packet_id"])["claims"][0]["nickname"] == "Taker")


def test_a_record_page_shows_the_viewer_their_own_claim(a_user: MakeUser) -> None:
    takers = [a_user(), a_user()]
    packet_id = a_user(funds_fen=1000).send().json()["packet_id"]
    claims = _grab_all(packet_id, takers)

    mine = [taker.record(packet_id)["mine"] for taker in takers]

    assert [own["share_no"] for own in mine] == [claim["share_no"] for claim in claims]
    assert [own["amount_fen"] for own in mine] == [claim["amount_fen"] for claim in claims]


def test_a_record_page_comes_in_pages_of_claims(a_user: MakeUser, eventually: Eventually) -> None:
    takers = [a_user() for _ in range(5)]
    sender = a_user(funds_fen=1000)
    packet_id = sender.send(count=5).json()["packet_id"]
    _grab_all(packet_id, takers)
    # A payout between two reads would change what they show.
    eventually(lambda: {one["payout"] for one in sender.record(packet_id)["claims"]} == {"settled"})
    pages = []
    cursor: str | None = "0"

    while cursor is not None:
        query = {"limit": "2", "cursor": cursor}
        pages.append(sender.http.get(f"/packets/{packet_id}", params=query).json())
        cursor = pages[-1]["next"]

    numbers = [[claim["share_no"] for claim in page["claims"]] for page in pages]
    assert numbers == [[1, 2], [3, 4], [5]]
    whole = sender.record(packet_id)
    assert [claim for page in pages for claim in page["claims"]] == whole["claims"]
    assert {page["claimed_fen"] for page in pages} == {1000}
    assert all(page["luckiest"] == whole["luckiest"] for page in pages)


def test_a_full_last_page_is_the_last(a_user: MakeUser) -> None:
    takers = [a_user(), a_user()]
    packet_id = a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    _grab_all(packet_id, takers)

    page = takers[0].http.get(f"/packets/{packet_id}", params={"limit": 2}).json()
    beyond = takers[0].http.get(f"/packets/{packet_id}", params={"cursor": 2}).json()

    assert (len(page["claims"]), page["next"]) == (2, None)
    assert (beyond["claims"], beyond["next"]) == ([], None)
    assert beyond["mine"] == takers[0].record(packet_id)["mine"]


def test_a_record_page_that_did_not_change_is_not_sent_again(a_user: MakeUser) -> None:
    reader, taker = a_user(), a_user()
    path = "/packets/" + a_user(funds_fen=1000).send().json()["packet_id"]
    first = reader.http.get(path)
    etag = first.headers["etag"]

    same = reader.http.get(path, headers={"If-None-Match": etag})
    same_of_several = reader.http.get(path, headers={"If-None-Match": f'"other", {etag}'})
    other = reader.http.get(path, headers={"If-None-Match": '"other"'})
    taker.grab(path.rpartition("/")[2])
    changed = reader.http.get(path, headers={"If-None-Match": etag})

    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == etag
    assert same_of_several.status_code == 304
    assert (other.status_code, other.json()) == (200, first.json())
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag
    assert "private" in first.headers["cache-control"]


def test_two_viewers_of_one_page_have_two_entity_tags(a_user: MakeUser) -> None:
    taker, reader = a_user(), a_user()
    path = "/packets/" + a_user(funds_fen=1000).send().json()["packet_id"]
    taker.grab(path.rpartition("/")[2])

    tags = {user.http.get(path).headers["etag"] for user in (taker, reader)}

    assert len(tags) == 2


def test_the_luckiest_is_named_once_the_last_share_is_taken(a_user: MakeUser) -> None:
    takers = [a_user(nickname=name) for name in ("Ann", "Bob", "Cy")]
    sender = a_user(funds_fen=1000)
    packet_id = sender.send(count=3).json()["packet_id"]
    seen = []

    for taker in takers:
        taker.grab(packet_id)
        seen.append(sender.record(packet_id))

    assert [record["luckiest"] for record in seen[:2]] == [None, None]
    assert not any(claim["is_luckiest"] for record in seen[:2] for claim in record["claims"])
    emptied = seen[-1]
    best = max(emptied["claims"], key=lambda claim: claim["amount_fen"])
    assert emptied["luckiest"] == best
    assert [claim["is_luckiest"] for claim in emptied["claims"]].count(True) == 1
    assert best["is_luckiest"]
    assert emptied["status"] == "emptied"
    assert emptied["emptied_in_ms"] > 0


def test_a_packet_that_expired_has_a_luckiest_among_those_who_came(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually, settled: Settled
) -> None:
    taker, sender = a_user(), a_user(funds_fen=1000)
    sent = sender.send(count=3, expires_in_s=3).json()
    claim = taker.grab(sent["packet_id"]).json()
    settled(sent["packet_id"])
    eventually(lambda: time.time() * 1000 > sent["expires_at_ms"])

    def closed() -> dict[str, Any] | None:
        invoke("ExpireFunction", {"source": "aws.events"})
        record = sender.record(sent["packet_id"])
        return record if record["status"] == "closed" else None

    record = eventually(closed)

    assert record["luckiest"]["amount_fen"] == claim["amount_fen"]
    assert record["closed_at_ms"] >= record["expires_at_ms"]
    assert record["emptied_in_ms"] is None
    assert record["refunded_fen"] == 1000 - claim["amount_fen"]
    assert (record["claimed_count"], record["remaining_count"]) == (1, 2)
    assert taker.http.get("/me/received").json()["luckiest_count"] == 1


def test_an_equal_packet_has_equal_shares_and_no_luckiest(
    a_user: MakeUser, settled: Settled
) -> None:
    takers = [a_user() for _ in range(3)]
    sender = a_user(funds_fen=999)
    sent = sender.send(kind="equal", total_fen=999, count=3).json()

    claims = _grab_all(sent["packet_id"], takers)

    assert sent["split"] == "equal"
    assert [claim["amount_fen"] for claim in claims] == [333] * 3
    record = settled(sent["packet_id"])
    assert record["status"] == "emptied"
    assert record["luckiest"] is None
    assert not any(claim["is_luckiest"] for claim in record["claims"])
    assert [taker.balance_fen() for taker in takers] == [333] * 3
    assert takers[0].http.get("/me/received").json()["luckiest_count"] == 0


@pytest.mark.parametrize("kind", ["equal", "lucky"])
@pytest.mark.parametrize("total_fen", [1, 20_000])
def test_one_share_is_the_whole_total(
    a_user: MakeUser, settled: Settled, kind: str, total_fen: int
) -> None:
    taker, sender = a_user(), a_user(funds_fen=total_fen)
    packet_id = sender.send(kind=kind, total_fen=total_fen, count=1).json()["packet_id"]

    claim = taker.grab(packet_id).json()

    assert (claim["share_no"], claim["amount_fen"]) == (1, total_fen)
    assert settled(packet_id)["status"] == "emptied"
    assert (sender.balance_fen(), taker.balance_fen()) == (0, total_fen)


def test_a_sender_may_take_a_share_of_their_own_packet(a_user: MakeUser, settled: Settled) -> None:
    sender = a_user(funds_fen=1000)
    packet_id = sender.send(count=1).json()["packet_id"]

    claim = sender.grab(packet_id).json()

    assert claim["amount_fen"] == 1000
    settled(packet_id)
    assert sender.balance_fen() == 1000


@pytest.mark.parametrize("body", ["", "{}", '{"passphrase": "芝麻开门"}', '{"passphrase": null}'])
def test_a_passphrase_for_a_packet_without_one_is_ignored(a_user: MakeUser, body: str) -> None:
    packet_id = a_user(funds_fen=100).send(total_fen=100, count=1).json()["packet_id"]

    answer = a_user().http.post(f"/packets/{packet_id}/grab", content=body.encode())

    assert answer.status_code == httpx.codes.OK, answer.text


# ---------------------------------------------------------------- who I am


def test_a_new_user_has_a_name_and_no_money(a_user: MakeUser) -> None:
    me = a_user().http.get("/me").json()

    assert me["balance_fen"] == 0
    assert me["avatar_url"] is None
    assert me["nickname"] == f"用户{me['user_token'][:4]}"


def test_a_user_is_named_by_the_token_until_they_choose(a_user: MakeUser) -> None:
    user = a_user(nickname="From the token")
    before = user.http.get("/me").json()

    edited = user.http.put("/me/profile", json={"nickname": "Chosen"})

    assert before["nickname"] == "From the token"
    assert edited.status_code == httpx.codes.OK
    assert edited.json() == {**before, "nickname": "Chosen"}
    assert user.http.get("/me").json() == edited.json()


def test_a_profile_shows_wherever_its_user_is_shown(a_user: MakeUser) -> None:
    sender, taker = a_user(funds_fen=100), a_user(nickname="From the token")
    packet_id = sender.send(total_fen=100, count=1).json()["packet_id"]
    taker.grab(packet_id)
    profiles: list[dict[str, str | None]] = [
        {"nickname": "发红包的人", "avatar_url": "https://images.example/a.png?size=64"},
        {"nickname": "👍🏽" * 32, "avatar_url": None},
    ]

    for user, profile in zip((sender, taker), profiles, strict=True):
        assert user.http.put("/me/profile", json=profile).status_code == httpx.codes.OK

    record = taker.record(packet_id)
    for shown, profile in [
        (record["sender"], profiles[0]),
        (record["claims"][0], profiles[1]),
        (record["luckiest"], profiles[1]),
        (record["mine"], profiles[1]),
    ]:
        assert shown.items() >= profile.items()


def test_a_profile_is_replaced_as_a_whole(a_user: MakeUser) -> None:
    user = a_user()
    user.http.put("/me/profile", json={"nickname": "A", "avatar_url": "https://a.example/"})

    user.http.put("/me/profile", json={"nickname": "B"})

    me = user.http.get("/me").json()
    assert (me["nickname"], me["avatar_url"]) == ("B", None)


# ---------------------------------------------------------------- what I sent and received


def test_the_lists_of_sent_and_received_have_the_years_totals(
    a_user: MakeUser, settled: Settled, eventually: Eventually
) -> None:
    year = datetime.now(UTC).year
    sender, taker, other = a_user(funds_fen=3000), a_user(), a_user()
    first = sender.send(total_fen=1000, count=1).json()
    second = sender.send(total_fen=2000, count=2).json()
    _grab_all(first["packet_id"], [taker])
    claims = _grab_all(second["packet_id"], [taker, other])
    settled(first["packet_id"])
    settled(second["packet_id"])

    def sent_and_noted() -> dict[str, Any] | None:
        # Who was the luckiest, and that a packet is empty, is noted just after the last credit.
        page: dict[str, Any] = sender.http.get("/me/sent", params={"year": year}).json()
        return page if {item["status"] for item in page["items"]} == {"emptied"} else None

    sent = eventually(sent_and_noted)
    received = taker.http.get("/me/received", params={"year": year}).json()
    before = taker.http.get("/me/received", params={"year": year - 1}).json()

    assert [item["packet_id"] for item in sent["items"]] == [
        second["packet_id"],
        first["packet_id"],
    ]
    assert [item["total_fen"] for item in sent["items"]] == [2000, 1000]
    assert [item["at_ms"] for item in sent["items"]] == [
        second["created_at_ms"],
        first["created_at_ms"],
    ]
    assert (sent["total_fen"], sent["count"], sent["next"]) == (3000, 2, None)
    amounts = [item["amount_fen"] for item in received["items"]]
    assert amounts == [claims[0]["amount_fen"], 1000]
    assert (received["total_fen"], received["count"]) == (sum(amounts), 2)
    is_luckiest = claims[0]["amount_fen"] >= claims[1]["amount_fen"]
    assert received["luckiest_count"] == 1 + is_luckiest
    assert before == {"items": [], "total_fen": 0, "count": 0, "luckiest_count": 0, "next": None}
    assert sender.http.get("/me/sent").json() == sent


def test_the_list_of_sent_comes_in_pages_of_twenty(a_user: MakeUser) -> None:
    sender = a_user(funds_fen=52)
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(lambda _: sender.send(total_fen=1, count=1), range(52)))
    ids = {answer.json()["packet_id"] for answer in answers}

    first = sender.http.get("/me/sent").json()
    second = sender.http.get("/me/sent", params={"cursor": first["next"]}).json()
    third = sender.http.get("/me/sent", params={"cursor": second["next"]}).json()
    unknown = sender.http.get("/me/sent", params={"cursor": "A" * 22})

    assert [len(page["items"]) for page in (first, second, third)] == [20, 20, 12]
    assert third["next"] is None
    assert {item["packet_id"] for page in (first, second, third) for item in page["items"]} == ids
    assert [page["total_fen"] for page in (first, second, third)] == [52, 52, 52]
    assert unknown.status_code == httpx.codes.UNPROCESSABLE_ENTITY


def test_a_book_shows_what_came_and_went_newest_first(a_user: MakeUser, settled: Settled) -> None:
    user = a_user(funds_fen=1000)
    packet_id = user.send(total_fen=300, count=1).json()["packet_id"]
    user.grab(packet_id)
    settled(packet_id)

    book = user.http.get("/me/transfers").json()

    assert [(item["kind"], item["amount_fen"]) for item in book["items"]] == [
        ("settle", 300),
        ("send", -300),
        ("deposit", 1000),
    ]
    packet, deposit = f"packet:{packet_id}", "deposit"
    assert [item["counterparty"] for item in book["items"]] == [packet, packet, deposit]
    times = [item["at_ms"] for item in book["items"]]
    assert times == sorted(times, reverse=True)
    assert len({item["transfer_id"] for item in book["items"]}) == 3
    assert book["next"] is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_a_book_comes_in_pages(a_user: MakeUser, limit: int) -> None:
    user = a_user(funds_fen=3)
    for _ in range(3):
        user.send(total_fen=1, count=1)
    whole = user.http.get("/me/transfers").json()["items"]
    pages = []
    query: dict[str, Any] = {"limit": limit}

    while True:
        page = user.http.get("/me/transfers", params=query).json()
        pages.append(page["items"])
        if page["next"] is None:
            break
        query["cursor"] = page["next"]

    assert [item for items in pages for item in items] == whole
    assert len(whole) == 4
    assert len(pages) == -(-4 // limit)


def test_a_cursor_of_another_user_shows_only_my_own_book(a_user: MakeUser) -> None:
    rich, poor = a_user(funds_fen=2), a_user(funds_fen=5)
    rich.send(total_fen=1, count=1)
    cursor = rich.http.get("/me/transfers", params={"limit": 1}).json()["next"]

    shown = poor.http.get("/me/transfers", params={"cursor": cursor}).json()["items"]

    assert {item["amount_fen"] for item in shown} <= {5}


# ---------------------------------------------------------------- ids of others are never shown


def test_no_answer_names_a_user_by_their_id(
    a_user: MakeUser, operator: User, settled: Settled
) -> None:
    secret = "internal-id-of"
    users = [a_user(f"{secret}-{name}", funds_fen=1000) for name in ("ann", "bob", "cy")]
    sent = [user.send(total_fen=1000, count=2) for user in users]
    packet_ids = [answer.json()["packet_id"] for answer in sent]
    grabs = [user.grab(packet_id) for packet_id in packet_ids for user in users]
    for packet_id in packet_ids:
        settled(packet_id)

    answers = [*sent, *grabs]
    for user in [*users, a_user()]:
        answers += [user.http.get(f"/packets/{packet_id}") for packet_id in packet_ids]
        answers += [
            user.http.get(f"/me{path}") for path in ("", "/sent", "/received", "/transfers")
        ]
        answers += [user.send(total_fen=10**6), user.grab("A" * 22)]
    answers += [operator.http.get(f"/admin/packets/{packet_id}/audit") for packet_id in packet_ids]
    deposit = {"user": users[0].host_id, "amount_fen": 1}
    answers.append(operator.post("/admin/deposits", deposit))

    for answer in answers:
        assert secret not in answer.text
        assert secret not in str(answer.headers)


def test_public_tokens_are_stable_different_and_of_one_length(a_user: MakeUser) -> None:
    users = [a_user("a"), a_user("short-id"), a_user("a" * 20)]

    tokens = [user.http.get("/me").json()["user_token"] for user in users]
    again = [user.http.get("/me").json()["user_token"] for user in users]

    assert tokens == again
    assert len(set(tokens)) == 3
    assert len({len(token) for token in tokens}) == 1


# ---------------------------------------------------------------- operators and everybody


def test_an_audit_of_a_sound_packet_finds_nothing(
    a_user: MakeUser, operator: User, settled: Settled
) -> None:
    packet_id = a_user(funds_fen=1000).send().json()["packet_id"]
    a_user().grab(packet_id)
    settled(packet_id)

    audit = operator.http.get(f"/admin/packets/{packet_id}/audit")

    assert audit.status_code == httpx.codes.OK
    assert audit.json() == {"ok": True, "differences": []}


def test_an_audit_finds_one_fen_too_much(
    stack: Stack, dynamodb: Any, a_user: MakeUser, operator: User
) -> None:
    sender = a_user(funds_fen=1000)
    packet = sender.send().json()
    packet_id, account = packet["packet_id"], user_account(sender.user_id)

    def plant(fen: int) -> None:
        key = keys.entry(account, packet["created_at_ms"], send_id(packet_id))
        dynamodb.update_item(
            TableName=stack.outputs["AccountsTable"],
            Key=to_wire(key),
            UpdateExpression="ADD amount_fen :fen",
            ExpressionAttributeValues={":fen": {"N": str(fen)}},
        )

    plant(1)
    audit = operator.http.get(f"/admin/packets/{packet_id}/audit").json()
    plant(-1)

    assert audit["ok"] is False
    found = {difference["rule"]: difference for difference in audit["differences"]}
    assert found.keys() == {"I1"}
    assert found["I1"]["expected"].startswith("-1000 fen")
    assert found["I1"]["actual"].startswith("-999 fen")

    assert operator.http.get(f"/admin/packets/{packet_id}/audit").json()["ok"] is True


def test_health_needs_no_token(stack: Stack) -> None:
    answer = httpx.get(f"{stack.api}/health", trust_env=False)

    assert answer.status_code == httpx.codes.OK
    assert answer.json() == {"status": "ok", "version": redpacket.__version__}
