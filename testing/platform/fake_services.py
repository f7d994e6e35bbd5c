"""In-memory clock, logger, queue, limits, switches, pictures, and other small services."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from redpacket.operations.model.limits import Limit, LimitName
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.operations.ports import SwitchesSeen, SwitchRow
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.picture import PICTURE_TYPES, Picture
from redpacket.platform.errors import CacheAway, Unavailable
from testing.builders import NOW_MS


class Away:
    """Dependency whose calls all fail or, with *names*, only the calls with these names. Other
    calls go to *kept*; *requests* has the arguments of the failed calls.
    """

    def __init__(
        self, kept: Any = None, *names: str, error: Callable[[str], Exception] = CacheAway
    ) -> None:
        self._known = kept
        self._names = names
        self._error = error
        self.requests: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        if self._names and name not in self._names:
            return getattr(self._known, name)

        def call(*arguments: Any, **_options: Any) -> Any:
            self.requests.append(arguments)
            raise self._error(f"{name} gets no answer")

        return call


class FakeClock:
    """Clock that stands still until a test or a sleep advances it."""

    def __init__(self, at_ms: int = NOW_MS) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self.at_ms += duration_ms


class FakeLogger:
    """Logger that stores events; *lines* has the lines that a real logger would write."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.errors: list[tuple[str, Exception]] = []
        self.lines: list[str] = []
        self.counts: Counter[str] = Counter()

    def event(self, name: str, **details: str | int) -> None:
        self.events.append(name)
        self.lines.append(f"{name} {details}")

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        self.errors.append((name, error))
        # A real logger also writes the causes of an error.
        chain: list[BaseException | None] = [error]
        while cause := chain[-1]:
            chain.append(cause.__cause__ or cause.__context__)
        self.lines.append(f"{name} {details} {chain}")

    def count(self, outcome: str, number: int = 1) -> None:
        self.counts[outcome] += number


class FakeQueue:
    """PayoutQueue backed by a list; *delays_s* has the delay of every message so far."""

    def __init__(self) -> None:
        self.refs: list[ShareRef] = []
        self.delays_s: list[int] = []

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        pending = list(refs)
        self.refs.extend(pending)
        self.delays_s.extend([delay_s] * len(pending))

    def take_all(self) -> list[ShareRef]:
        taken, self.refs = self.refs, []
        return taken


class FakeLimits:
    """Limits that behave like the script, with their own clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._due_ms: dict[tuple[str, str], int] = {}
        self.is_away = False

    def take(self, limit: Limit, subject: str) -> int:
        return self._take([(limit, (limit.name, subject), True)])

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        own, shared = (limit.name, f"{group}:{subject}"), (group_limit.name, group)
        return self._take([(limit, own, True), (group_limit, shared, is_spent)])

    def _take(self, wanted: list[tuple[Limit, tuple[str, str], bool]]) -> int:
        if self.is_away:
            raise Unavailable("the cache does not answer")
        now_ms = self._clock.now_ms()
        due_ms = {
            key: max(now_ms, self._due_ms.get(key, 0)) + limit.interval_ms
            for limit, key, _ in wanted
        }
        wait_ms = max(
            due_ms[key] - now_ms - limit.burst * limit.interval_ms for limit, key, _ in wanted
        )
        if wait_ms <= 0:
            self._due_ms |= {key: due_ms[key] for _, key, is_spent in wanted if is_spent}
        return max(0, wait_ms)


class FakeSwitchStore:
    """SwitchStore backed by a dictionary; counts its reads."""

    def __init__(self) -> None:
        self.states = {switch: SwitchState(switch) for switch in Switch}
        self.limits: dict[LimitName, int] = {}
        self.read_count = 0
        self.error: Exception | None = None

    def read(self) -> SwitchRow:
        self.read_count += 1
        if self.error:
            raise self.error
        return SwitchRow(list(self.states.values()), dict(self.limits))

    def put(self, state: SwitchState) -> None:
        if self.error:
            raise self.error
        self.states[state.switch] = state

    def fix_unit(self) -> None:
        if self.error:
            raise self.error

    def put_limit(self, name: LimitName, value: int | None) -> None:
        if self.error:
            raise self.error
        self.limits.pop(name, None)
        if value is not None:
            self.limits[name] = value

    def turn(self, switch: Switch, *, is_on: bool) -> None:
        self.states[switch] = SwitchState(switch, is_on=is_on)


class FakeSwitchCopy:
    """SwitchCopy whose entry expires by a given clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._seen: SwitchesSeen | None = None
        self._until_ms = 0
        self.is_away = False

    def find(self) -> SwitchesSeen | None:
        self._check()
        return self._seen if self._clock.now_ms() < self._until_ms else None

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        self._check()
        self._seen, self._until_ms = seen, self._clock.now_ms() + for_ms

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the cache does not answer")


class FakeDeadLetters:
    """DeadLetters backed by a number."""

    def __init__(self, dead_count: int) -> None:
        self._dead_count = dead_count

    def count(self) -> int:
        return self._dead_count


class FakeOutcomes:
    """CloudWatchOutcomes backed by a dictionary."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, hours: int) -> dict[str, int]:
        assert hours > 0
        return self.counts


class FakePictures:
    """Pictures backed by a dictionary; *kept* has the ids of the permanent ones."""

    def __init__(self) -> None:
        self._pictures: dict[str, tuple[Picture, str]] = {}
        self.kept: set[str] = set()

    def put(
        self, picture_id: str, picture: Picture, owner_id: str, *, is_kept: bool = False
    ) -> None:
        self._pictures[picture_id] = picture, owner_id
        self.kept |= {picture_id} if is_kept else set()

    def find(self, picture_id: str) -> Picture | None:
        picture, _ = self._pictures.get(picture_id, (None, ""))
        return picture if picture and picture.media_type in PICTURE_TYPES else None

    def owner_of(self, picture_id: str) -> str | None:
        return self._pictures[picture_id][1] if picture_id in self._pictures else None

    def list_ids(self, prefix: str) -> Iterator[str]:
        yield from [each for each in self._pictures if each.startswith(prefix)]

    def keep(self, picture_id: str) -> None:
        self.kept |= {picture_id} & self._pictures.keys()

    def blank(self, picture_id: str) -> None:
        del self._pictures[picture_id]
        self.kept.discard(picture_id)
