"""Signature and encryption of Lark's calls."""

from __future__ import annotations

import hmac
from base64 import b64decode
from hashlib import sha256

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CBC
from cryptography.hazmat.primitives.padding import PKCS7

_IV_BYTES = 16


def is_signed(signature: str, timestamp: str, nonce: str, key: str, body: bytes) -> bool:
    """Return whether *signature* is Lark's hash of the other arguments."""
    made = sha256(f"{timestamp}{nonce}{key}".encode() + body).hexdigest()
    return hmac.compare_digest(made.encode(), signature.encode())


def decrypted(sealed: str, key: str) -> bytes:
    """Decrypt AES-256-CBC text that starts with the IV. Raises ValueError."""
    content = b64decode(sealed, validate=True)
    iv, encrypted = content[:_IV_BYTES], content[_IV_BYTES:]
    opened = Cipher(AES256(sha256(key.encode()).digest()), CBC(iv)).decryptor()
    padding = PKCS7(AES256.block_size).unpadder()
    return padding.update(opened.update(encrypted) + opened.finalize()) + padding.finalize()
