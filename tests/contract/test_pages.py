"""Suite for reads of record pages, on the fake and on the AWS emulator."""

from collections.abc import Sequence
from dataclasses import replace

from redpacket.campaigns.model import AmountsShown
from redpacket.packets.model.claim import Share, ShareRef, ShareStatus
from redpacket.packets.model.packet import PacketStatus, partition_count
from redpacket.packets.model.thanks import Thanks
from redpacket.packets.ports import Settled
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_packet_id, list_shares
from tests.contract.tables import PAID_MS, Books


def _shares(packet_id: str, claimed: Sequence[int], refunded: Sequence[int] = ()) -> list[Share]:
    """Return shares by number; a final page has a claim's time, but not its settlement time."""
    claims = [
        Share(
            packet_id,
            number,
            ShareStatus.CLAIMED,
            100 + number,
            NOW_MS + number,
            User(f"user-{number}", "阿明" if number % 2 else None),
            settled_at_ms=NOW_MS + number,
        )
        for number in claimed
    ]
    refunds = [
        Share(packet_id, number, ShareStatus.REFUNDED, 100 + number, PAID_MS) for number in refunded
    ]
    return sorted([*claims, *refunds], key=lambda share: share.share_no)


def _paged(books: Books, packet_id: str, limit: int) -> tuple[list[Share], list[int]]:
    """Return all claims on the final pages, and their cursors."""
    shares: list[Share] = []
    cursors: list[int] = []
    after_no: int | None = 0
    while after_no is not None:
        page, after_no = books.pages.list_final(packet_id, after_no, limit)
        shares += page
        assert len(page) <= limit
        if after_no is not None:
            cursors.append(after_no)
        assert len(cursors) == len(set(cursors))
    return shares, cursors


def test_thanks_are_stored_once_for_each_share_and_read_in_any_order(books: Books) -> None:
    packet_id, other_id = a_packet_id(), a_packet_id()
    thanks, given = books.pages.thanks, Thanks("🙏")
    some = [ShareRef(packet_id, number) for number in (1, 100, 101, 250)]

    stored = [thanks.put(ref, given) for ref in some]
    again = thanks.put(some[1], Thanks("🎉"))

    assert (stored, again) == ([given] * 4, given)
    unordered = [some[3], ShareRef(packet_id, 2), some[0], some[2]]
    assert thanks.find(unordered) == dict.fromkeys([some[3], some[0], some[2]], given)
    assert thanks.find([ShareRef(other_id, 1)]) == thanks.find([]) == {}


def test_thanks_are_stored_once_and_stay_removed(
    books: Books,
) -> None:
    packet_id, thanks = a_packet_id(), books.pages.thanks
    both, alone, plain = (ShareRef(packet_id, number) for number in (1, 102, 3))
    given = {both: Thanks("🎉", "谢谢老板"), alone: Thanks(None, "+1"), plain: Thanks("🙏")}
    for ref, each in given.items():
        assert [thanks.put(ref, each) for _ in range(2)] == [each, each]

    refused = [
        thanks.put(both, Thanks("🎉", "another")),
        thanks.put(both, Thanks("🎉")),
        thanks.put(plain, Thanks("🙏", "later")),
    ]
    before = thanks.find(given)
    for _ in range(2):
        thanks.remove_texts([*given, ShareRef(packet_id, 4)])
    repeated = thanks.put(both, given[both])

    assert refused == [given[both], Thanks("🎉", ""), given[plain]]
    assert before == given
    assert repeated == Thanks("🎉", "")
    assert thanks.find(given, is_strong=True) == {
        both: Thanks("🎉", ""),
        alone: Thanks(None, ""),
        plain: given[plain],
    }


def test_final_pages_are_read_by_number(books: Books) -> None:
    packet_id = a_packet_id()
    refunded = (1, 7, 50, 51, 130)
    shares = _shares(packet_id, [no for no in range(1, 131) if no not in refunded], refunded)
    books.pages.put_final(packet_id, shares)

    for limit in (1, 30, 50, 100, 500):
        actual, cursors = _paged(books, packet_id, limit)
        assert actual == [share for share in shares if share.status is ShareStatus.CLAIMED]
        assert all(cursor > 0 for cursor in cursors)


def test_final_pages_of_a_sharded_packet_are_read_by_partition(books: Books) -> None:
    packet_id = a_packet_id(shards=2)
    partitions = partition_count(packet_id)
    shares = _shares(packet_id, range(1, 501, 2), range(2, 501, 2))
    books.pages.put_final(packet_id, shares)

    assert partitions == 16
    claims = [share for share in shares if share.status is ShareStatus.CLAIMED]
    claims.sort(key=lambda share: ((share.share_no - 1) % partitions, share.share_no))
    for limit in (1, 50, 100):
        assert _paged(books, packet_id, limit)[0] == claims


def test_the_shards_of_a_packet_write_separate_pages(books: Books) -> None:
    packet_id = a_packet_id(shards=2)
    odd = _shares(packet_id, range(1, 40, 2))
    even = _shares(packet_id, range(2, 41, 2))

    books.pages.put_final(packet_id, even)
    books.pages.put_final(packet_id, odd)

    shares, _ = _paged(books, packet_id, 7)
    assert sorted(share.share_no for share in shares) == list(range(1, 41))


def test_a_page_reads_few_empty_partitions_and_the_next_one_continues_there(books: Books) -> None:
    packet_id = a_packet_id(shards=2)
    _, claim = shares = _shares(packet_id, [8], [1])
    books.pages.put_final(packet_id, shares)

    assert books.pages.list_final(packet_id, 0, 50) == ([], -2)
    assert books.pages.list_final(packet_id, -6, 50) == ([claim], -8)


def test_a_page_ends_with_the_partition_that_filled_a_row(books: Books) -> None:
    packet_id = a_packet_id(shards=2)
    books.pages.put_final(packet_id, _shares(packet_id, [*range(1, 1 + 16 * 60, 16), 2]))

    page, after_no = books.pages.list_final(packet_id, 0, 100)

    assert (len(page), after_no) == (60, -1)


def test_final_pages_are_written_once(books: Books) -> None:
    packet_id = a_packet_id()
    shares = _shares(packet_id, range(1, 61))

    books.pages.put_final(packet_id, shares)
    books.pages.put_final(packet_id, shares)
    books.pages.put_final(packet_id, [replace(share, amount_fen=1) for share in shares])

    assert _paged(books, packet_id, 100)[0] == shares


def test_a_packet_without_claims_has_no_claims_to_page(books: Books) -> None:
    packet_id = a_packet_id()
    books.pages.put_final(packet_id, _shares(packet_id, [], [1, 2]))

    assert books.pages.list_final(packet_id, 0, 50) == ([], None)


def test_final_pages_are_ordered_by_share(books: Books) -> None:
    packet = books.sent(count=64, shards=2)
    for number in (1, 17, 2, 33, 8, 24):
        books.claimed(packet, number)
    shares = list_shares(books.packets, packet.packet_id)
    books.pages.put_final(packet.packet_id, shares)

    some, after_no = books.packets.list_some_shares(packet.packet_id, 0, 2)
    assert after_no is not None
    rest, _ = books.pages.list_final(packet.packet_id, after_no, 50)
    tail, _ = books.pages.list_final(packet.packet_id, -6, 50)

    assert [share.share_no for share in some] == [1, 17]
    assert [share.share_no for share in rest] == [33, 2]
    assert [share.share_no for share in tail] == [8, 24]


# ---- sums of large packets


def test_sums_of_settled_claims_add_up(books: Books) -> None:
    packet_id, other = a_packet_id(), a_packet_id()
    assert books.pages.find_settled(packet_id) == Settled(0, 0)

    books.pages.add_settled(packet_id, Settled(2, 300))
    books.pages.add_settled(packet_id, Settled(1, 7))
    books.pages.add_settled(other, Settled(5, 5))

    assert books.pages.find_settled(packet_id) == Settled(3, 307)


# ---- eventually consistent reads of packets


def test_packets_are_read(books: Books) -> None:
    packet = books.sent(amounts_shown=AmountsShown.END, cover_url="https://a.example/1.png")
    other = books.sent()
    unknown = a_packet_id()

    assert books.pages.get_eventually_consistent(packet.packet_id) == packet
    assert books.pages.get_eventually_consistent(unknown) is None
    ids = [packet.packet_id, unknown, other.packet_id, packet.packet_id]
    packets = books.pages.list_eventually_consistent(ids)
    assert sorted(packets, key=str) == sorted([packet, other], key=str)
    assert books.pages.list_eventually_consistent([]) == []


def test_a_closed_packet_is_read_with_its_sums(books: Books) -> None:
    packet = books.sent(count=2)
    for number in (1, 2):
        books.settled(packet, number)
    end = books.ended(packet)
    books.ledger.close(packet, end, PAID_MS)

    seen = books.pages.get_eventually_consistent(packet.packet_id)

    assert seen == replace(packet, status=PacketStatus.CLOSED, closed_at_ms=PAID_MS, end=end)
    assert seen.is_emptied


def test_a_packet_that_was_just_sent_is_found_despite_a_stale_read(books: Books) -> None:
    packet = books.sent()
    client = books.client
    calls: list[bool] = []

    class Behind:
        exceptions = client.exceptions

        def get_item(self, *, ConsistentRead: bool, **call: object) -> object:  # noqa: N803
            calls.append(ConsistentRead)
            return client.get_item(ConsistentRead=True, **call) if ConsistentRead else {}

    books.pages._dynamo._client = Behind()

    assert books.pages.get_eventually_consistent(packet.packet_id) == packet
    assert calls == [False, True]
