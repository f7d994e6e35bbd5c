"""WeChat, built from this process's settings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.ports import CALL_MS_MAX, Provider
from redpacket.payments.providers.wechat.settings import WeChatSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.payments.ports import (
        Authorizations,
        CallbackVerifier,
        JsSignature,
        Logins,
        PaymentProvider,
        PayoutProvider,
        TokenIssuer,
    )
    from redpacket.payments.providers.wechat.client import WeChatClient
    from redpacket.payments.sealed_accounts import Accounts

_TOKEN_LIFE_MS = 2 * 60 * 60 * 1_000


class WeChat(Provider[WeChatSettings]):
    """WeChat's payments, transfers, callbacks, consents, and sign-in."""

    settings_type = WeChatSettings
    only_unit = "CNY"
    pays_out_automatically = True
    confirms_transfers = True

    @cached_property
    def payments(self) -> PaymentProvider | None:
        if not self.settings.wechat_secret_arn:
            return None
        from redpacket.payments.providers.wechat.provider import OrderSettings, WeChatIn

        return WeChatIn(
            self._client,
            self._accounts,
            OrderSettings(self._callback_url, self._client.merchant.remark),
            self.environment.now_ms,
        )

    @cached_property
    def payouts(self) -> PayoutProvider | None:
        if not self.settings.wechat_secret_arn:
            return None
        from redpacket.payments.providers.wechat.provider import TransferSettings, WeChatOut

        scene = self.settings.wechat_scene
        return WeChatOut(
            self._client,
            self._accounts,
            TransferSettings(
                self._callback_url,
                scene.scene_id,
                self._client.merchant.remark,
                scene.report_infos,
            ),
            self.environment.now_ms,
        )

    @cached_property
    def callbacks(self) -> CallbackVerifier | None:
        if not self.settings.wechat_api_v3_key:
            return None
        from redpacket.payments.providers.wechat.callbacks import CallbackKeys, WeChatCallbacks

        return WeChatCallbacks(
            CallbackKeys(
                self.settings.wechat_mch_id,
                self.settings.wechat_public_key_id,
                self.settings.wechat_public_key,
                self.settings.wechat_api_v3_key,
            )
        )

    @cached_property
    def consents(self) -> Authorizations | None:
        if not self.settings.wechat_secret_arn:
            return None
        from redpacket.payments.providers.wechat.authorizations import WeChatAuthorizations

        return WeChatAuthorizations(
            self._client,
            self._accounts,
            notify_url=self._callback_url,
            scene_id=self.settings.wechat_scene.scene_id,
        )

    @cached_property
    def logins(self) -> Logins | None:
        if not self.settings.wechat_secret_arn:
            return None
        from redpacket.payments.providers.wechat.login import CodeKind, WeChatLogin

        kind = CodeKind[self._client.merchant.code_kind.upper()]
        return WeChatLogin(
            self._client.merchant,
            self._accounts,
            lambda path: self.environment.http(self._api_url + path),
            kind,
        )

    @cached_property
    def page_signer(self) -> Callable[[str], JsSignature] | None:
        if not self.settings.wechat_secret_arn:
            return None
        from redpacket.payments.providers.wechat.js_sdk import JsSdk

        return JsSdk(
            self._client.merchant,
            self.settings.share_base_url,
            lambda path: self.environment.http(self._api_url + path),
            self.environment.now_ms,
        ).sign

    @cached_property
    def token_issuer(self) -> TokenIssuer | None:
        if not self.settings.wechat_issuer_url:
            return None
        from redpacket.payments.token_issuer import IssuerKeys, Rs256Tokens

        return Rs256Tokens(
            ProviderName.WECHAT,
            IssuerKeys.of(self.environment.secret(self.settings.wechat_issuer_secret_arn)),
            url=self.settings.wechat_issuer_url,
            audience=self.settings.jwt_audience,
            life_ms=_TOKEN_LIFE_MS,
        )

    @cached_property
    def _client(self) -> WeChatClient:
        from redpacket.payments.providers.wechat.client import (
            WECHAT_PAY,
            WeChatClient,
            WeChatMerchant,
        )

        return WeChatClient(
            WeChatMerchant.of(self.environment.secret(self.settings.wechat_secret_arn)),
            gateway_url=self.settings.simulator_url or WECHAT_PAY,
            call_ms_max=CALL_MS_MAX,
        )

    @cached_property
    def _accounts(self) -> Accounts:
        """Encryption of openids; its context names the app, because openids differ by app."""
        return self.environment.accounts(f"wechat/{self._client.merchant.app_id}")

    @property
    def _callback_url(self) -> str:
        return f"{self.settings.callback_base_url}/gateway/wechat/callback"

    @property
    def _api_url(self) -> str:
        from redpacket.payments.providers.wechat.login import WECHAT_API

        return self.settings.simulator_url or WECHAT_API
