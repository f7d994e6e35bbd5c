"""Keys that verify WeChat Pay's callbacks and answers, and keys that decrypt callbacks."""

from __future__ import annotations

import re

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate

_PEM = re.compile(r"-----BEGIN ([^-]+)-----[^-]+-----END \1-----")
_API_V3_KEY_BYTES = 32


def read_public_keys(public_key: str, public_key_id: str) -> dict[str, RSAPublicKey]:
    """Return the keys, keyed by `key_id_of`, with public keys before platform certificates.

    While a merchant migrates to the public key, WeChat Pay also signs with the certificate. A
    certificate's id is its serial number, so *public_key_id* may omit the id. Raises ValueError.
    """
    keys, certificates = [], {}
    for pem in _PEM.finditer(public_key):
        try:
            if pem[1] == "CERTIFICATE":
                certificate = load_pem_x509_certificate(pem[0].encode())
                certificates[f"{certificate.serial_number:X}"] = certificate.public_key()
            else:
                keys.append(load_pem_public_key(pem[0].encode()))
        except ValueError:
            raise ValueError(f"public_key has an unreadable {pem[1]}") from None
    ids = [key_id_of(name) for name in public_key_id.split()]
    ids = [name for name in ids if name not in certificates]
    if not keys or len(ids) != len(keys):
        raise ValueError(
            f"public_key has {len(keys)} public keys, and public_key_id {len(ids)} ids of them"
        )
    by_id = {**dict(zip(ids, keys, strict=True)), **certificates}
    rsa_keys = {name: key for name, key in by_id.items() if isinstance(key, RSAPublicKey)}
    if len(rsa_keys) != len(by_id):
        raise ValueError("public_key has a key that is not RSA")
    return rsa_keys


def read_api_v3_keys(text: str) -> list[bytes]:
    """Return the keys that decrypt callbacks. Raises ValueError."""
    keys = [key.encode() for key in text.split()]
    if not keys or any(len(key) != _API_V3_KEY_BYTES for key in keys):
        raise ValueError(f"an api_v3_key has {_API_V3_KEY_BYTES} characters")
    return keys


def key_id_of(text: str) -> str:
    """Return an id or serial number in uppercase, without leading zeros, for comparisons."""
    return text.upper().lstrip("0")
