"""Every environment variable, read when it is needed; the only module that knows `os.environ`."""

from __future__ import annotations

import os


class SettingMissing(Exception):
    """The template does not give this function a variable that its flow needs."""


def _required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise SettingMissing(name)
    return value


def _resolved(name: str) -> str:
    value = _required(name)
    if "{{resolve" in value:
        # What CloudFormation was to replace is known to everybody, so it can't be a key.
        msg = f"{name} is not resolved"
        raise SettingMissing(msg)
    return value


def packets_table() -> str:
    """Return PACKETS_TABLE."""
    return _required("PACKETS_TABLE")


def shares_table() -> str:
    """Return SHARES_TABLE."""
    return _required("SHARES_TABLE")


def has_receipts() -> bool:
    """Return SETTLEMENT_RECEIPTS: whether each payment also leaves a receipt of its share."""
    return _required("SETTLEMENT_RECEIPTS") == "true"


def packet_id_keys() -> str:
    """Return PACKET_ID_KEYS: `version:key[,version:key]`; the first signs, all are accepted."""
    return _resolved("PACKET_ID_KEYS")


def user_id_key() -> str:
    """Return USER_ID_KEY: what user ids are hashed with; it is never replaced."""
    return _resolved("USER_ID_KEY")


def draws_table() -> str:
    """Return DRAWS_TABLE."""
    return _required("DRAWS_TABLE")


def quotas_table() -> str:
    """Return QUOTAS_TABLE."""
    return _required("QUOTAS_TABLE")


def accounts_table() -> str:
    """Return ACCOUNTS_TABLE."""
    return _required("ACCOUNTS_TABLE")


def reconciliation_table() -> str:
    """Return RECONCILIATION_TABLE."""
    return _required("RECONCILIATION_TABLE")


def profiles_table() -> str:
    """Return PROFILES_TABLE."""
    return _required("PROFILES_TABLE")


def campaigns_table() -> str:
    """Return CAMPAIGNS_TABLE."""
    return _required("CAMPAIGNS_TABLE")


def payout_queue_url() -> str:
    """Return PAYOUT_QUEUE_URL."""
    return _required("PAYOUT_QUEUE_URL")


def payout_dlq_url() -> str:
    """Return PAYOUT_DLQ_URL."""
    return _required("PAYOUT_DLQ_URL")


def cache_address() -> tuple[str, int]:
    """Return host and port of CACHE_ENDPOINT."""
    host, _, port = _required("CACHE_ENDPOINT").rpartition(":")
    return host, int(port)


def cache_has_tls() -> bool:
    """Return CACHE_TLS."""
    return _required("CACHE_TLS") == "true"


def cache_is_cluster() -> bool:
    """Return CACHE_CLUSTER."""
    return _required("CACHE_CLUSTER") == "true"


def cache_user() -> str:
    """Return CACHE_USER; empty for a cache without users."""
    return os.environ.get("CACHE_USER", "")


def cache_iam_resource() -> str:
    """Return CACHE_IAM_RESOURCE: the end of the cache's ARN, where its user signs in by IAM."""
    return os.environ.get("CACHE_IAM_RESOURCE", "")


def cache_password_secret_arn() -> str:
    """Return CACHE_PASSWORD_SECRET_ARN: where a cache's password is kept; empty for none."""
    return os.environ.get("CACHE_PASSWORD_SECRET_ARN", "")


def share_base_url() -> str:
    """Return SHARE_BASE_URL, without a slash at its end."""
    return _required("SHARE_BASE_URL").rstrip("/")


def share_fen_max() -> int:
    """Return SHARE_FEN_MAX: the largest share that any packet may hold."""
    return int(_required("SHARE_FEN_MAX"))


def avatar_hosts() -> frozenset[str]:
    """Return AVATAR_HOSTS: where avatars may lie; `*.host` is any host below one."""
    return frozenset(filter(None, os.environ.get("AVATAR_HOSTS", "").lower().split(",")))


def deposit_fen_max() -> int:
    """Return DEPOSIT_FEN_MAX: the most that one deposit may bring."""
    return int(_required("DEPOSIT_FEN_MAX"))


def open_packets_max() -> int | None:
    """Return OPEN_PACKETS_MAX: packets of one user that may be open; only sends have it."""
    text = os.environ.get("OPEN_PACKETS_MAX")
    return int(text) if text else None


def packet_count_max() -> int:
    """Return PACKET_COUNT_MAX: the most shares of a chat packet."""
    return int(_required("PACKET_COUNT_MAX"))


def admission_factor() -> int:
    """Return ADMISSION_FACTOR: how many users per share may be admitted to open, at one time."""
    return int(_required("ADMISSION_FACTOR"))


def sends_per_minute() -> int:
    """Return SENDS_PER_MINUTE: how fast one user may send, in the long run."""
    return int(_required("SENDS_PER_MINUTE"))


def send_burst() -> int:
    """Return SEND_BURST: how many packets one user may send at once."""
    return int(_required("SEND_BURST"))


def sends_per_day() -> int:
    """Return SENDS_PER_DAY: how many packets one user may send a day, in the long run."""
    return int(_required("SENDS_PER_DAY"))


def draws_per_minute() -> int:
    """Return DRAWS_PER_MINUTE: how fast one user may draw, in the long run."""
    return int(_required("DRAWS_PER_MINUTE"))


def draw_burst() -> int:
    """Return DRAW_BURST: how often one user may draw at once."""
    return int(_required("DRAW_BURST"))


def reads_per_minute() -> int:
    """Return READS_PER_MINUTE: how fast one user may read, in the long run."""
    return int(_required("READS_PER_MINUTE"))


def read_burst() -> int:
    """Return READ_BURST: how much one user may read at once."""
    return int(_required("READ_BURST"))


def grabs_per_minute() -> int:
    """Return GRABS_PER_MINUTE: how fast one user's grabs may make the ledger read."""
    return int(_required("GRABS_PER_MINUTE"))


def grab_burst() -> int:
    """Return GRAB_BURST: how many of one user's grabs may make the ledger read at once."""
    return int(_required("GRAB_BURST"))


def switches_table() -> str:
    """Return SWITCHES_TABLE."""
    return _required("SWITCHES_TABLE")


def payout_mapping_id() -> str:
    """Return PAYOUT_MAPPING_ID: what hands the payout queue's messages to its function."""
    return _required("PAYOUT_MAPPING_ID")


def campaign_count_max() -> int:
    """Return CAMPAIGN_COUNT_MAX: the most shares of a campaign's packet."""
    return int(_required("CAMPAIGN_COUNT_MAX"))


def part_share_count() -> int:
    """Return PART_SHARE_COUNT: a campaign's packet of more shares is cut into parts."""
    return int(_required("PART_SHARE_COUNT"))


def close_grace_ms() -> int:
    """Return CLOSE_GRACE_S in ms: the time between closing a packet and refunding it."""
    return int(_required("CLOSE_GRACE_S")) * 1000


def aws_region() -> str:
    """Return AWS_REGION, which Lambda gives; elsewhere AWS_DEFAULT_REGION."""
    return os.environ.get("AWS_REGION") or _required("AWS_DEFAULT_REGION")


def aws_endpoint(service: str) -> str:
    """Return AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, or AWS' own address of a service."""
    for name in (f"AWS_ENDPOINT_URL_{service.upper()}", "AWS_ENDPOINT_URL"):
        if given := os.environ.get(name):
            return given
    region = aws_region()
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return f"https://{service}.{region}.{domain}"


def has_aws_keys() -> bool:
    """Say whether AWS_ACCESS_KEY_ID is there; a profile or SnapStart keep their keys elsewhere."""
    return "AWS_ACCESS_KEY_ID" in os.environ


def aws_keys() -> tuple[str, str, str]:
    """Return AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or nothing for it.

    Lambda gives them to a sandbox at its start, and they outlive it.
    """
    return (
        _required("AWS_ACCESS_KEY_ID"),
        _required("AWS_SECRET_ACCESS_KEY"),
        os.environ.get("AWS_SESSION_TOKEN", ""),
    )


def aws_ca_bundle() -> str:
    """Return AWS_CA_BUNDLE or SSL_CERT_FILE: whom to trust for AWS in place of Amazon's roots."""
    return os.environ.get("AWS_CA_BUNDLE") or cache_ca_bundle()


def cache_ca_bundle() -> str:
    """Return SSL_CERT_FILE: whom to trust for the cache in place of the known roots."""
    return os.environ.get("SSL_CERT_FILE", "")
