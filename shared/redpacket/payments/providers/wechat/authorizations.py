"""WeChat users' consent to transfers without confirmation (用户授权免确认)."""

from __future__ import annotations

from urllib.parse import quote

from redpacket.payments.model.authorization import AuthorizationFound, AuthorizationState
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.providers.wechat.client import Answer, WeChatClient
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.errors import Unavailable

_PATH = "/v3/fund-app/mch-transfer/user-confirm-authorization"
_STATES = {
    "WAIT_USER_CONFIRM": AuthorizationState.AWAITING_CONFIRMATION,
    "TAKING_EFFECT": AuthorizationState.ACTIVE,
    "CLOSED": AuthorizationState.CLOSED,
}


class WeChatAuthorizations:
    """WeChat Pay implementation of Authorizations."""

    def __init__(
        self, client: WeChatClient, accounts: Accounts, *, notify_url: str, scene_id: str
    ) -> None:
        self._client = client
        self._accounts = accounts
        self._notify_url = notify_url
        self._scene_id = scene_id

    def ask(
        self, authorization_no: str, payee: ExternalAccount, display_name: str
    ) -> AuthorizationFound:
        answer = self._client.post(
            _PATH,
            {
                "out_authorization_no": authorization_no,
                "appid": self._client.merchant.app_id,
                "openid": self._accounts.open(payee),
                "transfer_scene_id": self._scene_id,
                "user_display_name": display_name,
                "authorization_notify_url": self._notify_url,
            },
        )
        return self._parsed(answer, authorization_no)

    def query(self, authorization_no: str) -> AuthorizationFound:
        answer = self._client.get(f"{_by(authorization_no)}?is_display_authorization=true")
        if answer.code in {"INVALID_REQUEST", "PARAM_ERROR"}:
            # WeChat may refuse display data for consents that are not active, so query without it.
            answer = self._client.get(_by(authorization_no))
        if answer.code == "NOT_FOUND":
            return AuthorizationFound(AuthorizationState.NOT_FOUND)
        return self._parsed(answer, authorization_no)

    def close(self, authorization_no: str) -> None:
        answer = self._client.post(f"{_by(authorization_no)}/close")
        if not answer.is_ok and answer.code not in {"NOT_FOUND", "INVALID_REQUEST"}:
            raise Unavailable(f"the gateway answered {answer.status}, {answer.code}")

    def _parsed(self, answer: Answer, authorization_no: str) -> AuthorizationFound:
        told = answer.body
        state = _STATES.get(str(told.get("state")))
        is_same = told.get("out_authorization_no") == authorization_no
        if not answer.is_ok or not is_same or state is None:
            raise Unavailable(f"the gateway answered {answer.status}, {answer.code}")
        openid, closed = told.get("openid"), told.get("close_info")
        return AuthorizationFound(
            state,
            payee_hash=self._accounts.hash_of(openid) if isinstance(openid, str) else None,
            confirmation=str(told.get("package_info", "")),
            reason=str(closed.get("close_reason", "")) if isinstance(closed, dict) else "",
        )


def _by(authorization_no: str) -> str:
    return f"{_PATH}/out-authorization-no/{quote(authorization_no, safe='')}"
