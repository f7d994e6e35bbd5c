"""OpenID issuer in one file, for the page's sign-in (authorization code flow) and for scripts.

    .local/venv/app/bin/python examples/issuer/issuer.py
    make up JWT_ISSUER=http://127.0.0.1:18990

The issuer accepts every name, so use it only for local development. `curl -d sub=alice
http://127.0.0.1:18990/token` returns a token for alice without the page.
"""

import argparse
import json
import secrets
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

TOKEN_TTL_S = 3_600
FORM = '<form method="post">Who are you? <input name="sub" autofocus><button>Sign in</button>'


def serve(port: int, audience: str) -> ThreadingHTTPServer:
    """Return the issuer's server, without starting it."""
    url, key = f"http://127.0.0.1:{port}", rsa.generate_private_key(65537, 2048)
    users: dict[str, str] = {}
    public = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    documents = {
        "/.well-known/openid-configuration": {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/jwks.json",
            "id_token_signing_alg_values_supported": ["RS256"],
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
        },
        "/jwks.json": {"keys": [{**public, "kid": "1", "use": "sig", "alg": "RS256"}]},
    }

    def token(sub: str) -> str:
        now_s = int(time.time())
        names = {"iss": url, "aud": audience, "sub": sub, "nickname": sub.title()}
        claims = {**names, "iat": now_s, "exp": now_s + TOKEN_TTL_S}
        return jwt.encode(claims, key, algorithm="RS256", headers={"kid": "1"})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path == "/authorize":
                self._send(200, FORM.encode(), {"content-type": "text/html"})
            elif path in documents:
                self._send(200, json.dumps(documents[path]).encode())
            else:
                self._send(404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            form = {name: value for name, (value, *_) in parse_qs(body).items()}
            address = urlsplit(self.path)
            if address.path == "/authorize":
                asked = {name: value for name, (value, *_) in parse_qs(address.query).items()}
                code = secrets.token_urlsafe()
                users[code] = form["sub"]
                back = urlencode({"code": code, "state": asked["state"]})
                self._send(303, headers={"location": f"{asked['redirect_uri']}?{back}"})
            elif sub := form.get("sub") or users.pop(form.get("code", ""), None):
                told = {"access_token": token(sub), "token_type": "Bearer"}
                self._send(200, json.dumps({**told, "expires_in": TOKEN_TTL_S}).encode())
            else:
                self._send(400, b'{"error": "invalid_grant"}')

        def _send(
            self, status: int, body: bytes = b"", headers: dict[str, str] | None = None
        ) -> None:
            self.send_response(status)
            told = {"content-type": "application/json", "access-control-allow-origin": "*"}
            told |= {"content-length": str(len(body)), **(headers or {})}
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    """Serve the issuer."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--port", type=int, default=18990)
    arguments.add_argument("--audience", default="redpacket")
    given = arguments.parse_args()
    print(f"http://127.0.0.1:{given.port} issues tokens for {given.audience}", flush=True)
    serve(given.port, given.audience).serve_forever()


if __name__ == "__main__":
    main()
