"""Modules that need torch or psycopg are not looked at for doctests where these are not installed.

And Ctrl-C reaches the programs that tests start, even if the tests run in the background of a shell, which lets all its
background processes ignore it.
"""

import signal
from importlib.util import find_spec

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_NEED_TORCH = (
    "src/shoestring/_torch.py",
    *(f"src/shoestring/augment/{name}.py" for name in (
        "bandit_search", "checkpoint", "comparison", "datasets", "evaluation", "images", "jobs", "operations",
        "replicas", "reward", "transform", "wide_resnet",
    )),
    *(f"src/shoestring/online/networks/{name}.py" for name in ("layers", "training")),
)  # fmt: skip

# Programs that tests start, some with arguments.
collect_ignore_glob = ["tests/programs/*.py"]
collect_ignore = [] if find_spec("torch") else [*_NEED_TORCH]
collect_ignore += [] if find_spec("psycopg") else ["src/shoestring/logs/postgres.py"]
