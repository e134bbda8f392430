import sys
from pathlib import Path

# The honest optimizer stands beside the tests that make cheats of it.
sys.path.insert(0, str(Path(__file__).parent))
