from collections.abc import Sequence

from redpacket.platform.user import User
from redpacket.users.ports import Profile
from redpacket.users.use_cases.cached_profiles import KEPT_MS, CachedProfiles
from testing.fakes import FakeClock


class _Profiles:
    """Profiles of every user whose id begins with "n"; records the requested ids."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        self.requests.append(list(user_ids))
        return {user: Profile(user, user.upper()) for user in user_ids if user.startswith("n")}

    def list_users(self, user_ids: Sequence[str]) -> dict[str, User]:
        raise AssertionError(user_ids)

    def put(self, profile: Profile) -> None:
        raise AssertionError(profile)

    def list_unnoted(self, users: Sequence[User]) -> list[User]:
        raise AssertionError(users)

    def note(self, person: User, said_at_ms: int) -> None:
        raise AssertionError(person, said_at_ms)

    def erase(self, user_id: str, now_ms: int) -> None:
        raise AssertionError(user_id, now_ms)

    def find_erased_at_ms(self, user_id: str) -> int:
        raise AssertionError(user_id)


def test_profiles_are_read_once_per_interval() -> None:
    clock, store = FakeClock(), _Profiles()
    profiles = CachedProfiles(store, clock=clock)

    first = profiles.list_profiles(["ned", "nan", "ned"])
    clock.at_ms += KEPT_MS - 1
    second = profiles.list_profiles(["nan", "ned", "nil"])

    assert set(first) == {"ned", "nan"}
    assert set(second) == {"ned", "nan", "nil"}
    assert store.requests == [["ned", "nan"], ["nil"]]


def test_a_row_that_was_just_written_is_missing_only_briefly() -> None:
    store = _Profiles()
    profiles = CachedProfiles(store, clock=FakeClock())

    profiles.list_profiles(["ann"])
    profiles.list_profiles(["ann"])

    assert store.requests == [["ann"], ["ann"]]


def test_a_new_nickname_is_shown_after_some_seconds() -> None:
    clock, store = FakeClock(), _Profiles()
    profiles = CachedProfiles(store, clock=clock)
    profiles.list_profiles(["ned"])

    clock.at_ms += KEPT_MS
    profiles.list_profiles(["ned"])

    assert store.requests == [["ned"], ["ned"]]
