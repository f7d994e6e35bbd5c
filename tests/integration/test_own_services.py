"""Stack with a developer's own wallet and issuer: the programs in `examples/`."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from local import places
from local.access import Access
from local.client import NO_TLS, Client
from local.ports import HOST, Ports, is_open
from local.stack import Stack

WAIT_S = 60.0
AMOUNT_FEN = 1_234


def _until(ask: Callable[[], dict[str, Any]], is_done: Callable[[dict[str, Any]], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_done(last := ask()):
        assert time.monotonic() < deadline, last
        time.sleep(0.2)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Stack]:
    """Yield a stack with the wallet and the issuer of the examples."""
    ports, others = Ports.free(), Ports.free()
    wallet, issuer = f"http://{HOST}:{others.front}", f"http://{HOST}:{others.cache}"
    secret = tmp_path / "own-wallet.json"
    callback = f"http://{HOST}:{ports.front}/gateway/host/callback"
    commands = [
        ["wallet/wallet.py", "--port", others.front, "--secret", secret, "--callback", callback],
        ["issuer/issuer.py", "--port", others.cache],
    ]
    programs = [
        subprocess.Popen([sys.executable, *map(str, command)], cwd=places.ROOT / "examples")
        for command in commands
    ]
    access = Access(wallet=f"{wallet}/wallet", wallet_secret=secret, issuer=issuer)
    try:
        for port in (others.front, others.cache):
            while not is_open(port):
                time.sleep(0.05)
        with Stack(tmp_path / "stack", ports=ports, access=access) as running:
            yield running
    finally:
        for program in programs:
            program.terminate()
            program.wait()


def test_money_moves_in_and_out_with_an_own_wallet_and_issuer(own: Stack) -> None:
    with httpx.Client(trust_env=False, verify=NO_TLS) as http:
        token = http.post(f"{own.issuer}/token", data={"sub": "alice"}).json()["access_token"]
        strangers = http.get(
            f"{own.api}/me", headers={"Authorization": f"Bearer {own.token('alice')}"}
        )
        with Client(own.api, token) as alice:
            payment = alice.post(
                "/me/payments", {"amount_fen": AMOUNT_FEN, "channel": "host", "method": "native"}
            )
            control = own.wallet.removesuffix("/wallet") + "/_fake/pay"
            http.post(control, json={"payment_id": payment["host"]["pay"]}).raise_for_status()
            payment_id = payment["payment_id"]
            _until(
                lambda: alice.get(f"/me/payments/{payment_id}"),
                lambda told: told["status"] == "paid",
            )
            out = alice.post("/me/withdrawals", {"amount_fen": AMOUNT_FEN, "channel": "host"})
            withdrawal_id = out["withdrawal_id"]
            own.aws("lambda").invoke(  # Run the scheduled task at once.
                FunctionName=own.outputs["TransferFunction"], Payload=b'{"task": "dispatch"}'
            )
            _until(
                lambda: alice.get(f"/me/withdrawals/{withdrawal_id}"),
                lambda told: told["status"] == "paid",
            )
            balance = alice.get("/me")["balance_fen"]
        config = http.get(f"{own.page}/config.json")

    assert strangers.status_code == 401
    assert balance == 0
    assert config.json()["auth"]["issuer"] == own.issuer
    assert f"connect-src 'self' {own.issuer};" in config.headers["content-security-policy"]
