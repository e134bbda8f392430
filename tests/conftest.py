import sys
from pathlib import Path

# The naive twins are imported by tests in several folders.
sys.path.insert(0, str(Path(__file__).parent))
