"""Every script of bench is imported, by the names that modules have now."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OF_OTHERS = {"diffprivlib_fit.py", "opacus_fit.py"}
"""Scripts that import what they measure, which no package of ours depends on."""

IMPORTS = """
import importlib.util, sys, warnings
warnings.simplefilter("error", FutureWarning)
for script in sys.argv[1:]:
    folder, _, name = script.rpartition("/")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"script_{name[:-3]}", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.remove(folder)
"""


def imported(scripts, **options):
    command = [sys.executable, "-c", IMPORTS, *map(str, scripts)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


@pytest.mark.slow
def test_every_script_is_imported_without_a_warning():
    scripts = [path for path in ROOT.glob("bench/**/*.py") if path.name not in OF_OTHERS]
    assert len(scripts) > 40
    # Figures import the scripts above them.
    run = imported(sorted(scripts), env={"PYTHONPATH": str(ROOT / "bench")})
    assert (run.returncode, run.stderr[-2000:]) == (0, "")


@pytest.mark.slow
def test_a_script_with_an_old_name_is_found(tmp_path):
    script = tmp_path / "old.py"
    script.write_text("from dpcore.testing import check_loss\n")
    run = imported([script])
    assert run.returncode == 1 and "dpcore.testing is dpcore_lab.checks now" in run.stderr
