"""Wiring of gateways, their clients, and keys that only these functions read."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.edge.wiring.operations import Operations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.adapters.payments.accounts import AccountKeys, Accounts
    from redpacket.adapters.payments.host_client import HostClient
    from redpacket.adapters.payments.outgoing import Outgoing
    from redpacket.adapters.payments.wechat_client import WeChatClient
    from redpacket.domain.gateway import Channel
    from redpacket.ports.gateways import Callbacks, PaymentsIn, PaymentsOut
    from redpacket.ports.logins import Authorizations, Logins, TokenIssuer

CALL_MS_MAX = 5_000
"""Timeout of a gateway call; most take less than one second."""

SETTLING_MS = 60_000
"""Milliseconds for which a gateway may return NOT_FOUND after a call (docs/adr/0030)."""

_TOKEN_LIFE_MS = 2 * 60 * 60 * 1_000


class Gateways(Operations):
    """Wiring of adapters/payments."""

    def secret(self, arn: str) -> str:
        """Return a secret's text. Raises Unavailable."""
        from redpacket.adapters.aws.errors import translated

        with translated("the store of secrets"):
            found = self.aws("secretsmanager").get_secret_value(SecretId=arn)
        return str(found["SecretString"])

    @cached_property
    def payee_keys(self) -> AccountKeys:
        from redpacket.adapters.payments.accounts import AccountKeys

        return AccountKeys.of(self.secret(self.settings.payee_keys_secret_arn))

    @cached_property
    def host_accounts(self) -> Accounts:
        from redpacket.adapters.payments.accounts import Accounts

        return Accounts(self.payee_keys, "host")

    @cached_property
    def wechat_accounts(self) -> Accounts:
        """Encryption of openids, which differ by app."""
        from redpacket.adapters.payments.accounts import Accounts

        return Accounts(self.payee_keys, f"wechat/{self.wechat_client.merchant.app_id}")

    def outgoing(self, url: str) -> Outgoing:
        from redpacket.adapters.payments.outgoing import Outgoing

        return Outgoing(
            url, call_ms_max=CALL_MS_MAX, allows_private=bool(self.settings.simulator_url)
        )

    @cached_property
    def host_client(self) -> HostClient:
        from redpacket.adapters.payments.host_client import HostClient, HostKeys

        keys = HostKeys.of(self.secret(self.settings.host_wallet_secret_arn))
        return HostClient(keys, self.outgoing(self.settings.host_wallet_url))

    @cached_property
    def wechat_client(self) -> WeChatClient:
        from redpacket.adapters.payments.wechat_client import (
            WECHAT_PAY,
            WeChatClient,
            WeChatMerchant,
        )

        merchant = WeChatMerchant.of(self.secret(self.settings.wechat_secret_arn))
        return WeChatClient(
            merchant, gateway_url=self.settings.simulator_url or WECHAT_PAY, call_ms_max=CALL_MS_MAX
        )

    @cached_property
    def _wechat_callback_url(self) -> str:
        return f"{self.settings.callback_base_url}/gateway/wechat/callback"

    @cached_property
    def gateways_in(self) -> Mapping[Channel, PaymentsIn]:
        from redpacket.domain.gateway import Channel

        found: dict[Channel, PaymentsIn] = {}
        if self.settings.host_wallet_url:
            from redpacket.adapters.payments.host import HostIn

            found[Channel.HOST] = HostIn(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.settings.wechat_secret_arn:
            from redpacket.adapters.payments.wechat import OrderSettings, WeChatIn

            found[Channel.WECHAT] = WeChatIn(
                self.wechat_client,
                self.wechat_accounts,
                OrderSettings(self._wechat_callback_url, self.wechat_client.merchant.remark),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.clock.now_ms,
            )
        return found

    @cached_property
    def gateways_out(self) -> Mapping[Channel, PaymentsOut]:
        from redpacket.domain.gateway import Channel

        found: dict[Channel, PaymentsOut] = {}
        if self.settings.host_wallet_url:
            from redpacket.adapters.payments.host import HostOut

            found[Channel.HOST] = HostOut(
                self.host_client,
                self.host_accounts,
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
            )
        if self.settings.wechat_secret_arn:
            from redpacket.adapters.payments.wechat import TransferSettings, WeChatOut

            found[Channel.WECHAT] = WeChatOut(
                self.wechat_client,
                self.wechat_accounts,
                TransferSettings(
                    self._wechat_callback_url,
                    self.settings.wechat_scene.scene_id,
                    self.wechat_client.merchant.remark,
                    self.settings.wechat_scene.report_infos,
                ),
                settling_ms=SETTLING_MS,
                call_ms_max=CALL_MS_MAX,
                now_ms=self.clock.now_ms,
            )
        return found

    @cached_property
    def callbacks(self) -> Mapping[Channel, Callbacks]:
        from redpacket.domain.gateway import Channel

        found: dict[Channel, Callbacks] = {}
        if self.settings.host_result_secret:
            from redpacket.adapters.payments.host import HostCallbacks
            from redpacket.adapters.payments.host_client import HostResults

            found[Channel.HOST] = HostCallbacks(HostResults(self.settings.host_result_secret))
        if self.settings.wechat_api_v3_key:
            from redpacket.adapters.payments.wechat_callbacks import CallbackKeys, WeChatCallbacks

            keys = CallbackKeys(
                self.settings.wechat_mch_id,
                self.settings.wechat_public_key_id,
                self.settings.wechat_public_key,
                self.settings.wechat_api_v3_key,
            )
            found[Channel.WECHAT] = WeChatCallbacks(keys)
        return found

    @cached_property
    def wechat_logins(self) -> Logins:
        """Exchange of WeChat codes. Raises ChannelUnavailable."""
        from redpacket.adapters.payments.wechat_login import WECHAT_API, CodeKind, WeChatLogin

        self._require_wechat()
        kind = CodeKind[self.wechat_client.merchant.code_kind.upper()]
        return WeChatLogin(
            self.wechat_client.merchant,
            self.wechat_accounts,
            self.outgoing(f"{self.settings.simulator_url or WECHAT_API}{kind.value}"),
            kind,
        )

    @cached_property
    def consent_gateways(self) -> Mapping[Channel, Authorizations]:
        from redpacket.domain.gateway import Channel

        if not self.settings.wechat_secret_arn:
            return {}
        from redpacket.adapters.payments.wechat_authorizations import WeChatAuthorizations

        wechat = WeChatAuthorizations(
            self.wechat_client,
            self.wechat_accounts,
            notify_url=self._wechat_callback_url,
            scene_id=self.settings.wechat_scene.scene_id,
        )
        return {Channel.WECHAT: wechat}

    def _require_wechat(self) -> None:
        from redpacket.domain.errors import ChannelUnavailable

        if not self.settings.wechat_secret_arn:
            raise ChannelUnavailable("WeChat Pay is not set up here")

    @cached_property
    def token_issuer(self) -> TokenIssuer:
        """Issuer for users who sign in by WeChat. Raises ChannelUnavailable."""
        from redpacket.adapters.payments.issuer import IssuerKeys, Rs256Tokens
        from redpacket.domain.errors import ChannelUnavailable

        if not self.settings.wechat_issuer_url:
            raise ChannelUnavailable("users sign in at another issuer here")
        keys = IssuerKeys.of(self.secret(self.settings.wechat_issuer_secret_arn))
        return Rs256Tokens(
            keys,
            url=self.settings.wechat_issuer_url,
            audience=self.settings.jwt_audience,
            life_ms=_TOKEN_LIFE_MS,
        )
