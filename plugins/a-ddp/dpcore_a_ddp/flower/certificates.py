"""Certificates and node keys for a trial on one machine, by the package ``cryptography``.

In earnest the operator of a SuperLink has a certificate of its own (``given_certificates``), and
each user makes the key of its own SuperNode and hands the public half to the operator.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dpcore.errors import DataError, replacing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

__all__ = [
    "Certificates",
    "given_certificates",
    "make_certificates",
    "make_node_key",
    "require_private",
]

_DAYS = 30


class Certificates(NamedTuple):
    """Files of a SuperLink: who vouches for it, its certificate and its private key."""

    authority: Path
    certificate: Path
    key: Path


def given_certificates(authority: Path, certificate: Path, key: Path) -> Certificates:
    """Return whole paths of an operator's PEM files; DataError for files that are no certificate
    with its private key, without a password, and who vouches for it."""
    wrong = DataError(
        f"Expected PEM files of an authority, a certificate and its private key: {authority}, "
        f"{certificate}, {key}."
    )
    with replacing(OSError, ValueError, by=lambda _: wrong):  # ssl.SSLError is an OSError
        ssl.create_default_context(cafile=authority)
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    return Certificates(authority.resolve(), certificate.resolve(), key.resolve())


def make_certificates(folder: str | os.PathLike[str], host: str) -> Certificates:
    """Return fresh files for a SuperLink at an IP address, good for 30 days. The key of the
    authority is kept nowhere: it vouches for this one certificate."""
    made = Certificates(*(Path(folder) / name for name in ("ca.pem", "link.pem", "link.key")))
    root, own = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    name, address = _name("dpcore trial authority"), x509.IPAddress(ipaddress.ip_address(host))
    authority = (
        _certificate(name, name, root)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(root.public_key()), critical=False)
        .sign(root, hashes.SHA384())
    )
    certificate = (
        _certificate(_name(host), name, own)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False
        )
        .sign(root, hashes.SHA384())
    )
    made.authority.write_bytes(authority.public_bytes(Encoding.PEM))
    made.certificate.write_bytes(certificate.public_bytes(Encoding.PEM))
    _write_private(made.key, own, PrivateFormat.PKCS8)
    return made


def make_node_key(folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Return the files of a SuperNode's private and public key, made unless they are there.

    Raises DataError for a private key that others than its owner may read.
    """
    private, public = Path(folder) / "node.key", Path(folder) / "node.pub"
    if not private.exists():
        _write_private(private, ec.generate_private_key(ec.SECP384R1()), PrivateFormat.OpenSSH)
        public.unlink(missing_ok=True)
    require_private(private)
    if not public.exists():
        told = f"{private} is no private key in OpenSSH's form without a password."
        with replacing(ValueError, TypeError, by=lambda error: DataError(told)):
            key = load_ssh_private_key(private.read_bytes(), None)
        public.write_bytes(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH))
    return private, public


def require_private(path: Path) -> None:
    """Raise DataError for a file that others than its owner may read."""
    if path.stat().st_mode & 0o077:
        raise DataError(f"Others may read {path}, which is a secret: chmod 600, or make another.")


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
    )


def _key_usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _write_private(path: Path, key: EllipticCurvePrivateKey, form: PrivateFormat) -> None:
    """Write a private key into a file that its owner alone may read."""
    path.unlink(missing_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(key.private_bytes(Encoding.PEM, form, NoEncryption()))
