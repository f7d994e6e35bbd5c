"""The signatures of API v3, `WECHATPAY2-SHA256-RSA2048`, and its sealed notifications."""

import json
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256

from local.gateway.clock import MS_PER_S, wall_ms
from local.gateway.errors import Refused
from local.gateway.keys import GatewayKeys

SCHEME = "WECHATPAY2-SHA256-RSA2048"
AGE_S_MAX = 300
FIELD = re.compile(r'(\w+)="([^"]*)"')


def check_request(
    keys: GatewayKeys, method: str, target: str, headers: Mapping[str, str], body: bytes
) -> None:
    """Refuse a request that the merchant did not sign within the last five minutes."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    given = dict(FIELD.findall(rest))
    if scheme != SCHEME or not {"mchid", "nonce_str", "signature", "timestamp", "serial_no"} <= set(
        given
    ):
        raise _sign_error("the Authorization header is not complete")
    if given["mchid"] != keys.merchant.mch_id or given["serial_no"] != keys.merchant.cert_serial:
        raise _sign_error("no such merchant or certificate")
    if not given["timestamp"].isdecimal() or (
        abs(wall_ms() // MS_PER_S - int(given["timestamp"])) > AGE_S_MAX
    ):
        raise _sign_error("the timestamp is more than five minutes off")
    signed = b"%b\n%b\n%b\n%b\n%b\n" % (
        *(method.encode(), target.encode(), given["timestamp"].encode()),
        *(given["nonce_str"].encode(), body),
    )
    try:
        keys.merchants_key.verify(b64decode(given["signature"]), signed, PKCS1v15(), SHA256())
    except (InvalidSignature, ValueError):
        raise _sign_error("the signature does not fit") from None
    # Without it the gateway would have to sign with a certificate, which new merchants lack.
    if headers.get("wechatpay-serial", keys.merchant.public_key_id) != keys.merchant.public_key_id:
        raise _sign_error("Wechatpay-Serial names no key of this gateway")


def signed_headers(
    key: rsa.RSAPrivateKey, key_id: str, body: bytes, at_s: int | None = None
) -> dict[str, str]:
    """Return the headers that prove who wrote *body*, an answer or a notification."""
    timestamp = str(wall_ms() // MS_PER_S if at_s is None else at_s)
    nonce = secrets.token_hex(16)
    signed = f"{timestamp}\n{nonce}\n".encode() + body + b"\n"
    return {
        "Wechatpay-Timestamp": timestamp,
        "Wechatpay-Nonce": nonce,
        "Wechatpay-Serial": key_id,
        "Wechatpay-Signature": b64encode(key.sign(signed, PKCS1v15(), SHA256())).decode(),
        "Wechatpay-Signature-Type": SCHEME,
    }


def seal(resource: Mapping[str, Any], original_type: str, api_v3_key: str) -> dict[str, str]:
    """Return *resource* as notifications carry it."""
    nonce, associated_data = secrets.token_hex(6), original_type
    sealed = AESGCM(api_v3_key.encode()).encrypt(
        nonce.encode(), json.dumps(resource).encode(), associated_data.encode()
    )
    return {
        "original_type": original_type,
        "algorithm": "AEAD_AES_256_GCM",
        "ciphertext": b64encode(sealed).decode(),
        "associated_data": associated_data,
        "nonce": nonce,
    }


def _sign_error(message: str) -> Refused:
    return Refused(401, "SIGN_ERROR", message)
