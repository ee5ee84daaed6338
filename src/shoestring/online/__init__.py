"""Online tuning with costly feedback: hyper-parameters inside one training run, a reading only where it is worth it."""

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
        "look_rules": "Always Bernoulli Confident Disjoint Exactly ExpectedLoss Mixed",
        "policies": "GPUCB RGPUCB TVGPUCB",
        "tuner": "CEGPUCB OnlineTuner PlotData Round RoundRecord",
    },
)
