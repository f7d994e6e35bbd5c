"""Client of transparency logs that follows only the specifications."""

import hashlib
from base64 import b64decode

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class TlogClient:
    """Client for logs in the C2SP formats signed-note, tlog-checkpoint and tlog-tiles."""

    def __init__(self, verifier_key: str, http: httpx.Client) -> None:
        self._http = http
        self._name, key_id, key = verifier_key.split("+", 2)
        self._key_id, self._key = bytes.fromhex(key_id), b64decode(key)
        named = self._name.encode() + b"\n" + self._key
        assert self._key_id == hashlib.sha256(named).digest()[:4]
        assert self._key[0] == 1, "Ed25519"

    def get(self, path: str) -> httpx.Response:
        return self._http.get(f"/transparency{path}")

    def checkpoint(self) -> tuple[int, bytes]:
        """Return the size and the root after verifying the signature."""
        answer = self.get("/checkpoint")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        text, _, line = answer.text.rpartition("\n\n")
        dash, name, signed = line.rstrip("\n").split(" ")
        signature = b64decode(signed)
        assert (dash, name, signature[:4]) == ("\u2014", self._name, self._key_id)
        key = Ed25519PublicKey.from_public_bytes(self._key[1:])
        key.verify(signature[4:], f"{text}\n".encode())
        origin, size, root = text.split("\n")
        assert origin == self._name
        return int(size), b64decode(root)

    def tile(self, level: int | str, index: int, width: int) -> bytes:
        groups = f"{index:03d}" if index < 1_000 else f"x{index // 1_000:03d}/{index % 1_000:03d}"
        answer = self.get(f"/tile/{level}/{groups}" + (f".p/{width}" if width < 256 else ""))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert "immutable" in answer.headers["cache-control"]
        return answer.content

    def level(self, level: int, size: int) -> list[bytes]:
        """Return all hashes at a level of the tree."""
        count = size >> 8 * level
        tiles = [
            self.tile(level, index, min(256, count - 256 * index))
            for index in range(-(-count // 256))
        ]
        whole = b"".join(tiles)
        assert len(whole) == 32 * count
        return [whole[place : place + 32] for place in range(0, len(whole), 32)]

    def entries(self, size: int) -> list[bytes]:
        entries = []
        for first in range(0, size, 256):
            rest = self.tile("entries", first // 256, min(256, size - first))
            while rest:
                length = int.from_bytes(rest[:2])
                entries.append(rest[2 : 2 + length])
                rest = rest[2 + length :]
        return entries


def mth(hashes: list[bytes]) -> bytes:
    """Return the Merkle tree hash of RFC 6962 over hashes of leaves, or of complete subtrees."""
    while len(hashes) > 1:
        odd = hashes[-1:] if len(hashes) % 2 else []
        pairs = zip(hashes[::2], hashes[1::2], strict=False)
        hashes = [hashlib.sha256(b"\1" + left + right).digest() for left, right in pairs] + odd
    return hashes[0]
