"""When to look: online tuning with costly feedback."""

from shoestring.online.bandits import EXP3S, UCB1, EpsilonGreedy, Softmax
from shoestring.online.exploration import ConstantBeta, LogBeta, TheoremBeta
from shoestring.online.looks import Always, Bernoulli, Confident, Disjoint, Exactly, ExpectedLoss, Mixed
from shoestring.online.policies import GPUCB, RGPUCB, TVGPUCB
from shoestring.online.presets import CEGPUCB
from shoestring.online.tuner import OnlineTuner, Picture, Played, Round

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
    "ConstantBeta",
    "Disjoint",
    "EpsilonGreedy",
    "Exactly",
    "ExpectedLoss",
    "LogBeta",
    "Mixed",
    "OnlineTuner",
    "Picture",
    "Played",
    "Round",
    "Softmax",
    "TheoremBeta",
]
