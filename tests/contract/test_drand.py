"""The beacon's adapter, against real processes that speak drand's API, right and wrong."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from local import places
from local.beacon.chain import LocalChain, hash_of
from local.beacon.server import INFINITY, Mode
from local.ports import HOST, Ports, is_open
from local.processes import Process
from redpacket.fairness.bls import PublicKey
from redpacket.fairness.clients.drand import DrandBeacon
from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
from redpacket.verify import rounds
from testing.fakes import FakeLogger

QUICKNET_KEY = PublicKey(bytes.fromhex(rounds.QUICKNET_KEY))
QUICKNET_GROUP_HASH = "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"
ROUND_123 = bytes.fromhex(
    "b75c69d0b72a5d906e854e808ba7e2accb1542ac355ae486d591aa9d43765482e26cd02df835d3546d23c4b13e0dfc"
    "92"
)
START_TIMEOUT_S = 30.0
FIELD = int(
    "1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFF"
    "AAAB",
    16,
)
"""The prime of the curve's field."""


@dataclass(frozen=True)
class Endpoint:
    """One endpoint of a chain."""

    url: str

    def answer_from_now_on(self, mode: Mode) -> int:
        """Set what it does; return how often it was asked for a round."""
        done = httpx.post(f"{self.url}/_fake/mode", json={"mode": mode})
        count: int = done.raise_for_status().json()["asked"]
        return count


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beacon")


@pytest.fixture(scope="module")
def signer(folder: Path) -> LocalChain:
    return LocalChain.of(folder / "beacon.json", int(time.time()) - 1_000)


@pytest.fixture(scope="module")
def started(folder: Path) -> Iterator[list[Endpoint]]:
    endpoints, processes = [], []
    LocalChain.of(folder / "beacon.json", int(time.time()) - 1_000)
    try:
        for number in range(2):
            port = Ports.free().front
            command = [sys.executable, "-m", "local.beacon", "--port", str(port)]
            process = Process(
                f"beacon-{number}",
                [*command, "--key", str(folder / "beacon.json")],
                log=folder / f"{number}.log",
                env={"PATH": os.environ["PATH"], "PYTHONPATH": str(places.ROOT / "shared")},
                cwd=places.ROOT,
            )
            processes.append(process)
            process.wait_until(lambda port=port: is_open(port), timeout_s=START_TIMEOUT_S)  # type: ignore[misc]
            endpoints.append(Endpoint(f"http://{HOST}:{port}"))
        yield endpoints
    finally:
        for process in processes:
            process.stop()


@pytest.fixture
def endpoints(started: list[Endpoint]) -> list[Endpoint]:
    for endpoint in started:
        endpoint.answer_from_now_on(Mode.OK)
    return started


@pytest.fixture
def logger() -> FakeLogger:
    return FakeLogger()


def a_beacon(
    urls: list[str], signer: LocalChain, logger: FakeLogger, **changes: Any
) -> DrandBeacon:
    given: dict[str, Any] = {"call_ms_max": 2_000, "allows_private": True, **changes}
    return DrandBeacon(urls, signer.chain, signer.public_key, logger=logger, **given)


def test_a_round_is_fetched_and_verified(
    endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    beacon = a_beacon([each.url for each in endpoints], signer, logger)
    round_no = signer.chain.first_round(int(time.time() * 1000)) - 5

    assert beacon.fetch(round_no) == BeaconRound(round_no, signer.signature(round_no))
    assert logger.lines == []


def test_an_endpoint_describes_its_chain_and_its_latest_round(
    endpoints: list[Endpoint], signer: LocalChain
) -> None:
    url = f"{endpoints[0].url}/{signer.chain.chain_hash}"
    info = httpx.get(f"{url}/info").json()
    latest = httpx.get(f"{url}/public/latest").json()

    assert info == signer.info()
    assert BeaconChain(info["hash"], info["genesis_time"], info["period"]) == signer.chain
    beacon_round = BeaconRound(latest["round"], bytes.fromhex(latest["signature"]))
    assert latest["randomness"] == beacon_round.randomness
    assert abs(signer.chain.time_ms(beacon_round.round_no) - time.time() * 1000) < 3_000


def test_a_round_that_is_not_there_yet_is_not_made_up(
    endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    beacon = a_beacon([each.url for each in endpoints], signer, logger)

    assert beacon.fetch(signer.chain.first_round(int(time.time() * 1000)) + 60) is None
    assert logger.lines == []


@pytest.mark.parametrize("mode", [Mode.LATE, Mode.ABSENT])
def test_a_round_that_one_endpoint_lacks_comes_from_the_other(
    mode: Mode, endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    endpoints[0].answer_from_now_on(mode)
    beacon = a_beacon([each.url for each in endpoints], signer, logger)
    round_no = signer.chain.first_round(int(time.time() * 1000)) - 1

    beacon_round = beacon.fetch(round_no)
    endpoints[1].answer_from_now_on(mode)

    assert beacon_round == BeaconRound(round_no, signer.signature(round_no))
    assert beacon.fetch(round_no) is None


@pytest.mark.parametrize("mode", [Mode.WRONG, Mode.INFINITY, Mode.OTHER_ROUND])
def test_a_forged_round_is_refused_and_told(
    mode: Mode, endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    for endpoint in endpoints:
        endpoint.answer_from_now_on(mode)
    beacon = a_beacon([each.url for each in endpoints], signer, logger)

    assert beacon.fetch(100) is None
    assert logger.events == ["beacon_forged", "beacon_forged"]

    endpoints[1].answer_from_now_on(Mode.OK)
    assert beacon.fetch(100) == BeaconRound(100, signer.signature(100))


@pytest.mark.parametrize(
    ("mode", "noted"), [(Mode.FAILS, 0), (Mode.GARBAGE, 1), (Mode.DEEP, 1), (Mode.LONG, 1)]
)
def test_an_endpoint_that_fails_is_passed_over(
    mode: Mode, noted: int, endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    endpoints[0].answer_from_now_on(mode)
    nowhere = f"http://{HOST}:{Ports.free().front}"
    beacon = a_beacon([nowhere, *(each.url for each in endpoints)], signer, logger)

    assert beacon.fetch(100) == BeaconRound(100, signer.signature(100))
    assert [name for name, _ in logger.errors] == ["beacon_not_read"] * (1 + noted)


def test_an_endpoint_inside_is_not_asked(
    endpoints: list[Endpoint], signer: LocalChain, logger: FakeLogger
) -> None:
    before = endpoints[0].answer_from_now_on(Mode.OK)
    https = endpoints[0].url.replace("http:", "https:")

    assert a_beacon([https], signer, logger, allows_private=False).fetch(100) is None
    assert [name for name, _ in logger.errors] == ["beacon_not_read"]
    assert endpoints[0].answer_from_now_on(Mode.OK) == before


# ---------------------------------------------------------------- signatures


def test_known_rounds_are_verified_and_no_others() -> None:
    assert QUICKNET_KEY.has_signed(123, ROUND_123)
    assert not QUICKNET_KEY.has_signed(124, ROUND_123)
    assert not PublicKey(LocalChain(7, 0).public_key).has_signed(123, ROUND_123)


@pytest.mark.parametrize("round_no", [-1, 2**64, 2**64 + 123])
def test_a_round_that_no_chain_has_is_signed_by_none(round_no: int) -> None:
    assert not QUICKNET_KEY.has_signed(round_no, ROUND_123)


def test_a_chain_is_named_by_drands_formula() -> None:
    beacon_chain = rounds.QUICKNET
    key, group_hash = bytes.fromhex(rounds.QUICKNET_KEY), bytes.fromhex(QUICKNET_GROUP_HASH)

    named = hash_of(beacon_chain.period_s, beacon_chain.genesis_s, key, group_hash, "quicknet")

    assert named == beacon_chain.chain_hash


def test_a_chain_of_ones_own_has_known_rounds() -> None:
    # A vector: another library must find the same.
    chain = LocalChain(secret=20_260_101, genesis_s=1_790_000_000, period_s=3)

    assert chain.chain.chain_hash == (
        "1ca4dd90e5385a81beff493b4b9ba2668db442f6aeed2a502df09d78a7ee881f"
    )
    assert chain.signature(123).hex() == (
        "ae9453370ab333947df12c4a2e7a0c5cead55dbf0c493f59"
        "651e5f7f44daafa1d44f0c763439b3204c85c78eb1385d27"
    )


def _outside_of_the_subgroup() -> bytes:
    """Return a point of the curve that is not in G1."""
    for x in range(1, 100):
        square = (x**3 + 4) % FIELD
        y = pow(square, (FIELD + 1) // 4, FIELD)
        if y * y % FIELD == square:
            encoded = bytearray(x.to_bytes(48, "big"))
            encoded[0] |= 0x80 | (0x20 if y > FIELD // 2 else 0)
            return bytes(encoded)
    raise AssertionError


@pytest.mark.parametrize(
    "signature",
    [
        *(b"", ROUND_123[:-1], ROUND_123 + b"\0", bytes([ROUND_123[0] ^ 0x20]) + ROUND_123[1:]),
        *(INFINITY, bytes([0xE0]) + bytes(47), bytes(48), b"\xff" * 48),
        _outside_of_the_subgroup(),
    ],
)
def test_bytes_that_are_not_a_signature_sign_nothing(signature: bytes) -> None:
    assert not QUICKNET_KEY.has_signed(123, signature)


@pytest.mark.parametrize("key", [b"", bytes([0xC0]) + bytes(95), bytes(96), b"\xff" * 96])
def test_bytes_that_are_not_a_public_key_are_refused(key: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the library has its own words
        PublicKey(key)
