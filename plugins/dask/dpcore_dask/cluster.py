"""A connection to a Dask cluster that is there, or to one of this machine for the time of a fit.

A cluster of this machine listens on the loopback and speaks TLS, by certificates that are made for
it alone: whoever may talk to a scheduler may run code as its owner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dpcore.errors import EngineError, InvalidInputError, replacing
from dpcore.plugin.parts import LocalEngine
from dpcore_dask.versions import own_versions, require_versions, version_of

if TYPE_CHECKING:
    from distributed import Client


__all__ = ["connected", "lost_is_told"]

_SECONDS = 5
"""How long a scheduler, or the first of its workers, is waited for."""
_UNSTARTED = (
    "Workers of this machine could not be started. Each imports the script that starts it: call "
    'fit under if __name__ == "__main__":, or start a scheduler and workers by hand and name its '
    "address, engine='dask:tcp://HOST:8786'."
)
_EXTRA = "which the extra dask brings: pip install '.[dask]' plugins/*, in a checkout of dpcore"


@contextmanager
def connected(
    address: str | None, workers: int | None, takes_own: bool = False
) -> Iterator[Client]:
    """Lend a client of the scheduler at an address, or of so many workers of one thread each in
    this machine; all workers that are there have this process's versions. ``takes_own`` : whether
    it is the client that the caller works with, if there is any.

    Raises InvalidInputError where no scheduler answers, or no worker is there.
    """
    require_dask()
    own = _own_client() if takes_own else None
    if own is not None and address in (None, own.scheduler.address):
        _require_workers(own)
        yield own
    elif address is None:
        with (
            _local_cluster(workers or LocalEngine.available_threads()) as cluster,
            _client(cluster) as client,
        ):
            yield client
    else:
        _require_scheduler(address)
        with _client(address) as client:
            yield client


def require_dask() -> None:
    """Raise InvalidInputError where Dask is not installed: it is an extra."""
    if find_spec("distributed") is None:
        raise InvalidInputError(
            f"The engine dask needs the packages dask and distributed, {_EXTRA}."
        )


def _own_client() -> Client | None:
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous else client


def _local_cluster(n_workers: int) -> Any:
    import dask
    from distributed import LocalCluster

    if find_spec("cryptography") is None:
        raise InvalidInputError(
            "Workers of this machine have certificates, made by the package cryptography, "
            f"{_EXTRA}. Or name the address of a scheduler: engine='dask:tcp://HOST:8786'."
        )
    # The profile of a worker is looked at by nobody here, and grows every second that it runs.
    asked = {"scheduler.work-stealing": False, "worker.profile.enabled": False}
    with dask.config.set({f"distributed.{key}": value for key, value in asked.items()}):
        with replacing(RuntimeError, by=lambda _: EngineError(_UNSTARTED)):
            return LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                memory_limit=0,
                security=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                env={"NUMBA_NUM_THREADS": "1"},
            )


@contextmanager
def _client(where: Any) -> Iterator[Client]:
    from distributed import Client

    with _lost_is_not_logged(), Client(where, timeout=_SECONDS, set_as_default=False) as client:
        _require_workers(client)
        yield client


@contextmanager
def _lost_is_not_logged() -> Iterator[None]:
    """Keep the tracebacks of a client whose scheduler is lost off the terminal: an error of one
    line says so."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def _require_scheduler(address: str) -> None:
    """Raise InvalidInputError unless what listens there answers as a Dask process does; a client
    would try for longer."""
    from distributed import Security
    from distributed.comm import connect
    from distributed.comm.addressing import get_address_host_port

    def no_address(error: ValueError) -> InvalidInputError:
        return InvalidInputError(
            f"Expected the address of a Dask scheduler, such as tcp://HOST:8786: {error}."
        )

    with replacing(ValueError, by=no_address):
        get_address_host_port(address)
    options = Security().get_connection_args("client")
    if address.startswith("tls://") and options.get("ssl_context") is None:
        raise InvalidInputError(
            f"{address} needs certificates in Dask's configuration (DASK_DISTRIBUTED__COMM__TLS__"
            "CA_FILE, ...CLIENT__CERT and ...CLIENT__KEY): docs/cluster.md says how."
        )

    async def greet() -> None:
        comm = await asyncio.wait_for(connect(address, timeout=_SECONDS, **options), _SECONDS)
        comm.abort()

    def no_answer(error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"No Dask scheduler answers at {address} within {_SECONDS} s ({type(error).__name__}): "
            "start one (dask scheduler), or leave the address out for workers of this machine."
        )

    with replacing(Exception, by=no_answer):  # Another program may answer any bytes.
        asyncio.run(greet())


def _require_workers(client: Client) -> None:
    idle = InvalidInputError(
        "The Dask scheduler has no worker: start some (dask worker ADDRESS --nthreads 1)."
    )
    with replacing(TimeoutError, by=lambda _: idle):
        client.wait_for_workers(1, timeout=_SECONDS)
    own = own_versions()
    with lost_is_told():
        found = _versions_there(client, own)
    for where, versions in found.items():
        require_versions(own, versions, where)


def _versions_there(client: Client, packages: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the versions that each worker and the scheduler, which reads what is asked of them,
    have of the packages, as far as they have them."""
    found: dict[str, dict[str, str]] = {}
    for package in packages:
        there = client.run(version_of, package, on_error="return")
        told = {f"The worker {address}": version for address, version in there.items()}
        try:
            told["The scheduler"] = client.run_on_scheduler(version_of, package)
        except (ImportError, AttributeError) as error:
            told["The scheduler"] = error
        for where, version in told.items():
            of_it = found.setdefault(where, {})
            if isinstance(version, str):
                of_it[package] = version
            elif not isinstance(version, ModuleNotFoundError):
                # It cannot say, by code that has not this question.
                of_it[package] = f"in another version ({type(version).__name__})"
    return found


def lost_is_told() -> AbstractContextManager[None]:
    """Turn the errors of a lost connection, or of workers that end again and again, into an
    EngineError."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    def lost(error: BaseException) -> EngineError:
        if isinstance(error, KilledWorker):
            return EngineError(
                "Several workers ended one after the other in the same sum, such as for want of "
                "memory; their logs say why."
            )
        return EngineError(
            f"The connection to the Dask scheduler was lost ({type(error).__name__}): nothing "
            "more is released, and what was charged stays charged."
        )

    kinds = OSError, TimeoutError, CancelledError, asyncio.CancelledError
    return replacing(KilledWorker, *kinds, by=lost)
