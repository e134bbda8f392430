"""A signed app bundle and the hub that hands it out, without Flower's processes."""

import base64
import hashlib
import json
import tomllib
import urllib.error
import urllib.request

import pytest

pytest.importorskip("cryptography", reason="needs the extra dpcore-a-ddp[secure]")

from cryptography.exceptions import InvalidSignature  # noqa: E402
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from cryptography.hazmat.primitives.serialization import load_ssh_public_key  # noqa: E402

from dpcore_a_ddp.flower.bundle import BundleHub, sign_bundle  # noqa: E402
from dpcore_a_ddp.flower.processes import _APP_SPEC, APP  # noqa: E402


@pytest.fixture
def hub():
    served = BundleHub("127.0.0.1")
    yield served
    served.close()


def asked(url, **given):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, **given), timeout=5) as answer:
        return answer.read()


def holds(trusted, content, told):
    """Whether a bundle is of a trusted key, as flwr 1.41 decides it."""
    (signed,) = told["verifications"]
    key = load_ssh_public_key(json.loads(trusted.read_text())[signed["public_key_id"]].encode())
    signature = base64.urlsafe_b64decode(signed["signature"] + "==")
    try:
        key.verify(
            signature, signed["signed_at"].to_bytes(8, "big") + hashlib.sha256(content).digest()
        )
    except InvalidSignature:
        return False
    return True


def test_a_hub_hands_out_the_bundle_and_a_signature_that_holds_for_it_alone(hub, tmp_path):
    file, trusted = tmp_path / "app.fab", tmp_path / "trusted.yaml"
    file.write_bytes(b"bundle")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(f"{hub.url}/hub/fetch-fab", data=b"{}")
    hub.bundle = sign_bundle(file)
    hub.bundle.write_trusted(trusted)
    told = json.loads(asked(f"{hub.url}/hub/fetch-fab", data=b'{"app_id": "@a/b"}'))
    content = asked(told["fab_url"])
    assert content == b"bundle" and holds(trusted, content, told)
    assert not holds(trusted, b"another", told)
    sign_bundle(file).write_trusted(trusted)  # another key's
    assert not holds(trusted, content, told)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(f"{hub.url}/app.fab")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        asked(f"{hub.url}/../etc/passwd")


def test_a_key_of_ones_own_signs(tmp_path):
    (tmp_path / "app.fab").write_bytes(b"bundle")
    key = Ed25519PrivateKey.generate()
    one, other = (sign_bundle(tmp_path / "app.fab", key) for _ in range(2))
    assert one.public == other.public and one.public.startswith("ssh-ed25519 ")


def test_the_run_is_of_the_app_that_is_built():
    told = tomllib.loads((APP / "pyproject.toml").read_text())
    publisher, project = told["tool"]["flwr"]["app"]["publisher"], told["project"]
    assert f"@{publisher}/{project['name']}=={project['version']}" == _APP_SPEC
