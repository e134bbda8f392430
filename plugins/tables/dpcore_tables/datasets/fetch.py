"""Files of public data sets: from a folder of yours, the cache, or the network; hash-checked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcore.errors import DataError, replacing

__all__ = ["DATA_DIR_VARIABLE", "RemoteFile", "fetch"]

DATA_DIR_VARIABLE = "DPCORE_DATA_DIR"
_TIMEOUT_SECONDS = 30.0
_CHUNK_BYTES = 2**18


@dataclass(frozen=True)
class RemoteFile:
    """A public file: its name, its address and the SHA-256 of the contents that are accepted."""

    name: str
    url: str
    sha256: tuple[str, ...]


def fetch(file: RemoteFile) -> Path:
    """Return the path of a local copy with an accepted hash.

    Looks in the folder ``DPCORE_DATA_DIR``, then in the user's cache, then downloads to the cache.
    Raises DataError for a copy with another hash, and where there is none and no network, saying
    where to put the file.
    """
    own = os.environ.get(DATA_DIR_VARIABLE)
    cache = _cache_dir()
    for folder in ([Path(own)] if own else []) + [cache]:
        path = folder / file.name
        if path.is_file():
            _check(path, file)
            return path
    return _download(file, cache)


def _cache_dir() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("dpcore"))


def _check(path: Path, file: RemoteFile) -> None:
    digest = hashlib.sha256()

    def unread(error: OSError) -> DataError:
        return DataError(f"Cannot read {path}: {error.strerror}.")

    with replacing(OSError, by=unread), path.open("rb") as content:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
    if digest.hexdigest() not in file.sha256:
        raise DataError(
            f"{path} is not the published {file.name}: its SHA-256 is {digest.hexdigest()}, "
            f"expected {' or '.join(file.sha256)}. Remove it to have it downloaded."
        )


def _download(file: RemoteFile, cache: Path) -> Path:
    """Download to a file of its own and move it in place once its hash is right."""
    target = cache / file.name
    trial = cache / f".{file.name}-{secrets.token_hex(8)}.part"

    def unwritten(error: OSError) -> DataError:
        return _no_file(file, f"{cache}: {error.strerror or error}")

    try:
        with replacing(OSError, by=unwritten):
            cache.mkdir(parents=True, exist_ok=True)
            with trial.open("xb") as out:
                for chunk in _chunks(file):
                    out.write(chunk)
            _check_download(trial, file)
            os.replace(trial, target)
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()
    return target


def _chunks(file: RemoteFile) -> Iterator[bytes]:
    import http.client
    import urllib.error
    import urllib.request

    request = urllib.request.Request(file.url, headers={"User-Agent": "dpcore"})

    def broken(error: Exception) -> DataError:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            return _no_file(file, f"the server answered {error.code}")
        if isinstance(error, urllib.error.URLError):
            return _no_file(file, f"no connection ({error.reason})")
        return _no_file(file, f"the connection broke ({type(error).__name__})")

    kinds = urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError
    with (
        replacing(*kinds, by=broken),
        urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response,
    ):
        yield from _body(response, file)


def _body(response: Any, file: RemoteFile) -> Iterator[bytes]:
    announced, received = response.headers.get("Content-Length"), 0
    while chunk := response.read(_CHUNK_BYTES):
        received += len(chunk)
        yield chunk
    if announced is not None and announced.isdigit() and received < int(announced):
        raise _no_file(file, f"the connection was cut after {received} of {announced} bytes")


def _check_download(path: Path, file: RemoteFile) -> None:
    other = _no_file(file, "what was downloaded has another SHA-256")
    with replacing(DataError, by=lambda _: other):
        _check(path, file)


def _no_file(file: RemoteFile, reason: str) -> DataError:
    return DataError(
        f"Cannot download {file.name} from {file.url}: {reason}. Put the file in a folder of your "
        f"choice and set {DATA_DIR_VARIABLE} to that folder."
    )
