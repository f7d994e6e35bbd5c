"""Sign-in to the console as an operator in a user pool, in the emulator's Cognito."""

import re
import uuid
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Route, expect

from local.publish import configuration
from local.stack import REGION, Stack
from local.template import read_template
from testing.platform.operators_pool import command, make_pool
from tests.browser.conftest import DESK, BrowserUser, MakePerson

EMAIL = "ann@example.com"
PASSWORD = "Lantern-2026-night"
ISSUER = "/pool"
"""Path on the page's own origin under which the tests serve the pool."""


@pytest.fixture(scope="module")
def console(stack: Stack) -> Iterator[dict[str, str]]:
    """Create a pool with the template's console client; make /admin accept the pool's tokens."""
    pool = make_pool(stack, f"console-{uuid.uuid4().hex[:8]}")
    command(stack, pool, "operator", "add", EMAIL, "--role", "treasury", "--role", "audit")
    cognito, gateway = stack.aws("cognito-idp"), stack.aws("apigatewayv2")
    cognito.admin_set_user_password(
        UserPoolId=pool, Username=EMAIL, Password=PASSWORD, Permanent=True
    )
    template = read_template()["Resources"]["ConsoleClient"]["Properties"]
    client = cognito.create_user_pool_client(
        **template
        | {
            "UserPoolId": pool,
            "ClientName": "console",
            "CallbackURLs": [f"{stack.api}/operator/signed-in"],
        }
    )["UserPoolClient"]["ClientId"]
    outputs = {"UserPoolId": pool, "UserPoolClientId": "page", "ConsoleClientId": client}
    auth: dict[str, str] = configuration(outputs, {}, REGION)["operators_auth"]
    api_id = stack.outputs["ApiId"]
    (authorizer,) = [
        each
        for each in gateway.get_authorizers(ApiId=api_id)["Items"]
        if each["Name"] == "operators"
    ]
    place = {"ApiId": api_id, "AuthorizerId": authorizer["AuthorizerId"]}
    trusted = {"Issuer": auth["issuer"], "Audience": [client]}
    gateway.update_authorizer(**place, JwtConfiguration=trusted)
    yield auth
    gateway.update_authorizer(**place, JwtConfiguration=authorizer["JwtConfiguration"])


def _lead_to_pool(person: BrowserUser, stack: Stack, auth: dict[str, str]) -> None:
    """Serve the pool's configuration and token endpoint under the page's own origin, as the page's
    content policy requires.
    """
    emulator = f"http://127.0.0.1:{stack.ports.emulator}"
    pool = auth["issuer"].rpartition("/")[2]
    config = httpx.get(f"{stack.api}/config.json", trust_env=False).json()
    config["operators_auth"] = {**auth, "issuer": stack.api + ISSUER}

    def discover(route: Route) -> None:
        found = httpx.get(f"{emulator}/{pool}/.well-known/openid-configuration", trust_env=False)
        addresses = found.json() | {
            "authorization_endpoint": f"{emulator}/oauth2/authorize",
            "token_endpoint": f"{stack.api}{ISSUER}/oauth2/token",
        }
        route.fulfill(json=addresses)

    def exchange(route: Route) -> None:
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = httpx.post(
            f"{emulator}/oauth2/token",
            content=route.request.post_data or "",
            headers=form,
            trust_env=False,
        )
        route.fulfill(status=answer.status_code, json=answer.json())

    person.page.route("**/config.json", lambda route: route.fulfill(json=config))
    person.page.route(f"**{ISSUER}/.well-known/*", discover)
    person.page.route(f"**{ISSUER}/oauth2/token", exchange)


def test_an_operator_of_the_pool_signs_in_to_the_console_with_their_roles(
    a_person: MakePerson, stack: Stack, console: dict[str, str]
) -> None:
    ann = a_person(None, None, viewport=DESK)
    _lead_to_pool(ann, stack, console)
    ann.go("/operator/journal")

    with ann.page.expect_request("**/oauth2/authorize?*") as asked:
        ann.page.get_by_role("button", name="登录").click()
    question = parse_qs(urlsplit(asked.value.url).query)
    assert question["client_id"] == [console["client_id"]]
    assert question["code_challenge_method"] == ["S256"]
    ann.page.locator("[name=username]").fill(EMAIL)
    ann.page.locator("[name=password]").fill(PASSWORD)
    ann.page.get_by_role("button", name="Sign in").click()

    # The browser is back at the list. The roles come from the pool's groups, and the URL contains
    # no authorization code.
    expect(ann.page.get_by_role("heading", name="操作日志")).to_be_visible()
    assert ann.page.url == f"{ann.api}/operator/journal"
    expect(ann.page.locator(".roles")).to_contain_text("财务和审计")
    links = ann.page.get_by_role("navigation").get_by_role("link")
    links.filter(has_text="活动").click()
    expect(ann.page.get_by_role("link", name="新建活动")).to_have_count(0)
    ann.audit_views("console-pool")
    kept = ann.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "eyJ" not in kept

    # The audit log shows a deposit with the treasury role under the operator's subject.
    links.filter(has_text="后台入账").click()
    ann.page.get_by_label("用户").fill("payee-of-ann")
    ann.page.get_by_label("金额").fill("8.88")
    ann.page.get_by_role("button", name="入账").click()
    ann.page.get_by_role("dialog").get_by_role("button", name="入账", exact=True).click()
    expect(ann.page.get_by_text("8.88").first).to_be_visible()
    links.filter(has_text="操作日志").click()
    sentence = ann.page.get_by_text(re.compile(r"^[0-9a-f-]{36} 给 payee-of-ann 入账 ¥8.88"))
    expect(sentence.first).to_be_visible()
    ann.shoot("console-pool-journal")
