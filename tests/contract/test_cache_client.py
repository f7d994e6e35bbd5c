"""Commands to one server when connections break, or the server hangs, ends, or is replaced."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis.connection import Connection
from redis.exceptions import BusyLoadingError, OutOfMemoryError, ResponseError

from local.ports import HOST
from redpacket.platform.errors import CacheAway, Unavailable
from redpacket.platform.redis.client import FAILURES, ServerClient
from redpacket.platform.redis.connect import Cache, connection_maker
from testing.platform.servers import Address, OperatorCache, Server, some_servers, wait_for

TIMEOUT_S = 0.3


class Made:
    """Connection maker that counts a client's connections."""

    def __init__(self, port: Callable[[], int]) -> None:
        self.count = 0
        self._port = port
        self._connect_to = connection_maker(
            has_tls=False, username="", password="", timeout_s=TIMEOUT_S
        )

    def __call__(self) -> Connection:
        self.count += 1
        return self._connect_to(HOST, self._port())


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Server]]:
    with some_servers() as start:
        yield start


@pytest.fixture
def made(redis_port: int) -> Made:
    return Made(lambda: redis_port)


def test_one_connection_serves_one_thread(cache: OperatorCache, made: Made) -> None:
    client = ServerClient(made)
    cache.delete("rp:key")

    for number in range(10):
        client.ask("SET", "rp:key", number)

    assert client.ask("GET", "rp:key") == "9"
    assert made.count == 1


def test_threads_receive_their_own_answers(cache: OperatorCache, made: Made) -> None:
    client = ServerClient(made)
    cache.mset({f"rp:{number}": number for number in range(500)})

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda number: client.ask("GET", f"rp:{number}"), range(500)))

    assert answers == [str(number) for number in range(500)]
    assert made.count <= 20


def test_a_server_error_keeps_the_connection(cache: OperatorCache, made: Made) -> None:
    client = ServerClient(made)
    cache.set("rp:key", "text")

    with pytest.raises(ResponseError):
        client.ask("HGET", "rp:key", "field")

    assert client.ask("GET", "rp:key") == "text"
    assert made.count == 1


def test_all_broken_connections_are_replaced_at_once(cache: OperatorCache, made: Made) -> None:
    client = ServerClient(made)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.ask("GET", "rp:key"), range(100)))
    before = made.count

    cache.client_kill_filter(_type="normal", skipme=True)

    assert client.ask("GET", "rp:key") is None
    assert client.ask("GET", "rp:key") is None
    assert made.count == before + 1


def test_an_unreachable_server_is_called_twice() -> None:
    made = Made(lambda: 1)

    with pytest.raises(CacheAway):
        Cache(ServerClient(made)).ask("GET", "rp:key")

    assert made.count == 2


def test_a_late_answer_is_not_returned_for_another_command(start: Callable[..., Server]) -> None:
    server = start()
    made = Made(lambda: server.port)
    cache = Cache(ServerClient(made))
    cache.ask("SET", "rp:first", "first")
    cache.ask("SET", "rp:second", "second")

    server.freeze()
    began_at = time.monotonic()
    with pytest.raises(CacheAway):
        cache.ask("GET", "rp:first")
    took_s = time.monotonic() - began_at
    server.thaw()
    time.sleep(1)  # meanwhile, the client sends no calls to the server

    assert cache.ask("GET", "rp:second") == "second"
    assert 2 * TIMEOUT_S <= took_s < 2 * TIMEOUT_S + 0.2


def test_a_server_that_timed_out_is_not_called_for_a_moment(start: Callable[..., Server]) -> None:
    server = start()
    made = Made(lambda: server.port)
    cache = Cache(ServerClient(made))

    server.freeze()
    for _ in range(5):
        with pytest.raises(CacheAway):
            cache.ask("GET", "rp:key")
    server.thaw()

    assert made.count == 2
    time.sleep(1)
    assert cache.ask("GET", "rp:key") is None


def test_a_primary_that_became_a_replica_is_disconnected_at_once(
    start: Callable[..., Server],
) -> None:
    old, new = start(), start()
    address = Address(old)
    cache = Cache(address.client())
    cache.ask("SET", "rp:key", "old")

    old.admin.replicaof(HOST, str(new.port))
    with pytest.raises(Unavailable) as refused:
        cache.ask("SET", "rp:key", "lost")
    address.server = new

    assert not isinstance(refused.value, CacheAway)
    assert cache.ask("SET", "rp:key", "new") == "OK"
    assert new.admin.get("rp:key") == "new"


def test_the_second_attempt_resolves_the_address_again(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = start(), start()
    address = Address(old)
    cache = Cache(address.client())
    cache.ask("SET", "rp:key", "old")
    old.admin.replicaof(HOST, str(new.port))

    def fail_over(_: float) -> None:
        address.server = new

    monkeypatch.setattr(time, "sleep", fail_over)

    assert cache.ask("SET", "rp:key", "new") == "OK"


def test_a_server_that_loads_its_data_is_unavailable() -> None:
    assert issubclass(BusyLoadingError, FAILURES)


def test_a_full_server_is_unavailable_and_the_error_says_why(start: Callable[..., Server]) -> None:
    server = start(maxmemory_policy="noeviction")
    cache = Cache(Address(server).client())
    server.admin.config_set("maxmemory", 1)
    wait_for(lambda: int(server.info("memory")["maxmemory"]) == 1, "the limit")

    with pytest.raises(Unavailable) as refused:
        cache.ask("SET", "rp:key", "value")

    assert isinstance(refused.value.__cause__, OutOfMemoryError)


def test_an_interrupted_command_leaves_no_answer_behind(
    cache: OperatorCache, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ServerClient(made)
    cache.mset({"rp:first": "first", "rp:second": "second"})

    def interrupt(_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "read_response", interrupt)
        with pytest.raises(KeyboardInterrupt):
            client.ask("GET", "rp:first")

    assert client.ask("GET", "rp:second") == "second"
