"""An API behind a CloudFront distribution refuses users' requests that bypass CloudFront and its
web ACL.
"""

import httpx
import pytest

from redpacket.platform.http.api import ORIGIN_KEY
from redpacket.platform.settings import settings
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import HandlerTransport, handlers

OLD, NEW = "old-" + "o" * 40, "new-" + "n" * 40
DIRECT = {"POST /gateway/host/callback", "POST /gateway/wechat/callback"}
DIRECT |= {"POST /chat/telegram", "POST /chat/lark"}
"""Routes for providers and chat platforms, which call the API's own address with a signature or a
secret.
"""


@pytest.fixture
def behind(system: InMemorySystem, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """Configure the functions with a distribution whose key is being rotated."""
    variables = {**settings.variables, "DISTRIBUTION": f"d1.cloudfront.net,{OLD},{NEW}"}
    monkeypatch.setattr(settings, "variables", variables)


def _answer(key: str, given: str | None = None, scope: str = "") -> httpx.Response:
    method, _, path = key.partition(" ")
    transport = HandlerTransport({"sub": "ann", "scope": scope})
    headers = httpx.Headers({} if given is None else {ORIGIN_KEY: given}, encoding="utf-8")
    http = httpx.Client(base_url="https://api.example", transport=transport)
    return http.request(method, path.replace("{", "").replace("}", ""), headers=headers)


@pytest.mark.usefixtures("behind")
def test_each_route_for_users_refuses_a_request_without_a_key_of_the_distribution() -> None:
    operations = [
        operation
        for handler in handlers().values()
        for operation in getattr(handler, "operations", {}).values()
    ]
    admitted = {
        operation.key
        for operation in operations
        if not operation.scopes and _answer(operation.key).status_code != 403
    }

    # The admitted operations authenticate their callers themselves.
    assert admitted == DIRECT
    assert len(operations) > 80


@pytest.mark.usefixtures("behind")
def test_during_a_rotation_the_old_and_the_new_key_are_accepted() -> None:
    for key in (OLD, NEW):
        assert _answer("GET /me", key).status_code == 200

    for key in ("", "d1.cloudfront.net", OLD[:-1], OLD + "o", f"{OLD},{NEW}", "ключ"):
        assert _answer("GET /me", key).status_code == 403, key


@pytest.mark.usefixtures("behind")
def test_tools_of_operators_call_the_own_address_of_the_api() -> None:
    assert _answer("GET /admin/switches", scope="hongbao/admin").status_code == 200
    assert _answer("GET /admin/switches").status_code == 403


@pytest.mark.usefixtures("behind")
def test_the_refusal_names_the_address_to_call() -> None:
    assert "https://d1.cloudfront.net/api" in _answer("GET /me").json()["detail"]


@pytest.mark.usefixtures("system")
def test_without_a_distribution_the_own_address_of_the_api_serves_users() -> None:
    assert _answer("GET /me").status_code == 200
