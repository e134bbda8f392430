import sys
from pathlib import Path

# Runs on made rows and scripted answers are imported by several tests.
sys.path.insert(0, str(Path(__file__).parent))
