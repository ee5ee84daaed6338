"""ConfigSpace without scipy.stats gives the same draws and densities, and loads scipy.stats when it is needed."""

import subprocess
import sys

PROGRAM = """
import pickle, sys
{first}
import ConfigSpace as CS
import numpy as np
print("scipy.stats" in sys.modules, file=sys.stderr)
parameters = [
    CS.Integer("a", (8, 256), log=True),
    CS.Float("b", (1e-4, 1.0), log=True),
    CS.NormalFloatHyperparameter("c", mu=0, sigma=1, lower=-3, upper=3),
    CS.NormalIntegerHyperparameter("d", mu=5, sigma=2, lower=0, upper=10),
    CS.BetaFloatHyperparameter("e", alpha=3, beta=2, lower=1, upper=4),
    CS.BetaIntegerHyperparameter("f", alpha=3, beta=2, lower=1, upper=4),
]
for parameter in parameters:
    for one in (parameter, pickle.loads(pickle.dumps(parameter))):
        drawn = one.sample_value(4, seed=np.random.RandomState(1))
        print(list(drawn), list(one.pdf_values(drawn)), one.legal_value(drawn[0]))
import scipy.stats
print(scipy.stats.norm.cdf(0.0), scipy.stats.__name__)
"""


def run(first):
    program = PROGRAM.format(first=first)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)


def test_it_is_the_same_as_the_plain_import():
    ours = run("from shoestring.spaces.configspace import ConfigSpace")
    plain = run("")
    assert ours.stdout == plain.stdout
    assert (ours.stderr.strip(), plain.stderr.strip()) == ("False", "True")


def test_where_scipy_stats_is_loaded_already_nothing_is_deferred():
    assert run("import scipy.stats; import shoestring.spaces.configspace").stderr.strip() == "True"
