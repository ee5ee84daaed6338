"""The benchmarks are scripts in a folder of their own, so their modules are found by its path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
