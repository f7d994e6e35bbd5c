"""Secret that the chat function uses with the simulated platforms."""

import json
import secrets
from pathlib import Path


def make_secret(url: str) -> dict[str, str]:
    """Return the chat function's secret for simulators at *url*."""
    return {
        "telegram_name": "RedPacketBot",
        "telegram_token": f"1:{secrets.token_hex(16)}",
        "telegram_secret": secrets.token_urlsafe(32),
        "telegram_url": f"{url}/telegram",
        "lark_app_id": "cli_local",
        "lark_app_secret": secrets.token_hex(16),
        "lark_encrypt_key": secrets.token_hex(16),
        "lark_token": secrets.token_hex(16),
        "lark_url": f"{url}/lark",
    }


def write_secret(file: Path, url: str) -> None:
    """Write a secret that only its owner can read."""
    file.touch(mode=0o600)
    file.write_text(json.dumps(make_secret(url)))
