"""Setup of WeChat, for local stacks and for the page in production."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from local.errors import StackError
from local.gateways.setups import Parameters, Place, Setup

if TYPE_CHECKING:
    from local.gateways.wechat.simulator import WeChat

AUTHORIZE = "/connect/oauth2/authorize"
AUTHORIZE_URL = f"https://open.weixin.qq.com{AUTHORIZE}"
"""Production URL from which WeChat's browser gets the code that links an account."""

PICTURE_HOST = "thirdwx.qlogo.cn"
"""Host of WeChat's user pictures."""


class WeChatSetup(Setup):
    """Secrets of the merchant and of the token issuer, and the page's app id."""

    program = "gateway"
    port = 18443
    enabled_by = "WeChatSecretArn"
    only_unit = "CNY"
    scripts = ("https://res.wx.qq.com/open/js/jweixin-1.6.0.js",)
    policies = ("wechat-js-sdk",)

    def simulator(self, place: Place) -> WeChat:
        """Return a simulated gateway for one merchant."""
        from local.gateways.wechat.simulator import WeChat
        from local.gateways.wechat.wire import GatewayKeys

        return WeChat(GatewayKeys.of(place.folder), place.url, place.retry_ms)

    def secrets(self, state_dir: Path) -> dict[str, Path]:
        """Return the secrets of the merchant and of the token issuer."""
        return {
            "WeChatSecretArn": _merchant(state_dir),
            "WeChatIssuerSecretArn": state_dir / "issuer.json",
        }

    def parameters(self, state_dir: Path, _url: str) -> dict[str, str]:
        """Return the merchant's app."""
        return {"WeChatAppId": json.loads(_merchant(state_dir).read_text())["app_id"]}

    def page(self, parameters: Parameters, url: str = "") -> dict[str, str] | None:
        """Return the app id, and the URL at which WeChat identifies users."""
        app_id = parameters.get("WeChatAppId")
        authorize_url = f"{url}{AUTHORIZE}" if url else AUTHORIZE_URL
        if not app_id:
            return None
        part = {"app_id": app_id, "authorize_url": authorize_url}
        # Users may show their WeChat picture only if its host is allowed.
        hosts = parameters.get("AvatarHosts", "").split(",")
        return part | ({"scope": "snsapi_userinfo"} if PICTURE_HOST in hosts else {})

    def auth(self, parameters: Parameters) -> dict[str, str] | None:
        """Return the silent WeChat sign-in, if this API signs the users' tokens."""
        if not parameters.get("WeChatIssuerSecretArn") or parameters.get("PageClientId"):
            return None
        # The API signs the tokens; the issuer URL only serves two published files.
        if not parameters.get("WeChatAppId"):
            raise StackError("users sign in by WeChat: deploy with the parameter WeChatAppId")
        return {"kind": "wechat"}


def _merchant(state_dir: Path) -> Path:
    return state_dir / "payments" / "merchant.json"


SETUP = WeChatSetup()
