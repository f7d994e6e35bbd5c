"""TLS before servers of our own: a test CA with a chain as AWS has it, and a front for any port."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from local.ports import HOST

_DAY = dt.timedelta(days=1)


class Authority:
    """A root, an intermediate, and certificates of servers; RSA of 2048 bits, as AWS' are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root_key, self._key = _new_key(), _new_key()
        root_name, name = _name("Test Root"), _name("Test Intermediate")
        self._root = _certificate(root_name, root_name, self._root_key, self._root_key)
        self._intermediate = _certificate(name, root_name, self._key, self._root_key)
        self.bundle = folder / "root.pem"
        self.bundle.write_bytes(self._root.public_bytes(Encoding.PEM))

    def server_context(self, *hosts: str) -> ssl.SSLContext:
        """Return what a server needs that answers for *hosts*."""
        key = _new_key()
        leaf = _certificate(_name("Test Server"), _name("Test Intermediate"), key, self._key, hosts)
        chain = self._folder / "server.pem"
        plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        certificates = (each.public_bytes(Encoding.PEM) for each in (leaf, self._intermediate))
        chain.write_bytes(plain + b"".join(certificates))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        chain.unlink()
        return context


@contextmanager
def tls_before(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """Listen with TLS before a server's plain *port*; yield the port to connect to."""
    with socket.create_server((HOST, 0)) as listening:
        thread = threading.Thread(target=_accept, args=(listening, port, context), daemon=True)
        thread.start()
        try:
            yield int(listening.getsockname()[1])
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _accept(listening: socket.socket, port: int, context: ssl.SSLContext) -> None:
    with suppress(OSError):
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=_serve, args=(accepted, port, context), daemon=True).start()


def _serve(accepted: socket.socket, port: int, context: ssl.SSLContext) -> None:
    with (
        suppress(OSError),
        accepted,
        context.wrap_socket(accepted, server_side=True) as near,
        socket.create_connection((HOST, port)) as far,
    ):
        back = threading.Thread(target=_copy, args=(far, near), daemon=True)
        back.start()
        _copy(near, far)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: rsa.RSAPrivateKey,
    issuer_key: rsa.RSAPrivateKey,
    hosts: tuple[str, ...] = (),
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    is_authority = not hosts
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
            critical=False,
        )
    )
    if is_authority:
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        built = built.add_extension(usage, critical=True)
    else:
        names = x509.SubjectAlternativeName([_general(host) for host in hosts])
        built = built.add_extension(names, critical=False)
    return built.sign(issuer_key, hashes.SHA256())


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
