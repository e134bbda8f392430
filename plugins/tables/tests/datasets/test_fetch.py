"""Where data set files come from: own folder, cache, network; against a server on this machine."""

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dpcore.errors import DataError
from dpcore_tables.datasets import a9a, adult, bank, kddcup99
from dpcore_tables.datasets import fetch as module
from dpcore_tables.datasets.fetch import RemoteFile, fetch

BODY = b"the published file\n" * 40_000
HASH = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
        elif self.path == "/none":
            self.send_error(404)
        elif self.path == "/silent":
            self.close_connection = True
        else:
            body = b"another file\n" if self.path == "/wrong" else BODY
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if self.path == "/cut" else body)
            self.close_connection = True

    def log_message(self, *args):
        self.server.requests.append(args)


@pytest.fixture(scope="module")
def server():
    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        httpd.requests = []
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        yield httpd
        httpd.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache" / "dpcore"
    monkeypatch.setattr(module, "_cache_dir", lambda: folder)
    monkeypatch.delenv(module.DATA_DIR_VARIABLE, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return folder


def remote(server, page):
    return RemoteFile("f.data", f"http://127.0.0.1:{server.server_port}/{page}", (HASH,))


@pytest.mark.parametrize("page", ["good", "moved"])
def test_downloads_once_and_then_takes_the_cache(server, cache, page):
    file = remote(server, page)
    path = fetch(file)
    assert path == cache / "f.data" and path.read_bytes() == BODY
    before = len(server.requests)
    assert fetch(file) == path
    assert len(server.requests) == before
    assert [p.name for p in cache.iterdir()] == ["f.data"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("wrong", "another SHA-256"),
        ("cut", "cut after [0-9]+ of [0-9]+ bytes"),
        ("none", "the server answered 404"),
        ("silent", "the connection broke|no connection"),
    ],
)
def test_a_failed_download_leaves_nothing_and_says_where_to_put_the_file(
    server, cache, page, message
):
    with pytest.raises(DataError, match=message) as caught:
        fetch(remote(server, page))
    assert "DPCORE_DATA_DIR" in str(caught.value) and "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_without_a_network(cache):
    with pytest.raises(DataError, match="no connection.*set DPCORE_DATA_DIR"):
        fetch(RemoteFile("f.data", "http://127.0.0.1:9/f", (HASH,)))


def test_an_own_folder_comes_first(server, cache, tmp_path, monkeypatch):
    monkeypatch.setenv(module.DATA_DIR_VARIABLE, str(tmp_path))
    (tmp_path / "f.data").write_bytes(BODY)
    assert fetch(remote(server, "none")) == tmp_path / "f.data"
    (tmp_path / "f.data").write_bytes(BODY[:-1])
    with pytest.raises(DataError, match="is not the published f.data: its SHA-256 is"):
        fetch(remote(server, "good"))


def test_a_damaged_cache_is_found(server, cache):
    path = fetch(remote(server, "good"))
    path.write_bytes(b"")
    with pytest.raises(DataError, match="Remove it"):
        fetch(remote(server, "good"))


def test_a_cache_that_cannot_be_written(server, cache):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")
    with pytest.raises(DataError, match="Cannot download"):
        fetch(remote(server, "good"))


def test_published_files_come_by_https():
    # What is altered on the way is refused by its digest; by https nobody learns which it was.
    files = [file for data in (a9a, adult, bank, kddcup99) for file in data.FILES]
    assert len(files) >= 5 and all(file.url.startswith("https://") for file in files)
