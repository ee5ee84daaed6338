"""Requests of a peer in an environment of its own, as lines of JSON; it imports nothing of this project.

A script reads its task once and then asks for trainings until the budget is spent, when its input ends. What the peer
itself prints goes to the error output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def task() -> dict[str, Any]:
    """The first line: {"peer": name, "seed": 0, "epochs": 52, "space": [{"name", "kind", "low", "high", "log"}, …]}."""
    return dict(json.loads(sys.stdin.readline()))


def trained(config: dict[str, Any], until: int) -> list[float]:
    """Errors of a configuration after each epoch up to this one. Earlier training is not paid for again."""
    print(json.dumps({"config": config, "until": until}, default=lambda value: value.item()), file=_answers, flush=True)
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    return list(json.loads(line))
