import importlib.util
import sys
from pathlib import Path

import pytest

# The users of made rows are imported by several tests.
sys.path.insert(0, str(Path(__file__).parent))
_DISTRIBUTIONS = Path(__file__).parents[3] / "tests" / "noise" / "distributions.py"


@pytest.fixture(scope="session")
def reference():
    """The core's comparison of samples with exact distributions."""
    spec = importlib.util.spec_from_file_location("noise_distributions", _DISTRIBUTIONS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
