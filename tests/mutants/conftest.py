import sys
from pathlib import Path

# The script beside the tests imports the list in the same way.
sys.path.insert(0, str(Path(__file__).parent))
