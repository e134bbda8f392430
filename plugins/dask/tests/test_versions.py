"""Workers run the source that the process that fits runs, whatever their versions say."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

from dpcore.errors import EngineError, InvalidInputError
from dpcore.plugin.engines import Files
from dpcore.privacy.manifest import FILE, manifest_of
from dpcore_dask import cluster as clusters
from dpcore_dask.engine import DaskEngine
from dpcore_dask.source_digest import plugins_of_others, source_digest
from dpcore_dask.versions import own_versions, require_versions

ROOT = Path(__file__).parents[3]


@pytest.fixture
def asked(monkeypatch):
    """Ask for a digest anew."""
    source_digest.cache_clear()
    yield source_digest
    source_digest.cache_clear()


def install(folder, name, modules):
    """Make an installed plugin of others, with these modules by their paths."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dpcore]\n{name} = {name}\n")
    for path, text in modules.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)


@pytest.mark.parametrize("files", [("others.py",), ("others/__init__.py", "others/kernels.py")])
def test_a_digest_is_of_the_names_and_contents_of_all_files(asked, tmp_path, monkeypatch, files):
    digests = []
    contents = [dict.fromkeys(files, "x = 1\n")] * 2
    contents += [{**contents[0], files[-1]: "x = 2\n"}, {**contents[0], "others/more.py": ""}]
    for place, modules in enumerate(contents):
        folder = tmp_path / str(place)
        install(folder, "others", modules)
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            assert plugins_of_others()["others"] == {"others"}
            asked.cache_clear()
            digests.append(asked("others"))
            assert "others" not in sys.modules  # Asking runs no code of it.
    same, again, altered, more = digests
    assert same == again != altered
    assert (more == same) is (files == ("others.py",))  # A folder without its file is no package.


def test_versions_of_code_have_the_digest_of_its_source():
    own = own_versions()
    for name in ("dpcore", "dpcore-dask", "dpcore-dp-agd"):
        assert own[name].endswith(f" (source {source_digest(name)})") and source_digest(name)
    assert "source" not in own["numpy"] and source_digest("numpy") == ""
    version = own["dpcore"].partition(" ")[0]
    with pytest.raises(EngineError, match=r"has dpcore .*0 \(source 0\), and this process .*0 \("):
        require_versions(own, {**own, "dpcore": f"{version} (source 0)"})


@contextmanager
def a_worker(cluster, path):
    """Start a worker process that imports from a folder first."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    environment = {**os.environ, "PYTHONPATH": str(path), "NUMBA_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    worker = subprocess.Popen([*command, *options], env=environment, cwd=path, **quiet)
    try:
        with Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
        yield
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.slow
@pytest.mark.parametrize("where", ["nowhere", "dpcore", "plugins/dp-agd/dpcore_dp_agd"])
def test_a_worker_of_other_source_under_the_same_version_is_refused(
    folder, schema, tmp_path, where
):
    """It was accepted: its class of a question may count a row for more than is stated here."""
    copies = tmp_path / "copies"
    for package in ("dpcore", "plugins/dp-agd/dpcore_dp_agd"):
        shutil.copytree(
            ROOT / package,
            copies / Path(package).name,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    # As an installation has it: by it the worker knows whose packages are whose.
    (copies / "dpcore" / FILE).write_text(json.dumps(manifest_of(ROOT)))
    altered = Path(where).name
    if where != "nowhere":
        with (copies / altered / "__init__.py").open("a") as file:
            file.write("# edited\n")
    held = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    cluster = LocalCluster(n_workers=0, processes=False, protocol="tcp://", **held)
    with cluster, a_worker(cluster, copies):
        files = Files(str(folder), address=cluster.scheduler_address)
        if where == "nowhere":
            DaskEngine.open(files, schema, None).close()
            return
        name = altered.replace("_", "-")
        told = rf"worker tcp://.* has {name} .*\(source \w+\), and this process .*\(source \w+\)"
        with pytest.raises(EngineError, match=told):
            DaskEngine.open(files, schema, None)


@pytest.mark.slow
def test_a_worker_that_cannot_say_is_refused(cluster, folder, schema, monkeypatch):
    """Code of before, under the same version, does not know this question."""

    def unknown(name):
        raise AttributeError("no attribute 'version_of'")

    monkeypatch.setattr(clusters, "version_of", unknown)
    files = Files(str(folder), address=cluster.scheduler_address)
    told = r"worker .* has dpcore in another version \(AttributeError\)"
    with pytest.raises(EngineError, match=told):
        DaskEngine.open(files, schema, None)


def test_workers_of_this_machine_without_certificates_are_one_line(folder, schema, monkeypatch):
    """An ImportError came out of Dask, whose cause was not told."""
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(InvalidInputError, match="cryptography, which the extra dask brings: pip"):
        DaskEngine.open(Files(str(folder)), schema, 1)
