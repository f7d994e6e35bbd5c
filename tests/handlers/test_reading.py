"""Users' reads of records, thanks, notices, profiles, packet lists and history; audits."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import send_id, user_account
from redpacket.packets.api.claim_schemas import Emoji
from redpacket.platform.errors import Unavailable
from redpacket.users.dynamodb.notices import DynamoNotices
from redpacket.users.model import UserNotice
from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import Eventually, Invoke, MakeUser


def _grab_all(packet_id: str, claimers: list[HttpUser]) -> list[dict[str, Any]]:
    return [claimer.grab(packet_id).json() for claimer in claimers]


# ---------------------------------------------------------------- the record page


def test_a_record_page_has_all_data_of_a_packet(system: InMemorySystem, a_user: MakeUser) -> None:
    sender = a_user(funds_fen=1000, nickname="Sender")
    claimer, reader = a_user(nickname="Taker"), a_user()
    sent = sender.send(total_fen=1000, count=4, greeting=" 新年好 ").json()
    claim = claimer.grab(sent["packet_id"]).json()

    record = reader.record(sent["packet_id"])

    assert record["sender"]["nickname"] == "Sender"
    assert record["sender"]["user_token"] == sender.user_token()
    assert record["greeting"] == "新年好"
    same = ["packet_id", "kind", "split", "opening", "total_fen", "count", "commitment"]
    same += ["created_at_ms", "expires_at_ms"]
    assert {name: record[name] for name in same} == {name: sent[name] for name in same}
    assert record["status"] == "open"
    assert (record["claimed_count"], record["remaining_count"]) == (1, 3)
    assert (record["claimed_fen"], record["refunded_fen"]) == (claim["amount_fen"], 0)
    absent = ["emptied_in_ms", "closed_at_ms", "luckiest", "mine", "next"]
    assert [record[name] for name in absent] == [None] * 5
    (shown,) = record["claims"]
    same = ["share_no", "amount_fen", "claimed_at_ms"]
    assert {name: shown[name] for name in same} == {name: claim[name] for name in same}
    assert shown["is_luckiest"] is False
    assert claimer.record(sent["packet_id"])["mine"]["share_no"] == claim["share_no"]
    # A name from a token is visible once the claim is settled.
    system.settle()
    assert reader.record(sent["packet_id"])["claims"][0]["nickname"] == "Taker"


def test_a_sender_sees_their_packet_before_the_first_claim(
    a_user: MakeUser, sender: HttpUser
) -> None:
    friend = a_user()
    exclusive = {"recipients": [friend.user_token(), a_user().user_token()]}
    cases: list[dict[str, Any]] = [{}, exclusive]
    for rules in cases:
        packet_id = sender.send(count=2, **rules).json()["packet_id"]

        mine, theirs = sender.record(packet_id), friend.record(packet_id)

        assert (mine["is_sender"], theirs["is_sender"]) == (True, False)
        assert (mine["claimed_count"], mine["claims"], mine["mine"]) == (0, [], None)
        assert (mine["status"], mine["remaining_count"]) == ("open", 2)
        assert {**mine, "is_sender": False} == theirs


def test_a_record_page_is_split_into_pages_of_claims(sender: HttpUser, a_user: MakeUser) -> None:
    packet_id = sender.send(count=5).json()["packet_id"]
    claimers = [a_user() for _ in range(5)]
    _grab_all(packet_id, claimers)
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
    # A full last page has no cursor.
    page = claimers[0].http.get(f"/packets/{packet_id}", params={"limit": 5}).json()
    beyond = claimers[0].http.get(f"/packets/{packet_id}", params={"cursor": 5}).json()
    assert (len(page["claims"]), page["next"]) == (5, None)
    assert (beyond["claims"], beyond["next"]) == ([], None)
    assert beyond["mine"] == claimers[0].record(packet_id)["mine"]


def test_an_unchanged_record_page_is_not_sent_again(sender: HttpUser, a_user: MakeUser) -> None:
    reader, claimer = a_user(), a_user()
    path = "/packets/" + sender.send().json()["packet_id"]
    first = reader.http.get(path)
    etag = first.headers["etag"]

    same = reader.http.get(path, headers={"If-None-Match": etag})
    same_of_several = reader.http.get(path, headers={"If-None-Match": f'"other", {etag}'})
    other = reader.http.get(path, headers={"If-None-Match": '"other"'})
    claimer.grab(path.rpartition("/")[2])
    changed = reader.http.get(path, headers={"If-None-Match": etag})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert same_of_several.status_code == 304
    assert (other.status_code, other.json()) == (200, first.json())
    assert (changed.status_code, changed.headers["etag"] != etag) == (200, True)
    assert claimer.http.get(path).headers["etag"] != changed.headers["etag"]
    assert "private" in first.headers["cache-control"]


def test_the_luckiest_is_named_after_the_last_share(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    packet_id = sender.send(count=3).json()["packet_id"]
    seen = []

    for claimer in (a_user() for _ in range(3)):
        system.pass_time(1)
        claimer.grab(packet_id)
        seen.append(sender.record(packet_id))

    assert [record["luckiest"] for record in seen[:2]] == [None, None]
    assert not any(claim["is_luckiest"] for record in seen[:2] for claim in record["claims"])
    emptied = seen[-1]
    best = max(emptied["claims"], key=lambda claim: claim["amount_fen"])
    assert emptied["luckiest"] == best
    assert [claim["is_luckiest"] for claim in emptied["claims"]].count(True) == 1
    assert (best["is_luckiest"], emptied["status"]) == (True, "emptied")
    assert emptied["emptied_in_ms"] > 0


def test_an_expired_packet_has_a_luckiest_among_its_claimers(
    a_user: MakeUser, sender: HttpUser, invoke: Invoke, eventually: Eventually
) -> None:
    claimers, late = [a_user(), a_user()], a_user()
    sent = sender.send(count=3, expires_in_s=3).json()
    claims = _grab_all(sent["packet_id"], claimers)

    def closed() -> dict[str, Any] | None:
        invoke("ExpireFunction", {"source": "aws.events"})
        record = sender.record(sent["packet_id"])
        return record if record["status"] == "closed" else None

    record = eventually(closed)

    amounts = [claim["amount_fen"] for claim in claims]
    assert record["luckiest"]["amount_fen"] == max(amounts)
    assert record["closed_at_ms"] >= record["expires_at_ms"]
    assert record["emptied_in_ms"] is None
    assert record["refunded_fen"] == 1000 - sum(amounts)
    assert (record["claimed_count"], record["remaining_count"]) == (2, 1)
    best = claimers[amounts.index(max(amounts))]
    assert best.http.get("/me/received").json()["luckiest_count"] == 1
    assert late.grab(sent["packet_id"]).json()["code"] == "packet_expired"
    assert best.grab(sent["packet_id"]).json()["outcome"] == "already_claimed"


@pytest.mark.parametrize("count", [1, 3])
def test_one_claim_alone_is_compared_with_nothing_and_has_no_luck(
    system: InMemorySystem, a_user: MakeUser, sender: HttpUser, count: int
) -> None:
    claimer = a_user()
    packet_id = sender.send(count=count, expires_in_s=3).json()["packet_id"]
    claimer.grab(packet_id)
    records = [sender.record(packet_id)]
    system.settle()
    system.pass_time(60_000)
    system.sweep()
    system.pass_time(60_000)
    system.sweep()

    records.append(sender.record(packet_id))
    received = claimer.http.get("/me/received").json()

    assert records[1]["closed_at_ms"] or records[1]["status"] == "emptied"
    assert [record["luckiest"] for record in records] == [None, None]
    assert not any(record["claims"][0]["is_luckiest"] for record in records)
    assert (received["items"][0]["is_luckiest"], received["luckiest_count"]) == (False, 0)


@pytest.mark.parametrize("kind", ["equal", "lucky"])
def test_a_packet_is_paid_out_to_the_fen(
    system: InMemorySystem, a_user: MakeUser, sender: HttpUser, kind: str
) -> None:
    claimers = [a_user() for _ in range(3)]
    sent = sender.send(kind=kind, total_fen=999, count=3).json()

    claims = _grab_all(sent["packet_id"], claimers)
    system.settle()

    record = sender.record(sent["packet_id"])
    amounts_fen = [claim["amount_fen"] for claim in claims]
    assert sum(amounts_fen) == 999
    assert [claimer.balance_fen() for claimer in claimers] == amounts_fen
    assert {claim["payout"] for claim in record["claims"]} == {"settled"}
    if kind == "equal":
        assert (sent["split"], amounts_fen, record["luckiest"]) == ("equal", [333] * 3, None)
        assert claimers[0].http.get("/me/received").json()["luckiest_count"] == 0
    # A sender may take a share of their own packet, and a single share contains the total.
    for total_fen in (1, 20_000):
        own = sender.send(kind=kind, total_fen=total_fen, count=1).json()["packet_id"]
        assert sender.grab(own).json()["amount_fen"] == total_fen
    system.settle()
    assert sender.balance_fen() == 1_000_000 - 999


# ---------------------------------------------------------------- thanks


def test_a_claimer_thanks_the_sender_once_and_all_users_see_it(
    system: InMemorySystem, sender: HttpUser, a_user: MakeUser
) -> None:
    first, second = a_user(), a_user()
    packet_id = sender.send(total_fen=300, count=2).json()["packet_id"]
    share_no = first.grab(packet_id).json()["share_no"]

    thanked = first.thank(packet_id, "🎉")
    again, other = first.thank(packet_id, "🎉"), first.thank(packet_id, "🙏")

    told = {"packet_id": packet_id, "share_no": share_no, "thanks": "🎉", "thanks_text": None}
    assert thanked.json() == again.json() == told
    assert (other.status_code, other.json()["code"]) == (409, "already_thanked")
    assert "🎉" in other.json()["detail"]

    def shown() -> list[str | None]:
        record = sender.record(packet_id)
        feed = sender.http.get(f"/packets/{packet_id}/feed").json()
        thanks = [claim["thanks"] for claim in record["claims"]]
        assert thanks == [claim["thanks"] for claim in feed["claims"]]
        best = record["luckiest"]
        assert best is None or best in record["claims"]
        return thanks

    assert shown() == ["🎉"]
    assert first.record(packet_id)["mine"]["thanks"] == "🎉"
    second.grab(packet_id)
    assert shown() == ["🎉", None]
    # After a packet is closed, its claimers can still add thanks.
    system.settle()
    assert second.thank(packet_id, "❤️").is_success
    assert shown() == ["🎉", "❤️"]


def test_a_user_without_a_share_cannot_send_thanks(sender: HttpUser, a_user: MakeUser) -> None:
    receiver, stranger = a_user(), a_user()
    open_to_all = sender.send(count=2).json()["packet_id"]
    guests = [receiver.user_token(), sender.user_token()]
    exclusive = sender.send(count=2, recipients=guests).json()["packet_id"]
    receiver.grab(open_to_all)

    def refusal(user: HttpUser, packet_id: str, emoji: str = "🙏") -> tuple[int, str]:
        answer = user.thank(packet_id, emoji)
        return answer.status_code, answer.json()["code"]

    assert refusal(stranger, open_to_all) == (403, "forbidden")
    assert refusal(receiver, exclusive) == (403, "forbidden")
    assert refusal(stranger, exclusive) == (404, "packet_not_found")
    assert refusal(receiver, "nowhere") == (404, "packet_not_found")
    assert refusal(receiver, open_to_all, "💩") == (422, "invalid_request")
    message = receiver.thank(open_to_all, "💩").json()["errors"][0]["message"]
    assert all(emoji in message for emoji in get_args(Emoji))
    assert receiver.record(open_to_all)["mine"]["thanks"] is None


def test_thanks_can_have_a_text_which_an_operator_removes_permanently(
    sender: HttpUser, operator: HttpUser, a_user: MakeUser
) -> None:
    claimer = a_user()
    packet_id = sender.send(total_fen=300, count=2).json()["packet_id"]
    share_no = claimer.grab(packet_id).json()["share_no"]
    path = f"/admin/packets/{packet_id}/thanks/{share_no}"
    assert operator.http.delete(path).json()["code"] == "packet_not_found"

    thanked = claimer.thank(packet_id, None, "  谢谢老板 ")
    again, other = claimer.thank(packet_id, None, "谢谢老板"), claimer.thank(packet_id, "🎉")

    told = {"thanks": None, "thanks_text": "谢谢老板"}
    assert thanked.json() == again.json() == {"packet_id": packet_id, "share_no": share_no, **told}
    assert other.json()["detail"] == "You have already thanked the sender with a text."

    def shown() -> list[dict[str, str | None]]:
        record = sender.record(packet_id)
        feed = sender.http.get(f"/packets/{packet_id}/feed").json()
        claims = [*record["claims"], *feed["claims"], claimer.record(packet_id)["mine"]]
        return [{name: claim[name] for name in told} for claim in claims]

    assert shown() == [told] * 3
    assert sender.http.delete(path).json()["code"] == "forbidden"
    removed = [operator.http.delete(path) for _ in range(2)]
    assert [answer.json() for answer in removed] == [
        {"share_no": share_no, "user_token": claimer.user_id}
    ] * 2
    assert shown() == [{"thanks": None, "thanks_text": None}] * 3
    assert claimer.thank(packet_id, None, "谢谢老板").json()["code"] == "already_thanked"
    items = operator.http.get("/admin/journal").json()["items"]
    noted = next(item for item in items if item["action"] == "thanks_removed")
    assert noted["subject"] == f"user:{claimer.user_id}"
    assert "谢谢" not in str(items)
    assert operator.http.delete(f"/admin/packets/{packet_id}/thanks/2").status_code == 404
    assert operator.http.delete(f"/admin/packets/{packet_id}/thanks/no").status_code == 404


def test_a_sender_is_notified_once_of_each_thanks_and_reading_marks_the_notices(
    sender: HttpUser, a_user: MakeUser
) -> None:
    first, second = a_user(), a_user()
    packet_id = sender.send(total_fen=300, count=3).json()["packet_id"]
    for user in (first, second, sender):
        user.grab(packet_id)
    first.thank(packet_id, "🎉", "谢谢老板")
    first.thank(packet_id, "🎉", "谢谢老板")
    second.thank(packet_id, None, "恭喜")
    sender.thank(packet_id, "🙏")

    def unread() -> int:
        return int(sender.http.get("/me").json()["unread_notices"])

    assert unread() == 2
    listed = [sender.http.get("/me/notices").json() for _ in range(2)]

    items = listed[0]["items"]
    assert [(item["kind"], item["packet_id"]) for item in items] == [("thanked", packet_id)] * 2
    # A notice repeats the emoji but not the text, because texts can be removed.
    assert sorted(item.get("text", "") for item in items) == ["", "🎉"]
    assert [page["unread"] for page in listed] == [2, 0]
    assert listed[1]["items"] == items
    assert unread() == 0
    assert first.http.get("/me/notices").json() == {"items": [], "unread": 0, "next": None}


def test_a_repeat_stores_a_notice_of_thanks_that_was_not_stored(
    sender: HttpUser, a_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimer = a_user()
    packet_id = sender.send(total_fen=300, count=3).json()["packet_id"]
    claimer.grab(packet_id)

    def fail(*_: DynamoNotices | UserNotice) -> None:
        raise Unavailable("the ledger")

    with monkeypatch.context() as patched:
        patched.setattr(DynamoNotices, "put", fail)
        interrupted = claimer.thank(packet_id, "🎉")
    repeated = claimer.thank(packet_id, "🎉")

    assert (interrupted.status_code, repeated.status_code) == (503, 200)
    assert [item["text"] for item in sender.http.get("/me/notices").json()["items"]] == ["🎉"]


def test_thanks_for_a_campaign_packet_notify_no_user(
    system: InMemorySystem, a_user: MakeUser
) -> None:
    operator, claimer = a_user(funds_fen=1_000, scope="hongbao/admin"), a_user()
    now_ms = system.clock.now_ms()
    plan = {"title": "gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 60_000}
    plan |= {"budget_fen": 1_000, "status": "on"}
    assert operator.http.put("/admin/campaigns/gala", json=plan).is_success
    packet_id = operator.send(campaign_id="gala").json()["packet_id"]
    claimer.grab(packet_id)

    assert claimer.thank(packet_id, "🎉").is_success

    assert operator.http.get("/me/notices").json()["items"] == []


def test_a_cursor_of_another_list_is_refused(sender: HttpUser) -> None:
    for cursor in ("~", "entry#1", "0000000000001#thanked#"):
        refused = sender.http.get("/me/notices", params={"cursor": cursor})
        assert refused.json()["errors"][0]["field"] == "cursor"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("谢" * 21, "is longer than 20 characters"),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466" * 4,
            "is longer than 80 bytes",
        ),
        ("谢\u202e谢", "contains the invisible character U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("官方客服", "is or looks reserved. Choose another"),
        ("\u0430dmin", "is or looks reserved. Choose another"),
    ],
)
def test_a_text_of_thanks_is_checked_like_a_nickname(
    sender: HttpUser, a_user: MakeUser, text: str, message: str
) -> None:
    claimer = a_user()
    packet_id = sender.send(count=2).json()["packet_id"]
    claimer.grab(packet_id)

    refused = claimer.thank(packet_id, "🙏", text)

    assert refused.json()["errors"] == [{"field": "text", "message": message}]
    assert claimer.thank(packet_id, None).json()["errors"][0]["message"].endswith("is required")
    assert claimer.record(packet_id)["mine"]["thanks"] is None


# ---------------------------------------------------------------- profiles


def test_a_user_has_the_name_in_the_token_until_they_choose_another(a_user: MakeUser) -> None:
    user, new = a_user(nickname="From\u202e the token"), a_user()
    before, me = user.http.get("/me").json(), new.http.get("/me").json()

    edited = user.http.put("/me/profile", json={"nickname": "Chosen"})

    assert (me["balance_fen"], me["avatar_url"]) == (0, None)
    assert me["nickname"] == f"用户{me['user_token'][:4]}"
    assert before["nickname"] == "From the token"
    assert edited.json() == user.http.get("/me").json() == {**before, "nickname": "Chosen"}


def test_a_profile_is_shown_with_its_user_and_is_replaced_as_a_whole(
    a_user: MakeUser, sender: HttpUser
) -> None:
    claimer, other = a_user(nickname="From the token"), a_user()
    packet_id = sender.send(total_fen=100, count=2).json()["packet_id"]
    _grab_all(packet_id, [claimer, other])
    profiles: list[dict[str, str | None]] = [
        {"nickname": "发红包的人", "avatar_url": "https://images.example/a.png?size=64"},
        {"nickname": "👍🏽" * 32, "avatar_url": None},
    ]

    for user, profile in zip((sender, claimer, other), [*profiles, profiles[1]], strict=True):
        assert user.http.put("/me/profile", json=profile).is_success

    record = claimer.record(packet_id)
    assert record["sender"].items() >= profiles[0].items()
    for shown in (record["claims"][0], record["luckiest"], record["mine"]):
        assert shown.items() >= profiles[1].items()
    sender.http.put("/me/profile", json={"nickname": "B"})
    me = sender.http.get("/me").json()
    assert (me["nickname"], me["avatar_url"]) == ("B", None)


# ---------------------------------------------------------------- sent and received packets


def test_the_lists_of_sent_and_received_packets_have_yearly_totals(
    system: InMemorySystem, a_user: MakeUser, sender: HttpUser
) -> None:
    year = datetime.fromtimestamp(system.clock.now_ms() / 1000, UTC).year
    claimer, other = a_user(), a_user()
    first = sender.send(total_fen=1000, count=1).json()
    system.pass_time(1)
    second = sender.send(total_fen=2000, count=2).json()
    _grab_all(first["packet_id"], [claimer])
    claims = _grab_all(second["packet_id"], [claimer, other])
    system.settle()

    sent = sender.http.get("/me/sent", params={"year": year}).json()
    received = claimer.http.get("/me/received", params={"year": year}).json()
    before = claimer.http.get("/me/received", params={"year": year - 1}).json()

    shown = [(item["packet_id"], item["total_fen"], item["at_ms"]) for item in sent["items"]]
    assert shown == [
        (packet["packet_id"], packet["total_fen"], packet["created_at_ms"])
        for packet in (second, first)
    ]
    assert (sent["total_fen"], sent["count"], sent["next"]) == (3000, 2, None)
    amounts = [item["amount_fen"] for item in received["items"]]
    assert sorted(amounts) == sorted([claims[0]["amount_fen"], 1000])
    assert (received["total_fen"], received["count"]) == (sum(amounts), 2)
    is_luckiest = claims[0]["amount_fen"] >= claims[1]["amount_fen"]
    assert received["luckiest_count"] == int(is_luckiest)
    assert before == {"items": [], "total_fen": 0, "count": 0, "luckiest_count": 0, "next": None}
    assert sender.http.get("/me/sent").json() == sent


def test_a_sent_packet_is_listed_with_its_progress(
    system: InMemorySystem, a_user: MakeUser, sender: HttpUser
) -> None:
    first = sender.send(total_fen=1000, count=2, greeting="新年好").json()
    hidden = sender.send(total_fen=1000, count=2, kind="equal", amounts_shown="end").json()
    claimers = [a_user(), a_user()]

    def listed(packet: dict[str, Any]) -> dict[str, Any]:
        items = sender.http.get("/me/sent").json()["items"]
        (item,) = (each for each in items if each["packet_id"] == packet["packet_id"])
        names = ["status", "claimed_count", "claimed_fen"]
        assert (
            item.items() >= {name: packet[name] for name in ("greeting", "kind", "count")}.items()
        )
        record = sender.record(packet["packet_id"])
        assert [item[name] for name in names] == [record[name] for name in names]
        return {name: item[name] for name in names}

    assert listed(first) == {"status": "open", "claimed_count": 0, "claimed_fen": 0}
    amount_fen = claimers[0].grab(first["packet_id"]).json()["amount_fen"]
    claimers[0].grab(hidden["packet_id"])
    assert listed(first) == {"status": "open", "claimed_count": 1, "claimed_fen": amount_fen}
    assert listed(hidden) == {"status": "open", "claimed_count": 1, "claimed_fen": None}
    for packet in (first, hidden):
        claimers[1].grab(packet["packet_id"])
    done = {"status": "emptied", "claimed_count": 2, "claimed_fen": 1000}
    assert listed(first) == listed(hidden) == done
    system.settle()
    assert listed(first) == listed(hidden) == done


def test_a_received_share_is_listed_with_its_sender_and_the_best_luck(
    system: InMemorySystem, a_user: MakeUser, operator: HttpUser
) -> None:
    sender, claimer, other = a_user(funds_fen=3000, nickname="Ann"), a_user(), a_user()
    packets = [
        sender.send(total_fen=1000, count=2, greeting="新年好").json(),
        sender.send(total_fen=1000, count=2, kind="equal").json(),
        sender.send(total_fen=1000, count=2, amounts_shown="end").json(),
    ]
    lucky, equal, hidden = (packet["packet_id"] for packet in packets)

    def listed(user: HttpUser) -> dict[str, dict[str, Any]]:
        system.settle()
        return {item["packet_id"]: item for item in user.http.get("/me/received").json()["items"]}

    avatar_url = "https://images.example/a.png"
    sender.http.put("/me/profile", json={"nickname": "安", "avatar_url": avatar_url})
    for packet_id in (lucky, equal, hidden):
        claimer.grab(packet_id)
    before = listed(claimer)
    mine_fen = before[lucky]["amount_fen"]
    assert before[lucky]["sender"] == {"nickname": "安", "avatar_url": avatar_url}
    assert (before[lucky]["greeting"], before[lucky]["kind"]) == ("新年好", "lucky")
    luck = [before[packet_id]["is_luckiest"] for packet_id in (lucky, equal, hidden)]
    assert luck == [False, False, None]
    for packet_id in (lucky, equal, hidden):
        other.grab(packet_id)
    after = listed(claimer)
    assert after[lucky]["is_luckiest"] is (mine_fen >= 1000 - mine_fen)
    assert after[equal]["is_luckiest"] is False
    assert listed(other)[hidden]["is_luckiest"] is not after[hidden]["is_luckiest"]

    assert operator.http.delete(f"/admin/users/{sender.host_id}").is_success
    system.pass_time(10_001)
    assert listed(claimer)[lucky]["sender"] == {"nickname": None, "avatar_url": None}


def test_the_list_of_sent_packets_has_pages_of_twenty(sender: HttpUser) -> None:
    ids = {sender.send(total_fen=1, count=1).json()["packet_id"] for _ in range(52)}

    first = sender.http.get("/me/sent").json()
    second = sender.http.get("/me/sent", params={"cursor": first["next"]}).json()
    third = sender.http.get("/me/sent", params={"cursor": second["next"]}).json()
    unknown = sender.http.get("/me/sent", params={"cursor": "A" * 22})

    pages = (first, second, third)
    assert [len(page["items"]) for page in pages] == [20, 20, 12]
    assert third["next"] is None
    assert {item["packet_id"] for page in pages for item in page["items"]} == ids
    assert [page["total_fen"] for page in pages] == [52, 52, 52]
    assert unknown.status_code == 422


def test_account_history_shows_credits_and_debits_newest_first_in_pages(
    system: InMemorySystem, a_user: MakeUser
) -> None:
    user, poor = a_user(funds_fen=1000), a_user(funds_fen=5)
    system.pass_time(1)
    packet_id = user.send(total_fen=300, count=1).json()["packet_id"]
    system.pass_time(1)
    user.grab(packet_id)
    system.settle()

    book = user.http.get("/me/transfers").json()

    packet = f"packet:{packet_id}"
    assert [(item["kind"], item["amount_fen"], item["counterparty"]) for item in book["items"]] == [
        ("settle", 300, packet),
        ("send", -300, packet),
        ("deposit", 1000, "deposit"),
    ]
    times = [item["at_ms"] for item in book["items"]]
    assert times == sorted(times, reverse=True)
    assert len({item["transfer_id"] for item in book["items"]}) == 3
    assert book["next"] is None
    for limit in (1, 2, 3, 100):
        pages: list[Any] = []
        query: dict[str, Any] = {"limit": limit}
        while not pages or query["cursor"]:
            page = user.http.get("/me/transfers", params=query).json()
            pages.append(page["items"])
            query["cursor"] = page["next"]
        assert [item for items in pages for item in items] == book["items"]
        assert len(pages) == -(-3 // limit)
    # With another user's cursor, a caller still gets only their own history.
    cursor = user.http.get("/me/transfers", params={"limit": 1}).json()["next"]
    shown = poor.http.get("/me/transfers", params={"cursor": cursor}).json()["items"]
    assert {item["amount_fen"] for item in shown} <= {5}


# ---------------------------------------------------------------- operators


def test_an_audit_finds_one_excess_fen(
    system: InMemorySystem, sender: HttpUser, operator: HttpUser
) -> None:
    packet = sender.send().json()
    packet_id, account = packet["packet_id"], user_account(sender.user_id)
    path = f"/admin/packets/{packet_id}/audit"
    nothing = {"share_count": 0, "unsettled_count": 0, "unsettled_since_ms": None}
    assert operator.http.get(path).json() == {"ok": True, "differences": [], **nothing}
    key = keys.entry(account, packet["created_at_ms"], send_id(packet_id))
    row = system.dynamo.tables["accounts"][key["pk"], key["sk"]]

    row["amount_fen"] = {"N": "-999"}
    audit = operator.http.get(path).json()
    row["amount_fen"] = {"N": "-1000"}

    assert audit["ok"] is False
    (differences,) = audit["differences"]
    assert differences["rule"] == "I1"
    assert differences["expected"].startswith("-1000 fen")
    assert differences["actual"].startswith("-999 fen")
    assert operator.http.get(path).json()["ok"] is True
