import sys
from pathlib import Path

# The distribution is tested from its wheel too; here its folder stands in for an installation.
sys.path.insert(0, str(Path(__file__).parent))
