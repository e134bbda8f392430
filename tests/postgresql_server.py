"""A PostgreSQL server of its own, on a Unix socket in a folder of its own, stopped by its id."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest


def programs() -> Path:
    """Return the folder of the newest server's programs, of Debian or on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if on_path is not None:
        found.append(Path(on_path))
    if not found:
        pytest.skip("there is no PostgreSQL server on this machine (no initdb)")
    return found[-1].parent


def user() -> dict[str, Any]:
    """Return the user of its processes, for ``subprocess``: the server refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        pytest.skip("root may not run a PostgreSQL server, and there is no user nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class Server:
    """A server that runs until ``stop``."""

    def __init__(self) -> None:
        import psycopg

        own, bin = user(), programs()
        folder = Path(tempfile.mkdtemp(prefix="dpcore-pg-"))
        if own:
            os.chown(folder, own["user"], own["group"])
        self.folder, data, self.count = folder, folder / "data", 0
        asked = ["--auth=trust", "--username=ann", "--no-sync", "--encoding=UTF8", "--locale=C"]
        environment = {"PATH": os.environ["PATH"], "TZ": "UTC"}
        os_options: dict[str, Any] = {**own, "cwd": folder, "env": environment}
        init = [bin / "initdb", "-D", data, *asked]
        subprocess.run(init, check=True, capture_output=True, timeout=120, **os_options)
        settings = ["-c", "listen_addresses=", "-c", "shared_buffers=16MB", "-c", "timezone=UTC"]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [bin / "postgres", "-D", data, "-k", folder, *settings],
                stdout=log,
                stderr=log,
                **os_options,
            )
        until = time.monotonic() + 60
        while True:
            try:
                self.connection = psycopg.connect(self.database, autocommit=True)
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.05)

    @property
    def database(self) -> str:
        return f"postgresql://ann@/postgres?host={quote(str(self.folder), safe='')}"

    def address(self) -> str:
        """Return the address of a ledger that is not there yet."""
        self.count += 1
        return f"{self.database}&ledger=ledger_{self.count}"

    def stop(self) -> None:
        """End it and all that it wrote."""
        self.connection.close()
        self.process.send_signal(signal.SIGINT)  # SIGTERM waits for whoever is connected
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)
