"""TLS in front of test servers: a CA with a chain like that of AWS, and a front for any port.

The wheel's Valkey is built without TLS, so Python's ssl terminates TLS in front of it.
"""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from local.ports import HOST

_DAY = dt.timedelta(days=1)
_CHUNK = 65_536


class Authority:
    """Root, intermediate and server certificates with RSA keys of 2048 bits, like those of AWS."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._root_key, self._key = _new_key(), _new_key()
        root_name, name = _name("Test Root"), _name("Test Intermediate")
        self._root = _certificate(root_name, root_name, self._root_key, self._root_key)
        self._intermediate = _certificate(name, root_name, self._key, self._root_key)
        self.bundle = folder / "root.pem"
        self.bundle.write_bytes(self._root.public_bytes(Encoding.PEM))

    def server_context(self, *hosts: str) -> ssl.SSLContext:
        """Return the TLS settings of a server for *hosts*."""
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


class Front:
    """TLS front on *port* for a plain server; *count* is the number of connections so far."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.target = 0
        self.count = 0
        self._context = context
        self._socket = socket.create_server((HOST, 0))
        self.port = int(self._socket.getsockname()[1])
        self._open: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """End all connections, as if the network failed."""
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._socket.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError), ExitStack() as closing:
            closing.enter_context(plain)
            client = closing.enter_context(self._context.wrap_socket(plain, server_side=True))
            server = closing.enter_context(socket.create_connection((HOST, self.target)))
            self.count += 1
            self._open += [client, server]
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def some_fronts(context: ssl.SSLContext, number: int) -> Iterator[list[Front]]:
    """Start fronts; the caller sets their targets."""
    fronts = [Front(context) for _ in range(number)]
    try:
        yield fronts
    finally:
        for front in fronts:
            front.close()


@contextmanager
def tls_before(port: int, context: ssl.SSLContext) -> Iterator[int]:
    """Serve TLS in front of a plain *port*; yield the TLS port."""
    with some_fronts(context, 1) as (front,):
        front.target = port
        yield front.port


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
