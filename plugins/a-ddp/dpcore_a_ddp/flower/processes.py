"""Flower's processes on this machine: one SuperLink, and SuperNodes, started and stopped.

Everything listens on 127.0.0.1, but for a SuperLink that is told another address, and writes into
one folder; what nodes and SuperLink say to each other is TLS. A node has a key of its own, and the
SuperLink takes registered keys alone. A node runs that app bundle alone which was signed for this
deployment. Flower's reports to its makers and its look for updates are switched off, and it
installs nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from dpcore.errors import DpcoreError
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.flower.bundle import BundleHub, sign_bundle
from dpcore_a_ddp.flower.certificates import Certificates, make_certificates, make_node_key

__all__ = ["APP", "LOOPBACK", "Deployment", "DeploymentError"]

APP = Path(__file__).parent / "app"
_APP_SPEC = "@dpcore/dpcore-a-ddp-app==0.1.0"
"""Its publisher, name and version."""
LOOPBACK = "127.0.0.1"
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    # Flower looks for new work once a second by default.
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
}
_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
_LOOK_SECONDS = 0.1


class DeploymentError(DpcoreError):
    """A process of Flower did not start, or its run ended without a result."""


class Deployment:
    """Starts processes and ends those that it started, when it is left.

    Parameters
    ----------
    folder : for their logs and Flower's own files; made if it is not there.
    certificates : the SuperLink's; ``None`` for ones that are made for this deployment.
    host : the address that they are for, on which the SuperLink listens.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        certificates: Certificates | None = None,
        host: str = LOOPBACK,
    ) -> None:
        self.folder = Path(folder).resolve()
        self._given, self._host = certificates, host
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._port = 0
        self._registered: set[Path] = set()

    def __enter__(self) -> Self:
        # A node's log tells its owner of its rows.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._certificates = self._given or make_certificates(self.folder, self._host)
        self._hub = BundleHub(LOOPBACK)
        try:
            self._sign_app()
            self._start_link()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start_node(self, name: str, user_file: str | os.PathLike[str]) -> None:
        """Start the SuperNode of a user, whose settings are in ``user_file`` and whose key is made
        beside it. Raises DeploymentError where the SuperLink does not take the key."""
        private, public = make_node_key(Path(user_file).resolve().parent)
        self._register(public)
        authority = ("--root-certificates", os.fspath(self._certificates.authority))
        own_key = ("--auth-supernode-private-key", os.fspath(private))
        where = ("--host", LOOPBACK, "--port", str(_free_port(LOOPBACK)))
        link = ("--superlink", f"{self._host}:{self._port}")
        node_config = ("--node-config", f"user-file={_quoted(user_file)}")
        trusted = ("--trusted-entities", os.fspath(self.trusted))
        options = *authority, *own_key, *link, *where, *trusted, *node_config
        self._start(name, "flower-supernode", *options)

    def kill(self, name: str) -> None:
        """End a process and all that it started, at once, as a crash would."""
        _signal(self._processes[name], signal.SIGKILL)
        self._processes.pop(name).wait()

    def is_running(self, name: str) -> bool:
        """Whether a process has not ended yet. Flower takes a killed node back a minute after its
        last sign of life at the latest; a SuperNode that is started before ends at once."""
        return self._processes[name].poll() is None

    def send(self, name: str, number: int) -> None:
        """Send a signal to a process and all that it started, such as ``signal.SIGSTOP``."""
        _signal(self._processes[name], number)

    def run(
        self, job: str | os.PathLike[str], seconds: float, watch: Callable[[], None] | None = None
    ) -> None:
        """Run the app on ``job``, a file for its server, until it ends.

        ``watch`` : called several times a second meanwhile. Raises DeploymentError where
        ``flwr run`` fails or takes longer than ``seconds``.
        """
        config = f"job={_quoted(job)}"
        command = ("flwr", "run", _APP_SPEC, "here", "--run-config", config, "--stream")
        process = self._start("run", *command)
        end = time.monotonic() + seconds
        while process.poll() is None:
            if time.monotonic() > end:
                raise DeploymentError(f"The run took longer than {seconds:g} seconds.")
            if watch is not None:
                watch()
            time.sleep(_LOOK_SECONDS)
        if process.returncode:
            raise DeploymentError(f"flwr run failed; see {self.log('run')}.")

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def stop(self) -> None:
        """End every process that was started here and what they started, the youngest first."""
        started = list(self._processes.values())[::-1]
        for process in started:
            _signal(process, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        for process in started:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            _signal(process, signal.SIGKILL)
            process.wait()
        self._processes.clear()
        self._hub.close()

    @property
    def trusted(self) -> Path:
        """The file of the keys whose bundles a node runs."""
        return self.folder / "trusted.yaml"

    def _sign_app(self) -> None:
        """Build the app's bundle, sign it, and let the hub have it."""
        for old in self.folder.glob("*.fab"):
            old.unlink()
        if self._start("run", "flwr", "build", "--app", os.fspath(APP)).wait():
            raise DeploymentError(f"flwr build failed; see {self.log('run')}.")
        (built,) = self.folder.glob("*.fab")
        self._hub.bundle = sign_bundle(built)
        self._hub.bundle.write_trusted(self.trusted)

    def _start_link(self) -> None:
        self._port = _free_port(self._host)
        where = ("--host", self._host, "--port", str(self._port))
        install = "--disable-runtime-dependency-installation"
        authority, certificate, key = map(os.fspath, self._certificates)
        tls = ("--ssl-ca-certfile", authority, "--ssl-certfile", certificate, "--ssl-keyfile", key)
        command = ("flower-superlink", *tls, "--enable-supernode-auth", *where, install)
        link = self._start("superlink", *command)
        end = time.monotonic() + _START_SECONDS
        while not _answers(f"https://{self._host}:{self._port}/health", authority):
            if link.poll() is not None or time.monotonic() > end:
                raise DeploymentError(
                    f"The SuperLink did not start, or its certificate is not for {self._host}; see "
                    f"{self.log('superlink')}."
                )
            time.sleep(0.1)
        here = f'address = "{self._host}:{self._port}"\nroot-certificates = {_quoted(authority)}\n'
        config = self._home("run") / "config.toml"
        config.write_text(f'[superlink]\ndefault = "here"\n[superlink.here]\n{here}')

    def _register(self, public: Path) -> None:
        """Let the SuperLink know the public key of a node, once."""
        if public in self._registered:
            return
        command = ("flwr", "supernode", "register", os.fspath(public), "here")
        if self._start("run", *command).wait():
            raise DeploymentError(f"The SuperLink took no key; see {self.log('run')}.")
        self._registered.add(public)

    def _start(self, name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        programs = Path(sys.executable).parent
        if not (programs / program).exists():
            raise InvalidInputError(
                f"{program} is not installed beside this Python; pip install 'dpcore-a-ddp[flower]'"
            )
        environment = {**os.environ, **_QUIET, "FLWR_HOME": os.fspath(self._home(name))}
        environment["PATH"] = f"{programs}{os.pathsep}{environment.get('PATH', '')}"
        environment["NO_PROXY"] = environment["no_proxy"] = f"{LOOPBACK},{self._host}"
        environment["FLWR_SUPERGRID_API_URL"] = self._hub.url
        # A process is started for each question: without compiled files that takes seconds more.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                (os.fspath(programs / program), *arguments),
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._processes[name] = process
        return process

    def _home(self, name: str) -> Path:
        home = self.folder / "flwr" / name
        home.mkdir(parents=True, exist_ok=True)
        return home


def _quoted(path: str | os.PathLike[str]) -> str:
    """Return a whole path as a text of Flower's settings."""
    text = os.fspath(Path(path).resolve())
    if any(character in text for character in "\"'\\\n"):
        raise InvalidInputError(f"Flower takes no quote or backslash in a path: {text!r}.")
    return f'"{text}"'


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _answers(url: str, authority: str) -> bool:
    tls = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), tls)
    try:
        with opener.open(url, timeout=1.0):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the process group that the process was started as the head of."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass
