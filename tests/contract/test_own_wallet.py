"""`make wallet-check` and the example of a host's wallet."""

import importlib.util
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from local import places
from local.ports import HOST, Ports

EXAMPLE = places.ROOT / "examples/wallet/wallet.py"


def _example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_wallet", EXAMPLE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _served(module: ModuleType, secret: Path, callback_port: int) -> Iterator[str]:
    server = module.serve(0, secret, f"http://{HOST}:{callback_port}/gateway/host/callback")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://{HOST}:{server.server_address[1]}/wallet"
    server.shutdown()
    thread.join()
    server.server_close()


def _check(url: str, secret: Path, callback_port: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "testing.payments.wallet_check", url]
    command += ["--secret", str(secret), "--callback-port", str(callback_port)]
    env = {**os.environ, "PYTHONPATH": "shared"}
    return subprocess.run(
        command, cwd=places.ROOT, env=env, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return tmp_path / "wallet.json"


def test_the_example_wallet_keeps_the_contract(secret: Path) -> None:
    port = Ports.free().front
    with _served(_example(), secret, port) as url:
        checked = _check(url, secret, port)

    assert (checked.returncode, checked.stderr) == (0, "")
    assert " 0 are broken" in checked.stdout
    assert " MORE RULES WERE NOT CHECKED" in checked.stdout
    assert "lacks POST /_fake/refund. Refund `amount_fen` of `payment_id`" in checked.stdout
    for claim in (
        "a repeated transfer pays once",
        "a refund number is refunded once",
        "a statement has every payment and refund of its day",
        "an unaccepted callback is repeated as the same notice",
        "an unsigned call of the host is refused (old)",
        "a payment of another amount has that amount",
    ):
        assert f"holds   {claim}\n" in checked.stdout


def test_a_wallet_that_executes_a_repeat_is_found(secret: Path) -> None:
    module, port = _example(), Ports.free().front
    true = module._once

    def forgetful(book: dict[str, Any], name: str, asked: Any, made: Any) -> Any:
        book.pop(asked[name], None)
        return true(book, name, asked, made)

    module._once = forgetful  # type: ignore[attr-defined]
    with _served(module, secret, port) as url:
        checked = _check(url, secret, port)

    assert checked.returncode == 1
    assert "BROKEN  a number with another content is not paid again\n" in checked.stdout
    assert "BROKEN  a refund number is refunded once\n" in checked.stdout


def test_a_wallet_that_reports_to_another_port_is_told_the_address(secret: Path) -> None:
    port = Ports.free().front
    with _served(_example(), secret, Ports.free().front) as url:
        checked = _check(url, secret, port)

    assert checked.returncode == 1
    assert "0 of 1 results reached http://" in checked.stdout
    address = f"http://{HOST}:{port}/gateway/host/callback"
    assert checked.stdout.endswith(
        f"No result reached {address}: start the wallet with this address.\n"
    )


def test_a_port_in_use_names_the_way_out(secret: Path) -> None:
    port = Ports.free().front
    with _served(_example(), secret, port) as url:
        checked = _check(url, secret, int(url.rpartition(":")[2].partition("/")[0]))

    assert "CALLBACK_PORT=" in checked.stderr


def test_an_address_without_a_wallet_gives_no_verdict(secret: Path) -> None:
    port = Ports.free().front

    checked = _check(f"http://{HOST}:{Ports.free().front}/wallet", secret, port)

    assert checked.returncode == 2
    assert "gave no signed answer" in checked.stderr
