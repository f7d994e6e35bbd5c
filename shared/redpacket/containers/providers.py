"""Payment providers and their secrets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.containers.platform import Platform
    from redpacket.payments.login_ports import Authorizations, Logins, TokenIssuer
    from redpacket.payments.model.provider import Channel
    from redpacket.payments.provider_ports import CallbackVerifier, PaymentProvider, PayoutProvider
    from redpacket.payments.providers.host_wallet.client import HostClient
    from redpacket.payments.providers.wechat.client import WeChatClient
    from redpacket.payments.providers.wechat.js_sdk import JsSdk
    from redpacket.payments.sealed_accounts import AccountKeys, Accounts
    from redpacket.platform.ssrf_safe_http import HttpClient


CALL_MS_MAX = 5_000
"""Timeout of a gateway call; most take less than one second."""

SETTLING_MS = 60_000
"""Milliseconds for which a gateway may return NOT_FOUND after a call (docs/adr/0030)."""

_TOKEN_LIFE_MS = 2 * 60 * 60 * 1_000


@dataclass(eq=False)
class ProvidersContainer:
    """Payment providers and their secrets."""

    platform: Platform

    @cached_property
    def payee_keys(self) -> AccountKeys:
        from redpacket.payments.sealed_accounts import AccountKeys

        return AccountKeys.of(self.platform.secret(self.platform.settings.payee_keys_secret_arn))

    @cached_property
    def host_accounts(self) -> Accounts:
        from redpacket.payments.sealed_accounts import Accounts

        return Accounts(self.payee_keys, "host")

    @cached_property
    def wechat_accounts(self) -> Accounts:
        """Encryption of openids, which differ by app."""
        from redpacket.payments.sealed_accounts import Accounts

        return Accounts(self.payee_keys, f"wechat/{self.wechat_client.merchant.app_id}")

    def outgoing(self, url: str) -> HttpClient:
        from redpacket.platform.ssrf_safe_http import HttpClient

        return HttpClient(
            url, call_ms_max=CALL_MS_MAX, allows_private=bool(self.platform.settings.simulator_url)
        )

    @cached_property
    def host_client(self) -> HostClient:
        from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys

        keys = HostKeys.of(self.platform.secret(self.platform.settings.host_wallet_secret_arn))
        return HostClient(keys, self.outgoing(self.platform.settings.host_wallet_url))

    @cached_property
    def wechat_client(self) -> WeChatClient:
        from redpacket.payments.providers.wechat.client import (
            WECHAT_PAY,
            WeChatClient,
            WeChatMerchant,
        )

        merchant = WeChatMerchant.of(self.platform.secret(self.platform.settings.wechat_secret_arn))
        return WeChatClient(
            merchant,
            gateway_url=self.platform.settings.simulator_url or WECHAT_PAY,
            call_ms_max=CALL_MS_MAX,
        )

    @cached_property
    def _wechat_callback_url(self) -> str:
        return f"{self.platform.settings.callback_base_url}/gateway/wechat/callback"

    @cached_property
    def gateways_in(self) -> Mapping[Channel, PaymentProvider]:
        from redpacket.payments.model.provider import Channel

        found: dict[Channel, PaymentProvider] = {}
        if self.platform.settings.host_wallet_url:
            from redpacket.payments.providers.host_wallet.provider import HostIn

            found[Channel.HOST] = HostIn(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.platform.settings.wechat_secret_arn:
            from redpacket.payments.providers.wechat.provider import OrderSettings, WeChatIn

            found[Channel.WECHAT] = WeChatIn(
                self.wechat_client,
                self.wechat_accounts,
                OrderSettings(self._wechat_callback_url, self.wechat_client.merchant.remark),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.platform.clock.now_ms,
            )
        return found

    @cached_property
    def gateways_out(self) -> Mapping[Channel, PayoutProvider]:
        from redpacket.payments.model.provider import Channel

        found: dict[Channel, PayoutProvider] = {}
        if self.platform.settings.host_wallet_url:
            from redpacket.payments.providers.host_wallet.provider import HostOut

            found[Channel.HOST] = HostOut(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.platform.settings.wechat_secret_arn:
            from redpacket.payments.providers.wechat.provider import TransferSettings, WeChatOut

            found[Channel.WECHAT] = WeChatOut(
                self.wechat_client,
                self.wechat_accounts,
                TransferSettings(
                    self._wechat_callback_url,
                    self.platform.settings.wechat_scene.scene_id,
                    self.wechat_client.merchant.remark,
                    self.platform.settings.wechat_scene.report_infos,
                ),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.platform.clock.now_ms,
            )
        return found

    @cached_property
    def callbacks(self) -> Mapping[Channel, CallbackVerifier]:
        from redpacket.payments.model.provider import Channel

        found: dict[Channel, CallbackVerifier] = {}
        if self.platform.settings.host_result_secret:
            from redpacket.payments.providers.host_wallet.client import HostResults
            from redpacket.payments.providers.host_wallet.provider import HostCallbacks

            found[Channel.HOST] = HostCallbacks(
                HostResults(self.platform.settings.host_result_secret)
            )
        if self.platform.settings.wechat_api_v3_key:
            from redpacket.payments.providers.wechat.callbacks import CallbackKeys, WeChatCallbacks

            keys = CallbackKeys(
                self.platform.settings.wechat_mch_id,
                self.platform.settings.wechat_public_key_id,
                self.platform.settings.wechat_public_key,
                self.platform.settings.wechat_api_v3_key,
            )
            found[Channel.WECHAT] = WeChatCallbacks(keys)
        return found

    @cached_property
    def wechat_logins(self) -> Logins:
        """Exchange of WeChat codes. Raises ChannelUnavailable."""
        from redpacket.payments.providers.wechat.login import WECHAT_API, CodeKind, WeChatLogin

        self._require_wechat()
        kind = CodeKind[self.wechat_client.merchant.code_kind.upper()]
        return WeChatLogin(
            self.wechat_client.merchant,
            self.wechat_accounts,
            self.outgoing(f"{self.platform.settings.simulator_url or WECHAT_API}{kind.value}"),
            kind,
        )

    @cached_property
    def wechat_js_sdk(self) -> JsSdk:
        """Signer of the page's URLs. Raises ChannelUnavailable."""
        from redpacket.payments.providers.wechat.js_sdk import JsSdk
        from redpacket.payments.providers.wechat.login import WECHAT_API

        self._require_wechat()
        return JsSdk(
            self.wechat_client.merchant,
            self.platform.settings.share_base_url,
            lambda path: self.outgoing((self.platform.settings.simulator_url or WECHAT_API) + path),
            self.platform.clock.now_ms,
        )

    @cached_property
    def consent_gateways(self) -> Mapping[Channel, Authorizations]:
        from redpacket.payments.model.provider import Channel

        if not self.platform.settings.wechat_secret_arn:
            return {}
        from redpacket.payments.providers.wechat.authorizations import WeChatAuthorizations

        wechat = WeChatAuthorizations(
            self.wechat_client,
            self.wechat_accounts,
            notify_url=self._wechat_callback_url,
            scene_id=self.platform.settings.wechat_scene.scene_id,
        )
        return {Channel.WECHAT: wechat}

    def _require_wechat(self) -> None:
        from redpacket.payments.errors import ChannelUnavailable

        if not self.platform.settings.wechat_secret_arn:
            raise ChannelUnavailable("WeChat Pay is not set up here")

    @cached_property
    def token_issuer(self) -> TokenIssuer:
        """Issuer for users who sign in by WeChat. Raises ChannelUnavailable."""
        from redpacket.payments.clients.token_issuer import IssuerKeys, Rs256Tokens
        from redpacket.payments.errors import ChannelUnavailable

        if not self.platform.settings.wechat_issuer_url:
            raise ChannelUnavailable("users sign in at another issuer here")
        keys = IssuerKeys.of(self.platform.secret(self.platform.settings.wechat_issuer_secret_arn))
        return Rs256Tokens(
            keys,
            url=self.platform.settings.wechat_issuer_url,
            audience=self.platform.settings.jwt_audience,
            life_ms=_TOKEN_LIFE_MS,
        )
