"""In-memory key that signs the public log's heads."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class FakeSigner:
    """HeadSigner that stores everything it signed in *messages*."""

    def __init__(self, secret: int = 20_261_122) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(secret.to_bytes(32))
        self.messages: list[bytes] = []

    def sign(self, message: bytes) -> bytes:
        self.messages.append(message)
        return self._key.sign(message)

    def public_key(self) -> bytes:
        return self._key.public_key().public_bytes_raw()
