import sys
from pathlib import Path

# The naive twins are imported by several tests.
sys.path.insert(0, str(Path(__file__).parent))
