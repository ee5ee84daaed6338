"""Online tuning with costly feedback: hyper-parameters inside one training run, a reading only where it is worth it."""

from typing import TYPE_CHECKING

from shoestring._lazy import lazy_names

if TYPE_CHECKING:
    from shoestring.online.bandits import EXP3S, UCB1, EpsilonGreedy, Softmax
    from shoestring.online.beta import LogBeta, TheoremBeta
    from shoestring.online.look_rules import Always, Bernoulli, Confident, Disjoint, Exactly, ExpectedLoss, Mixed
    from shoestring.online.policies import GPUCB, RGPUCB, TVGPUCB
    from shoestring.online.tuner import CEGPUCB, OnlineTuner, PlotData, Round, RoundRecord

_MODULES = {
    "bandits": ["EXP3S", "UCB1", "EpsilonGreedy", "Softmax"],
    "beta": ["LogBeta", "TheoremBeta"],
    "look_rules": ["Always", "Bernoulli", "Confident", "Disjoint", "Exactly", "ExpectedLoss", "Mixed"],
    "policies": ["GPUCB", "RGPUCB", "TVGPUCB"],
    "tuner": ["CEGPUCB", "OnlineTuner", "PlotData", "Round", "RoundRecord"],
}

__all__ = [
    "CEGPUCB",
    "EXP3S",
    "GPUCB",
    "RGPUCB",
    "TVGPUCB",
    "UCB1",
    "Always",
    "Bernoulli",
    "Confident",
    "Disjoint",
    "EpsilonGreedy",
    "Exactly",
    "ExpectedLoss",
    "LogBeta",
    "Mixed",
    "OnlineTuner",
    "PlotData",
    "Round",
    "RoundRecord",
    "Softmax",
    "TheoremBeta",
]

__getattr__, __dir__ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names})
