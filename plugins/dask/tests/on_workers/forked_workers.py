"""A program that forks a Dask worker of one thread for each address in its input, and prints the
number of its process: the worker ends when it is killed, or its scheduler has gone."""

import asyncio
import os
import sys

import dask_ends  # noqa: F401  (what workers of the tests are sent, with NumPy and pandas)
import pyarrow.parquet  # noqa: F401
from distributed import Worker

import dpcore_dask.partition  # noqa: F401
from dpcore_dask.versions import own_versions


async def work(address):
    async with Worker(address, nthreads=1, dashboard=False, memory_limit=0) as worker:
        await worker.finished()


if __name__ == "__main__":
    own_versions()  # digests of all files, which it keeps
    children = []
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            try:
                asyncio.run(work(line.strip()))
            finally:
                os._exit(0)
        children.append(child)
        print(child, flush=True)
    for child in children:
        os.waitpid(child, 0)
