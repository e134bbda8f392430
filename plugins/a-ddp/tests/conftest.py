import importlib.util
import sys
from pathlib import Path

import pytest

# The users of made rows are imported by several tests.
sys.path.insert(0, str(Path(__file__).parent))
_LAWS = Path(__file__).parents[3] / "tests" / "noise" / "laws.py"


@pytest.fixture(scope="session")
def laws():
    """The core's comparison of samples with exact laws."""
    spec = importlib.util.spec_from_file_location("noise_laws", _LAWS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
