"""Cache lifetime of a packet's feed at the edge, and names on its page."""

from dataclasses import replace

import pytest

from redpacket.containers import containers
from redpacket.packets.api import pages, views
from redpacket.packets.model.packet import PacketEnd
from redpacket.platform.user import User
from redpacket.users.ports import Profile
from testing.builders import a_packet
from testing.fakes import FakeClock


@pytest.mark.parametrize(("age_ms", "age_max_s"), [(0, 1), (10_000, 1), (10_001, 3600)])
def test_a_feed_is_cached_for_long_once_all_replicas_have_its_pages(
    age_ms: int, age_max_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr(containers.platform, "clock", clock)
    packet = replace(a_packet(), end=PacketEnd(), closed_at_ms=clock.now_ms() - age_ms)

    assert pages._feed_caching(packet) == f"public, max-age={age_max_s}"


def test_the_feed_of_an_open_packet_is_cached_for_a_second() -> None:
    assert pages._feed_caching(a_packet()) == "public, max-age=1"


def test_winners_see_their_own_name_before_the_payout_has_stored_it() -> None:
    me, other = User("ann-token", "Ann", "ann"), User("bob-token")
    user_presenter = views.UserPresenter({}, me)

    assert user_presenter.view(User("ann-token"))["nickname"] == "Ann"
    assert user_presenter.view(other)["nickname"] == "用户bob-"
    chosen = views.UserPresenter({"ann-token": Profile("ann-token", "安", None)}, me)
    assert chosen.view(User("ann-token"))["nickname"] == "安"
