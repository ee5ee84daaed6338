"""Requests of a peer in an environment of its own, as lines of JSON; it imports nothing of this project.

A script reads its task and then asks for trainings until the budget is spent. Every task is served by a process of its
own, forked from the one that has the library loaded: nothing of one run reaches the next, and the library is imported
once. What the peer itself prints goes to the error output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
# Not buffered: a process must not take what the next one is to read.
_requests = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115
# The exit code of a run whose budget is spent; any other is an error.
_SPENT = 75


def task() -> dict[str, Any]:
    """The next task: {"peer": name, "seed": 0, "epochs": 52, "space": [{"name", "kind", "low", "high", "log"}, …]}.

    It returns in a process for this task alone; the process that called it waits for the end of each and exits when
    there are no more.
    """
    while line := _requests.readline():
        child = os.fork()
        if not child:
            return dict(json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != _SPENT:
            sys.exit(f"the run of a task ended with {code} before its budget was spent")
    sys.exit()


def trained(config: dict[str, Any], until: int) -> list[float]:
    """Errors of a configuration after each epoch up to this one. Earlier training is not paid for again.

    The run ends here when the budget is spent: the answer is null.
    """
    print(json.dumps({"config": config, "until": until}, default=lambda value: value.item()), file=_answers, flush=True)
    errors = json.loads(_requests.readline() or b"null")
    if errors is None:
        sys.exit(_SPENT)
    return list(errors)
