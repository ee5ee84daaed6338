"""Modules that need torch are not looked at for doctests where it is not installed."""

from importlib.util import find_spec

_NEED_TORCH = (
    *(f"src/shoestring/augment/{name}.py" for name in (
        "bandit_search", "checkpoint", "datasets", "images", "operations", "reward", "transform"
    )),
    "tests/programs/augment.py",
)  # fmt: skip

collect_ignore = [] if find_spec("torch") else [*_NEED_TORCH]
