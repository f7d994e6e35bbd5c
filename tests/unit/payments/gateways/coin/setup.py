"""Setup of the coin for a stack's parameters and the page's configuration."""

from pathlib import Path

from starlette.routing import Route

from local.gateways.deliveries import Message
from local.gateways.records import Made
from local.gateways.server import Provider
from local.gateways.setups import Parameters, Place, Setup


class CoinSimulator(Provider):
    """Books without a protocol."""

    def routes(self) -> list[Route]:
        return []

    def message(self, made: Made) -> Message | None:
        return None


class CoinSetup(Setup):
    program = "coin"
    port = 18448
    enabled_by = "CoinUrl"
    scripts = ("https://coin.example/sdk.js",)
    policies = ("coin-sdk",)

    def simulator(self, place: Place) -> Provider:
        return CoinSimulator(place.retry_ms)

    def secrets(self, state_dir: Path) -> dict[str, Path]:
        return {"CoinSecretArn": state_dir / "payments" / "coin.json"}

    def parameters(self, _state_dir: Path, url: str) -> dict[str, str]:
        return {"CoinUrl": url}

    def page(self, parameters: Parameters, url: str = "") -> dict[str, str] | None:
        return {"leads_to": url or "https://coin.example"} if "CoinUrl" in parameters else None

    def auth(self, parameters: Parameters) -> dict[str, str] | None:
        return {"kind": "coin"} if "CoinIssuer" in parameters else None


SETUP = CoinSetup()
