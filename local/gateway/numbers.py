"""Numbers that a counterparty gives: the same ones whenever the same things happen."""

from base64 import urlsafe_b64encode
from hashlib import sha256


def digest(*of: object, digits: int) -> str:
    """Return *digits* digits that are always the same for the same words."""
    value = int.from_bytes(sha256("/".join(map(str, of)).encode()).digest())
    return str(value % 10**digits).zfill(digits)


def openid_of(app_id: str, name: str) -> str:
    """Return the openid of the user *name* under an app id: 28 characters, as real ones."""
    hashed = sha256(f"openid/{app_id}/{name}".encode()).digest()
    return "o" + urlsafe_b64encode(hashed).decode()[:27]
