"""Cryptographic primitives, all of them from the package ``cryptography``.

X25519 (RFC 7748) agrees on keys, HKDF with SHA-256 (RFC 5869) separates them by purpose, ChaCha20
(RFC 8439) expands a key to a mask, ChaCha20-Poly1305 seals what users send each other, Ed25519
(RFC 8032) signs. Every key here is used for one purpose, and but for identities in one round.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from importlib.util import find_spec

import numpy as np

from dpcore.plugin import InvalidInputError

__all__ = [
    "KEY_BYTES",
    "SEAL_BYTES",
    "SIGNATURE_BYTES",
    "agree",
    "derive",
    "digest",
    "expand",
    "key_pair",
    "opened",
    "public_identity",
    "public_key",
    "random_bytes",
    "random_subset",
    "require_primitives",
    "seal",
    "sign",
    "verify",
]

KEY_BYTES, SIGNATURE_BYTES, SEAL_BYTES = 32, 64, 16
_NONCE = bytes(12)
"""Each sealing key seals one message, so that a nonce never comes twice under it."""


def require_primitives() -> None:
    """Raise InvalidInputError where the package ``cryptography`` is not installed."""
    if find_spec("cryptography") is None:
        raise InvalidInputError(
            "Secure aggregation needs the package cryptography: pip install 'dpcore-a-ddp[secure]'."
        )


def random_bytes(count: int) -> bytes:
    """Return so many bytes of the system's entropy."""
    return os.urandom(count)


def random_subset(size: int, count: int) -> list[int]:
    """Return ``count`` different numbers below ``size``, every set of them as likely, rising."""
    chosen: set[int] = set()
    # Floyd's algorithm (Bentley & Floyd, Communications of the ACM 30, 1987).
    for last in range(size - count, size):
        drawn = secrets.randbelow(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)


def digest(*parts: bytes) -> bytes:
    """Return SHA-256 of the parts, each after its length: no two lists of parts read the same."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.digest()


def key_pair() -> tuple[bytes, bytes]:
    """Return a fresh private key of X25519, and its public key."""
    secret = random_bytes(KEY_BYTES)
    return secret, public_key(secret)


def public_key(secret: bytes) -> bytes:
    """Return the public key of a private key of X25519."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def agree(secret: bytes, public: bytes) -> bytes | None:
    """Return what both owners of the keys agree on; ``None`` for a public key that is none."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    try:
        other = X25519PublicKey.from_public_bytes(public)
        return X25519PrivateKey.from_private_bytes(secret).exchange(other)
    except ValueError:  # Of a low order: the shared key would be zero.
        return None


def derive(key: bytes, purpose: bytes) -> bytes:
    """Return the key of 32 bytes for a purpose."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, None, purpose).derive(key)


def expand(key: bytes, width: int) -> np.ndarray:
    """Return a mask of a key that is used for nothing else: uint64 of shape (width,)."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * width)), "<u8").astype(np.uint64)


def seal(key: bytes, text: bytes, about: bytes) -> bytes:
    """Return the text sealed with a key that seals nothing else, bound to what it is about."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(key).encrypt(_NONCE, text, about)


def opened(key: bytes, sealed: bytes, about: bytes) -> bytes | None:
    """Return a sealed text; ``None`` if it was altered, or sealed with or about something else."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, sealed, about)
    except InvalidTag:
        return None


def public_identity(secret: bytes) -> bytes:
    """Return the public key of a private key of Ed25519."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def sign(secret: bytes, text: bytes) -> bytes:
    """Return the signature of a text by a private key of Ed25519."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret).sign(text)


def verify(public: bytes, signature: bytes, text: bytes) -> bool:
    """Return whether the owner of a public key of Ed25519 signed a text."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True
