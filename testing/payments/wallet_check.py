"""Check of a host's own wallet against the providers' contract suite.

`make wallet-check URL=http://127.0.0.1:18999/wallet` runs the scenarios of `tests/contract` on that
wallet. If a scenario needs an action by a person, the check calls `POST /_fake/pay` and the
simulator's other controls at the wallet's own host. If the wallet lacks the control, the scenario
is not checked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from local import places
from local.access import WALLET_SECRET
from local.gateways.host.simulator import WalletSecrets
from local.gateways.simulated_payers import SimulatedPayers
from local.ports import HOST
from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys
from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpClient
from testing.payments.gateways import (
    CALL_MS_MAX,
    OWN_WALLET,
    Fake,
    Received,
    Side,
    an_inbox,
    host_side,
)

SCENARIOS = ("in", "out", "bills", "callbacks", "counterparties")
NUMBERS = ("number", "refund_no", "bill_no")
LACKING = {
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
}
UNANSWERED = 2


class ScenarioClient(HostClient):
    """Client that stores the numbers in one scenario's calls, keyed by field."""

    def __init__(self, keys: HostKeys, http_client: HttpClient) -> None:
        super().__init__(keys, http_client)
        self.numbers: defaultdict[str, list[str]] = defaultdict(list)
        self.has_results = False

    def call(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Store the numbers before the wallet can send a result about them."""
        for name in NUMBERS:
            if name in data and data[name] not in self.numbers[name]:
                self.numbers[name].append(data[name])
        return super().call(kind, data)

    def is_ours(self, received: Received) -> bool:
        """Return whether a result belongs to this scenario; a late one may belong to an earlier
        scenario.
        """
        self.has_results = True
        told = json.loads(received.body)
        return any(told["data"]["number"] in numbers for numbers in self.numbers.values())


class OwnWallet(Fake):
    """Controls of a wallet, which may lack any. Query responses replace the wallet's books."""

    def __init__(self, url: str, client: ScenarioClient) -> None:
        super().__init__(url)
        self._client = client

    def do(self, name: str, **body: Any) -> Any:
        if name == "forget":
            self._client.numbers.clear()
        answer = httpx.post(f"{self.url}/_fake/{name}", json=body, trust_env=False)
        if answer.status_code in LACKING:
            if name == "forget":
                return None
            does = getattr(SimulatedPayers, name).__doc__
            pytest.skip(f"the wallet's host lacks POST /_fake/{name}. {does}")
        if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
            fields = ", ".join(
                f"{field}={value}" for field, value in body.items() if field[-3:] != "_id"
            )
            pytest.skip(f"the control POST /_fake/{name} takes no field {fields} (422)")
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def show(self, name: str) -> Any:
        answer = httpx.get(f"{self.url}/_fake/{name}", trust_env=False)
        if answer.status_code in LACKING:
            pytest.skip(f"the wallet's host lacks GET /_fake/{name}")
        return answer.json()

    def paid_out(self) -> dict[str, Any]:
        asked = self._ask("transfer.query", "bill_no")
        return {each["bill_no"]: each for each in asked if each["state"] != "not_found"}

    def paid_in(self) -> dict[str, Any]:
        asked = self._ask("payment.query", "number")
        return {
            each["number"]: {
                f"{name}_fen": sum(paid.get(field, 0) for paid in each["transactions"])
                for name, field in (("paid", "amount_fen"), ("refunded", "refunded_fen"))
            }
            for each in asked
            if each["state"] != "not_found"
        }

    def _ask(self, kind: str, name: str) -> list[Mapping[str, Any]]:
        return [self._client.call(kind, {name: number}) for number in self._client.numbers[name]]


class Verdicts:
    """Pytest plugin that selects the scenarios of a host's wallet and prints their outcomes."""

    def __init__(self, side: Side, client: ScenarioClient) -> None:
        self._side, self._client = side, client
        self.held = self.broken = 0
        self._unchecked: defaultdict[str, list[str]] = defaultdict(list)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Pass the wallet to the fixtures."""
        config.stash[OWN_WALLET] = self._side

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect the scenarios of other providers."""
        names = {item: set(getattr(item, "fixturenames", ())) for item in items}
        items[:] = [i for i in items if names[i] & {"side", "host"} and "wechat" not in names[i]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print the outcome of one scenario."""
        claim = _claim(report.nodeid)
        if report.skipped and isinstance(report.longrepr, tuple):
            self._unchecked[report.longrepr[2].removeprefix("Skipped: ")].append(claim)
        elif report.failed:
            self.broken += 1
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash else str(report.longrepr)
            print(f"BROKEN  {claim}\n        {reason.splitlines()[0]}", flush=True)
            if " results reached " in reason and not self._client.has_results:
                pytest.exit("no result reached the check", returncode=1)
        elif report.when == "call":
            self.held += 1
            print(f"holds   {claim}", flush=True)

    def summary(self) -> str:
        """Return the scenarios that were not checked, and the counts."""
        lines = [
            f"not checked: {reason}\n        " + "\n        ".join(claims)
            for reason, claims in sorted(self._unchecked.items())
        ]
        skipped = sum(map(len, self._unchecked.values()))
        counts = f"{self.held} rules hold, {self.broken} are broken"
        if skipped:
            counts += f"\n{skipped} MORE RULES WERE NOT CHECKED: docs/reference/host-wallet.md"
        return "\n".join([*lines, counts])


def _claim(node_id: str) -> str:
    """Return a test's name as a sentence, with the test's parameters."""
    name, _, parameters = node_id.rpartition("::")[2].removeprefix("test_").partition("[")
    told = [each for each in parameters.rstrip("]").split("-") if each not in {"", "host"}]
    return name.replace("_", " ") + (f" ({', '.join(told)})" if told else "")


@contextmanager
def an_own_side(
    client: ScenarioClient, url: str, keys: HostKeys, callback_port: int
) -> Iterator[Side]:
    """Yield the adapters of the wallet at *url*, with a server for the wallet's results."""
    address = urlsplit(url)
    fake = OwnWallet(f"{address.scheme}://{address.netloc}", client)
    with an_inbox(callback_port) as inbox:
        inbox.is_ours = client.is_ours
        yield host_side(fake, inbox, keys, client, url)


def check(url: str, secret: Path, callback_port: int) -> int:
    """Check one wallet, print its verdicts, and return the exit code."""
    WalletSecrets.of(secret)
    keys = HostKeys.of(secret.read_text())
    client = ScenarioClient(keys, HttpClient(url, call_ms_max=CALL_MS_MAX, allows_private=True))
    with an_own_side(client, url, keys, callback_port) as side:
        try:
            side.payments_in.query("wallet-check")
        except Unavailable as error:
            print(f"{url} gave no signed answer to payment.query: {error}", file=sys.stderr)
            return UNANSWERED
        verdicts = Verdicts(side, client)
        files = [str(places.ROOT / f"tests/contract/test_payments_{each}.py") for each in SCENARIOS]
        options = ["-s", "-p", "no:terminal", "-p", "no:cacheprovider", "-o", "addopts="]
        options += ["-o", "filterwarnings=ignore"]  # This module is loaded before pytest.
        options += ["--import-mode=importlib", "--rootdir", str(places.ROOT)]
        ended = pytest.main([*options, *files], plugins=[verdicts])
        print(verdicts.summary())
        if verdicts.broken and not client.has_results:
            address = f"http://{HOST}:{callback_port}/gateway/host/callback"
            print(f"No result reached {address}: start the wallet with this address.")
    return int(ended) if not verdicts.held else int(verdicts.broken > 0)


def main() -> None:
    """Run the command."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url", help="address of the wallet's calls")
    arguments.add_argument("--secret", type=Path, default=WALLET_SECRET)
    arguments.add_argument("--callback-port", type=int, default=8080)
    given = arguments.parse_args()
    try:
        sys.exit(check(given.url, given.secret, given.callback_port))
    except OSError as error:
        sys.exit(
            f"wallet-check: {error}; "
            f"a stack (`make down`) or another program has port {given.callback_port}; "
            "or give CALLBACK_PORT= and the wallet the new address of results"
        )
    except ValueError as error:
        sys.exit(f"wallet-check: {error}: write URL=http://127.0.0.1:18999/wallet")


if __name__ == "__main__":
    main()
