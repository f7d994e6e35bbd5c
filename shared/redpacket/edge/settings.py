"""Every environment variable, read when it is needed; the only module that knows `os.environ`."""

from __future__ import annotations

import os
from collections.abc import Mapping


class SettingMissing(Exception):
    """A variable that a flow needs is not given to this function, or is ill-formed."""


class Settings:
    """What a function is given by its environment; a test gives its own *variables*."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def _required(self, name: str) -> str:
        value = self._variables.get(name)
        if not value:
            raise SettingMissing(name)
        return value

    def _hosts(self, name: str) -> frozenset[str]:
        return frozenset(filter(None, self._variables.get(name, "").lower().split(",")))

    def _integer(self, name: str) -> int:
        value = self._required(name)
        try:
            return int(value)
        except ValueError as error:
            raise SettingMissing(f"{name} is not an integer") from error

    def _resolved(self, name: str) -> str:
        value = self._required(name)
        if "{{resolve" in value:
            # What CloudFormation was to replace is known to everybody, so it can't be a key.
            msg = f"{name} is not resolved"
            raise SettingMissing(msg)
        return value

    def packets_table(self) -> str:
        """Return PACKETS_TABLE."""
        return self._required("PACKETS_TABLE")

    def shares_table(self) -> str:
        """Return SHARES_TABLE."""
        return self._required("SHARES_TABLE")

    def has_receipts(self) -> bool:
        """Return SETTLEMENT_RECEIPTS: whether each payment also leaves a receipt of its share."""
        return self._required("SETTLEMENT_RECEIPTS") == "true"

    def packet_id_keys(self) -> str:
        """Return PACKET_ID_KEYS: `version:key[,version:key]`; the first signs, all are accepted."""
        return self._resolved("PACKET_ID_KEYS")

    def seed_keys(self) -> str:
        """Return SEED_KEYS: `{"1":"key",...}`, what seals seeds, by version; the newest seals."""
        return self._resolved("SEED_KEYS")

    def has_seed_keys(self) -> bool:
        """Tell whether SEED_KEYS is there: only functions that compute amounts or draws have it."""
        return "SEED_KEYS" in self._variables

    def user_id_key(self) -> str:
        """Return USER_ID_KEY: what user ids are hashed with; it is never replaced."""
        return self._resolved("USER_ID_KEY")

    def draws_table(self) -> str:
        """Return DRAWS_TABLE."""
        return self._required("DRAWS_TABLE")

    def quotas_table(self) -> str:
        """Return QUOTAS_TABLE."""
        return self._required("QUOTAS_TABLE")

    def accounts_table(self) -> str:
        """Return ACCOUNTS_TABLE."""
        return self._required("ACCOUNTS_TABLE")

    def reconciliation_table(self) -> str:
        """Return RECONCILIATION_TABLE."""
        return self._required("RECONCILIATION_TABLE")

    def profiles_table(self) -> str:
        """Return PROFILES_TABLE."""
        return self._required("PROFILES_TABLE")

    def campaigns_table(self) -> str:
        """Return CAMPAIGNS_TABLE."""
        return self._required("CAMPAIGNS_TABLE")

    def payout_queue_url(self) -> str:
        """Return PAYOUT_QUEUE_URL."""
        return self._required("PAYOUT_QUEUE_URL")

    def payout_dlq_url(self) -> str:
        """Return PAYOUT_DLQ_URL."""
        return self._required("PAYOUT_DLQ_URL")

    def cache_address(self) -> tuple[str, int]:
        """Return host and port of CACHE_ENDPOINT."""
        host, _, port = self._required("CACHE_ENDPOINT").rpartition(":")
        if not (host and port.isdigit()):
            raise SettingMissing("CACHE_ENDPOINT is not host:port")
        return host, int(port)

    def cache_has_tls(self) -> bool:
        """Return CACHE_TLS."""
        return self._required("CACHE_TLS") == "true"

    def cache_is_cluster(self) -> bool:
        """Return CACHE_CLUSTER."""
        return self._required("CACHE_CLUSTER") == "true"

    def cache_user(self) -> str:
        """Return CACHE_USER; empty for a cache without users."""
        return self._variables.get("CACHE_USER", "")

    def cache_iam_resource(self) -> str:
        """Return CACHE_IAM_RESOURCE: the end of the cache's ARN, where its user signs in by IAM."""
        return self._variables.get("CACHE_IAM_RESOURCE", "")

    def cache_password_secret_arn(self) -> str:
        """Return CACHE_PASSWORD_SECRET_ARN: where a cache's password is kept; empty for none."""
        return self._variables.get("CACHE_PASSWORD_SECRET_ARN", "")

    def share_base_url(self) -> str:
        """Return SHARE_BASE_URL, without a slash at its end."""
        return self._required("SHARE_BASE_URL").rstrip("/")

    def share_fen_max(self) -> int:
        """Return SHARE_FEN_MAX: the largest share that any packet may hold."""
        return self._integer("SHARE_FEN_MAX")

    def avatar_hosts(self) -> frozenset[str]:
        """Return AVATAR_HOSTS: where avatars may lie; `*.host` is any host below one."""
        return self._hosts("AVATAR_HOSTS")

    def cover_hosts(self) -> frozenset[str]:
        """Return COVER_HOSTS: where covers of packets may lie, as avatars."""
        return self._hosts("COVER_HOSTS")

    def deposit_fen_max(self) -> int:
        """Return DEPOSIT_FEN_MAX: the most that one deposit may bring."""
        return self._integer("DEPOSIT_FEN_MAX")

    def open_packets_max(self) -> int | None:
        """Return OPEN_PACKETS_MAX: packets of one user that may be open; only sends have it."""
        is_given = self._variables.get("OPEN_PACKETS_MAX")
        return self._integer("OPEN_PACKETS_MAX") if is_given else None

    def packet_count_max(self) -> int:
        """Return PACKET_COUNT_MAX: the most shares of a chat packet."""
        return self._integer("PACKET_COUNT_MAX")

    def admission_factor(self) -> int:
        """Return ADMISSION_FACTOR: how many users per share may be admitted at one time."""
        return self._integer("ADMISSION_FACTOR")

    def sends_per_minute(self) -> int:
        """Return SENDS_PER_MINUTE: how fast one user may send, in the long run."""
        return self._integer("SENDS_PER_MINUTE")

    def send_burst(self) -> int:
        """Return SEND_BURST: how many packets one user may send at once."""
        return self._integer("SEND_BURST")

    def sends_per_day(self) -> int:
        """Return SENDS_PER_DAY: how many packets one user may send a day, in the long run."""
        return self._integer("SENDS_PER_DAY")

    def draws_per_minute(self) -> int:
        """Return DRAWS_PER_MINUTE: how fast one user may draw, in the long run."""
        return self._integer("DRAWS_PER_MINUTE")

    def draw_burst(self) -> int:
        """Return DRAW_BURST: how often one user may draw at once."""
        return self._integer("DRAW_BURST")

    def reads_per_minute(self) -> int:
        """Return READS_PER_MINUTE: how fast one user may read, in the long run."""
        return self._integer("READS_PER_MINUTE")

    def read_burst(self) -> int:
        """Return READ_BURST: how much one user may read at once."""
        return self._integer("READ_BURST")

    def grabs_per_minute(self) -> int:
        """Return GRABS_PER_MINUTE: how fast one user's grabs may make the ledger read."""
        return self._integer("GRABS_PER_MINUTE")

    def grab_burst(self) -> int:
        """Return GRAB_BURST: how many of one user's grabs may make the ledger read at once."""
        return self._integer("GRAB_BURST")

    def switches_table(self) -> str:
        """Return SWITCHES_TABLE."""
        return self._required("SWITCHES_TABLE")

    def payout_mapping_id(self) -> str:
        """Return PAYOUT_MAPPING_ID: what hands the payout queue's messages to its function."""
        return self._required("PAYOUT_MAPPING_ID")

    def payments_table(self) -> str:
        """Return PAYMENTS_TABLE."""
        return self._required("PAYMENTS_TABLE")

    def notice_queue_url(self) -> str:
        """Return NOTICE_QUEUE_URL."""
        return self._required("NOTICE_QUEUE_URL")

    def payment_function(self) -> str:
        """Return PAYMENT_FUNCTION: the alias that orders the payments of packets."""
        return self._required("PAYMENT_FUNCTION")

    def payment_channels(self) -> frozenset[str]:
        """Return PAYMENT_CHANNELS: by which gateways packets may be paid for."""
        return frozenset(filter(None, self._variables.get("PAYMENT_CHANNELS", "").split(",")))

    def payee_keys_secret_arn(self) -> str:
        """Return PAYEE_KEYS_SECRET_ARN: where the keys of users' accounts at gateways are."""
        return self._required("PAYEE_KEYS_SECRET_ARN")

    def host_wallet_url(self) -> str:
        """Return HOST_WALLET_URL; empty where the embedding app has no wallet."""
        return self._variables.get("HOST_WALLET_URL", "")

    def host_wallet_secret_arn(self) -> str:
        """Return HOST_WALLET_SECRET_ARN."""
        return self._required("HOST_WALLET_SECRET_ARN")

    def wechat_secret_arn(self) -> str:
        """Return WECHAT_SECRET_ARN; empty for no WeChat Pay."""
        return self._variables.get("WECHAT_SECRET_ARN", "")

    def wechat_pay_url(self) -> str:
        """Return WECHAT_PAY_URL, where API v3 is."""
        return self._required("WECHAT_PAY_URL")

    def wechat_api_url(self) -> str:
        """Return WECHAT_API_URL, where codes are taken."""
        return self._required("WECHAT_API_URL")

    def wechat_code_kind(self) -> str:
        """Return WECHAT_CODE_KIND: where clients get their codes."""
        return self._required("WECHAT_CODE_KIND")

    def wechat_scene_id(self) -> str:
        """Return WECHAT_SCENE_ID."""
        return self._required("WECHAT_SCENE_ID")

    def wechat_remark(self) -> str:
        """Return WECHAT_REMARK: what users see beside a payment and a transfer."""
        return self._required("WECHAT_REMARK")

    def wechat_report_infos(self) -> tuple[tuple[str, str], ...]:
        """Return WECHAT_REPORT_INFOS: names and contents that the scene must report."""
        pairs = [item.partition("=") for item in self._required("WECHAT_REPORT_INFOS").split(",")]
        if not all(name and content for name, _, content in pairs):
            raise SettingMissing("WECHAT_REPORT_INFOS is not name=content[,name=content]")
        return tuple((name, content) for name, _, content in pairs)

    def wechat_issuer_url(self) -> str:
        """Return WECHAT_ISSUER_URL: whose tokens users get who sign in by WeChat; may be empty."""
        return self._variables.get("WECHAT_ISSUER_URL", "")

    def wechat_issuer_secret_arn(self) -> str:
        """Return WECHAT_ISSUER_SECRET_ARN."""
        return self._required("WECHAT_ISSUER_SECRET_ARN")

    def jwt_audience(self) -> str:
        """Return JWT_AUDIENCE: whom the tokens of our own issuer are for."""
        return self._required("JWT_AUDIENCE")

    def callback_base_url(self) -> str:
        """Return CALLBACK_BASE_URL: the API, as gateways reach it."""
        return self._required("CALLBACK_BASE_URL").rstrip("/")

    def allows_private_gateways(self) -> bool:
        """Return PRIVATE_GATEWAYS: whether gateways may have private addresses, and http."""
        return self._required("PRIVATE_GATEWAYS") == "true"

    def refunds_late_payments(self) -> bool:
        """Return LATE_PAYMENTS: whether what comes after its order was closed goes back."""
        return self._required("LATE_PAYMENTS") == "refund"

    def payments_per_day(self) -> int:
        """Return PAYMENTS_PER_DAY: how many payments one user may begin a day."""
        return self._integer("PAYMENTS_PER_DAY")

    def withdrawal_fen_min(self) -> int:
        """Return WITHDRAWAL_FEN_MIN."""
        return self._integer("WITHDRAWAL_FEN_MIN")

    def withdrawal_fen_max(self) -> int:
        """Return WITHDRAWAL_FEN_MAX."""
        return self._integer("WITHDRAWAL_FEN_MAX")

    def withdrawals_per_day(self) -> int:
        """Return WITHDRAWALS_PER_DAY, of one user."""
        return self._integer("WITHDRAWALS_PER_DAY")

    def withdrawal_fen_per_day(self) -> int:
        """Return WITHDRAWAL_FEN_PER_DAY, of one user."""
        return self._integer("WITHDRAWAL_FEN_PER_DAY")

    def withdraw_above_fen(self) -> int:
        """Return WITHDRAW_ABOVE_FEN: from when on balances are paid out by themselves; 0: never."""
        return int(self._variables.get("WITHDRAW_ABOVE_FEN", "0"))

    def bills_per_minute(self) -> int:
        """Return BILLS_PER_MINUTE: transfers that a gateway takes of all users together."""
        return self._integer("BILLS_PER_MINUTE")

    def night_window(self) -> str:
        """Return NIGHT_WINDOW: when no transfer is made, like 23:00-07:00; empty for never."""
        return self._variables.get("NIGHT_WINDOW", "")

    def campaign_count_max(self) -> int:
        """Return CAMPAIGN_COUNT_MAX: the most shares of a campaign's packet."""
        return self._integer("CAMPAIGN_COUNT_MAX")

    def part_share_count(self) -> int:
        """Return PART_SHARE_COUNT: a campaign's packet of more shares is cut into parts."""
        return self._integer("PART_SHARE_COUNT")

    def close_grace_ms(self) -> int:
        """Return CLOSE_GRACE_S in ms: the time between closing a packet and refunding it."""
        return self._integer("CLOSE_GRACE_S") * 1000

    def aws_region(self) -> str:
        """Return AWS_REGION, which Lambda gives; elsewhere AWS_DEFAULT_REGION."""
        return self._variables.get("AWS_REGION") or self._required("AWS_DEFAULT_REGION")

    def aws_endpoint(self, service: str) -> str:
        """Return AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, or AWS' own address of a service."""
        for name in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
            if given := self._variables.get(name):
                return given
        region = self.aws_region()
        domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        return f"https://{service}.{region}.{domain}"

    def has_aws_keys(self) -> bool:
        """Tell whether AWS_ACCESS_KEY_ID is there; a profile and SnapStart keep keys elsewhere."""
        return "AWS_ACCESS_KEY_ID" in self._variables

    def aws_keys(self) -> tuple[str, str, str]:
        """Return AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or nothing for it.

        Lambda gives them to a sandbox at its start, and they outlive it.
        """
        return (
            self._required("AWS_ACCESS_KEY_ID"),
            self._required("AWS_SECRET_ACCESS_KEY"),
            self._variables.get("AWS_SESSION_TOKEN", ""),
        )

    def aws_ca_bundle(self) -> str:
        """Return AWS_CA_BUNDLE or SSL_CERT_FILE: whom to trust for AWS, not Amazon's roots."""
        return self._variables.get("AWS_CA_BUNDLE") or self.cache_ca_bundle()

    def cache_ca_bundle(self) -> str:
        """Return SSL_CERT_FILE: whom to trust for the cache in place of the known roots."""
        return self._variables.get("SSL_CERT_FILE", "")


settings = Settings(os.environ)
"""This process' own: the variables are looked up when they are needed."""
