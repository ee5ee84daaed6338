"""Actions of an autonomous program on the studies of a storage: all within limits that it cannot change, and every
change an event of the log.

An agent spends the budget of a study by asking for trials, as any client does (``serve_api.py``). It may create
is bounded by an *allowance*: the budgets of all studies of the storage together stay within it. A study that was
stopped counts with what it has used, because its trials cannot go on from here. The sum is read from the logs each
time, so it holds for several agents and after a restart.
"""

from __future__ import annotations

import io
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

from shoestring import plots
from shoestring._text import one_line
from shoestring.core.budget import Budget, format_amount
from shoestring.errors import BudgetError, MethodError, SpaceError
from shoestring.study import Study
from shoestring.views.formatting import method_name
from shoestring.web.serve_api import Studies, budget_of, readings_of

# An agent trains and thinks for longer than a script.
LEASE = 3600.0
PLOTS = sorted(set(plots.__all__) - {"online", "pairs"})
_LONGEST_TEXT = 400
_MOST_GRANTS = 20


class Agents:
    """The studies of a storage as agents may use them; every answer is plain values."""

    def __init__(
        self,
        storage: str | Path,
        allowance: Budget | None = None,
        read_only: bool = False,
        only: Collection[str] = (),
        lease: float = LEASE,
    ) -> None:
        self.read_only, self.allowance = read_only, allowance
        self.studies = Studies(storage, None if read_only else lease, only)

    def list(self) -> list[dict[str, Any]]:
        """The studies, each with what is spent of its budget."""
        studies = [self.studies.study(name) for name in self.studies.names()]
        return [
            {"name": s.name, "budget": s.budget.limits(), "spent": dict(s.spent), "stopped": s.history.stopped or None}
            for s in studies
        ]

    def create(self, name: str, space: object, budget: object, **options: Any) -> dict[str, Any]:
        """Create a study, if the allowance pays for it."""
        limits = budget_of(budget)
        if name in self.studies.names():
            return self.studies.create(name, space, limits, **options)
        self._check_allowance(limits, before=name)
        self.studies.create(name, space, limits, **options)
        try:
            self._check_allowance(limits, before=name)  # another process may have created one in the same moment
        except BudgetError as error:
            self.studies.stop(name, f"{error}: another study was created at the same time")
            raise
        return self.studies.state(name)

    def _check_allowance(self, limits: Budget, before: str) -> None:
        if self.allowance is None:
            raise BudgetError("this server does not allow agents to create studies; it was started without --allow")
        others = [self.studies.study(name) for name in self.studies.names() if name != before]
        for unit, most in self.allowance.limits().items():
            given, left = limits.limits().get(unit), most - sum(_claim(study, unit) for study in others)
            if given is None:
                raise BudgetError(
                    f"the budget of a new study must limit its {unit}: agents may spend {self.allowance} in all studies"
                )
            if given > left:
                raise BudgetError(
                    f"the budget of {format_amount(unit, given)} is more than agents may still give to new studies: "
                    f"{format_amount(unit, max(left, 0))} of {format_amount(unit, most)}"
                )

    def tell(self, name: str, trial: int, body: dict[str, Any]) -> dict[str, Any]:
        steps = self.studies.study(name).history.max_resource not in (None, 1)
        return self.studies.tell(name, trial, readings_of(body, steps))

    def suggest(self, name: str, config: object, agent: str, why: str) -> dict[str, Any]:
        """Enqueue a configuration of the agent's own; the log names its origin."""
        study = self.studies.study(name)
        if not isinstance(config, dict):
            raise SpaceError(f"the configuration is {config!r:.80}; give an object with a value for every parameter")
        study.enqueue(config, _sign(agent, why))
        return {"queue": [dict(each) for each in study.history.queue], "state": study.state}

    def stop(self, name: str, agent: str, reason: str) -> dict[str, Any]:
        return self.studies.stop(name, _sign(agent, reason))

    def state(self, name: str) -> dict[str, Any]:
        """Return how far a study is, what its method expects, and which parameters matter."""
        study = self.studies.study(name)
        known = self.studies.state(name)
        return {**known, "forecasts": _forecasts(study), "importance": _importance(study)}

    def why(self, name: str, trial: int | None = None) -> dict[str, Any]:
        """The reasons of the decisions about a trial; without one, of the last decisions and of what comes next."""
        study = self.studies.study(name)
        with_trial = {} if trial is None else self.studies.trial(name, trial)
        grants = [grant for grant in study.history.grants if trial in (None, grant.trial)][-_MOST_GRANTS:]
        decisions = [
            {"trial": g.trial, "from": g.start, "until": g.until, "reason": g.reason, "details": g.explanation}
            for g in grants
        ]
        method = method_name(study.history.opened.method)
        return {**with_trial, "method": method, "decisions": decisions, "now": study.reason}

    def plot(self, name: str, kind: str) -> bytes:
        """A picture of a study as PNG."""
        if kind not in PLOTS:
            raise MethodError(f"there is no plot {kind!r:.80}; there is {', '.join(PLOTS)}")
        study, png = self.studies.study(name), io.BytesIO()
        getattr(plots, kind)([study] if kind == "regret" else study).savefig(png, format="png")
        return png.getvalue()


def _claim(study: Study, unit: str) -> float:
    """Compute what a study has used and can still use of a unit; a study without this limit counts with what it has
    used.
    """
    history = study.history
    committed = {"steps": float(history.ledger.committed_steps), "cost": history.ledger.reserved}.get(unit, 0.0)
    used = history.ledger.spent()[unit] + committed
    limit = None if history.stopped else history.ledger.budget.limits().get(unit)
    return used if limit is None else max(limit, used)


def _sign(agent: str, text: str) -> str:
    """A text for the log, with who said it."""
    return one_line(" ".join(f"the agent {agent:.80}: {text}".split()))[:_LONGEST_TEXT]


def _forecasts(study: Study) -> dict[str, Any]:
    """Forecast the leading trials at their last step: the median and the middle 80 %."""
    record = plots.forecast.data(study, at=1.0)
    ends = [
        {"trial": f.trial, "step": f.steps[-1]}
        | {part: _finite(getattr(f, part)[-1]) for part in ("median", "low", "high")}
        for f in record.fans
    ]
    return {"trials": ends, "note": record.note or record.source}


def _importance(study: Study) -> dict[str, Any]:
    record = plots.importance.data(study)
    return {"shares": dict(zip(record.parameters, record.shares, strict=True)), "note": record.note or record.where}


def _finite(value: float) -> float | None:
    """JSON has no infinity; a bound that is infinite is unknown."""
    return value if math.isfinite(value) else None
