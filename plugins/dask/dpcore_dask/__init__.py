"""An engine that sums over partitions on the workers of a Dask cluster, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_engines(register: Callable[..., None]) -> None:
    register(
        "dask",
        "dpcore_dask.engine:DaskEngine",
        summary="Sums over Parquet files and stores on a Dask cluster: dask, or dask:ADDRESS.",
    )
