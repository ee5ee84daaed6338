"""Online tuning with costly feedback: hyper-parameters inside one training run, a reading only where it is worth it.

A tuner has a policy, which says what to use in a round, and a look rule, which says whether to pay for a reading. What
several of them take:

* ``space_or_arms``: a search space, a list of choices, or an array with one row for each choice.
* ``policy``, ``look``: the policy and the look rule; ``horizon``: how many rounds there are; ``seed``: of its draws.
* ``clip``: the low and the high end to which readings are cut.
* ``kernel``, ``lengthscale``, ``variance``, ``noise``: the Gaussian process; parameters that are left out are learned.
* ``forgetting``: how fast old readings lose their weight, from 0 (never) to 1.
* ``beta``: the width of the confidence bound: a number, ``LogBeta`` or ``TheoremBeta``, whose ``scale``, ``inside``,
  ``delta``, ``a`` and ``b`` are the constants of their formulas.
* ``acquisition``: "ucb", "ei" or "pi".
* ``step``: the weight of a new reading in the estimate of a choice; by default the weight in the mean.
* ``width``: how wide the bound of UCB1 is; ``epsilon``: how often any choice is tried; ``temperature``: how even the
  choices of Softmax are; ``changes``, ``gamma``, ``alpha``: how often the best choice changes, the share of exploration
  and the share of forgetting of EXP3.S.
* ``p``: the probability of a look; ``kappa``: how sure the tuner must be not to look; ``threshold``: the expected loss
  from which it looks; ``n``: how many looks; ``b1``, ``b2``: the quotas of looks by chance and in all.
* ``greedy_when_blind``: whether a round without a look takes the best choice instead of the policy's.

A ``Round`` has a ``number``, the ``config`` to use, whether to ``look``, and the ``reason``. A ``RoundRecord`` has the
``candidate``, its ``expected_loss``, and the ``cost`` of the look. ``PlotData`` has the ``points`` with the posterior
``mean``, ``deviation`` and ``half_width`` of the bound, and the ``arms`` that were played, and where it ``looked``.
"""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.online.bandits import (
        EXP3S as EXP3S,
        UCB1 as UCB1,
        EpsilonGreedy as EpsilonGreedy,
        Softmax as Softmax,
    )
    from shoestring.online.beta import LogBeta as LogBeta, TheoremBeta as TheoremBeta
    from shoestring.online.exp3r import EXP3R as EXP3R
    from shoestring.online.look_rules import (
        Always as Always,
        Bernoulli as Bernoulli,
        Confident as Confident,
        Disjoint as Disjoint,
        Exactly as Exactly,
        ExpectedLoss as ExpectedLoss,
        Mixed as Mixed,
    )
    from shoestring.online.policies import GPUCB as GPUCB, RGPUCB as RGPUCB, TVGPUCB as TVGPUCB
    from shoestring.online.tuner import (
        CEGPUCB as CEGPUCB,
        OnlineTuner as OnlineTuner,
        PlotData as PlotData,
        Round as Round,
        RoundRecord as RoundRecord,
    )

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bandits": "EXP3S UCB1 EpsilonGreedy Softmax",
        "beta": "LogBeta TheoremBeta",
        "exp3r": "EXP3R",
        "look_rules": "Always Bernoulli Confident Disjoint Exactly ExpectedLoss Mixed",
        "policies": "GPUCB RGPUCB TVGPUCB",
        "tuner": "CEGPUCB OnlineTuner PlotData Round RoundRecord",
    },
)
