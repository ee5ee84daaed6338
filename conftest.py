"""Modules that need torch are not looked at for doctests where it is not installed."""

from importlib.util import find_spec
from pathlib import Path

_NEED_TORCH = ("gain", "images", "operations", "saving", "searching", "sources", "transform")

collect_ignore = (
    [] if find_spec("torch") else [str(Path("src", "shoestring", "augment", f"{name}.py")) for name in _NEED_TORCH]
)
