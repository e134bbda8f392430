"""The app bundle of a trial, signed, and the hub on the loopback that a SuperLink gets it from.

A SuperNode with ``--trusted-entities`` runs a bundle only where one of the keys in that file signed
it. Signatures come with bundles that the SuperLink fetched from a hub: Flower's, or the one of
``FLWR_SUPERGRID_API_URL``. The hub here answers the two requests that flwr 1.41 makes of it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

__all__ = ["BundleHub", "SignedBundle", "sign_bundle"]

_KEY_ID = "fpk_dpcore"
_FETCH, _BUNDLE = "/hub/fetch-fab", "/bundle"


class SignedBundle(NamedTuple):
    """A bundle with one signature. ``public`` : the key in OpenSSH's form."""

    content: bytes
    public: str
    signature: str
    signed_at: int

    def write_trusted(self, path: str | os.PathLike[str]) -> None:
        """Write the file of ``--trusted-entities``, JSON, which YAML has as a part."""
        Path(path).write_text(json.dumps({_KEY_ID: self.public}), encoding="ascii")


def sign_bundle(path: str | os.PathLike[str], key: Ed25519PrivateKey | None = None) -> SignedBundle:
    """Return the bundle of a file, signed: the time in eight bytes and the SHA-256 of the bundle,
    as ``flwr app review`` signs it. ``key`` : by default a fresh one, which is kept nowhere."""
    key, now = key or Ed25519PrivateKey.generate(), int(time.time())
    content = Path(path).read_bytes()
    signature = key.sign(now.to_bytes(8, "big") + hashlib.sha256(content).digest())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    text = base64.urlsafe_b64encode(signature).rstrip(b"=").decode("ascii")
    return SignedBundle(content, public.decode("ascii"), text, now)


class BundleHub:
    """A server on a free port of an address that hands out one bundle, until it is closed.

    ``url`` : for ``FLWR_SUPERGRID_API_URL``.
    """

    def __init__(self, host: str) -> None:
        self.bundle: SignedBundle | None = None
        self._server = ThreadingHTTPServer((host, 0), _handler_of(self))
        self.url = f"http://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, asked: str) -> bytes | None:
        """Return what a path asks for; ``None`` for any other, and before there is a bundle."""
        bundle = self.bundle
        if bundle is None or asked not in (_FETCH, _BUNDLE):
            return None
        if asked == _BUNDLE:
            return bundle.content
        signed = {"signature": bundle.signature, "signed_at": bundle.signed_at}
        told = {
            "fab_url": self.url + _BUNDLE,
            "verifications": [{"public_key_id": _KEY_ID, **signed}],
        }
        return json.dumps(told).encode("ascii")


def _handler_of(hub: BundleHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = hub.answer(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Write no line to standard error."""

    return Handler
