"""Forecast: train the configuration with the largest expected improvement at the end for the steps it costs.

A Gaussian process with parameters fitted to recorded learning curves forecasts the ends. This goes beyond the papers;
measurements are in benchmarks/RESULTS.md.

======== =========================================================================
T        the last step of a full training
r        steps that the rest of the budget buys
m        milestones 1, 2, 3, 5, 8, 13, … T: a grant takes one trial to its next one
u        the best-so-far losses at milestones of all trials, as scores: half by rank, half by size
EI       expected improvement on the best u, of a configuration's forecast at T
======== =========================================================================

The first configurations are random; half of them go to T/9. They show from which milestone on the order of
configurations says something about later ones (``trust.py``): new ones are first trained to that one, and readings
before it are not used. Then, at every decision (``rules.py``):

0. *Whole trainings*, in a budget of 20 full trainings or more: a share of the steps goes to new configurations that are
   chosen by the ends of trainings alone and trained from the first to the last step; half of the steps, while the best
   end is one of these (``whole.py``).
1. *End game*, in the last quarter of the budget: the started configuration with the best forecast continues, if
   r ≤ T/2 or it needs all of r.
2. *Guard*: while promotions by rank (as ASHA's) have had less than their share of the steps, one more if there is one
   (``rungs.py``). It bounds the damage where the process is wrong.
3. *Model*: of all configurations that can be continued or started, the one with the largest EI per step, second or
   unit of cost, whichever limits the budget (``prices.py``). New ones are from a random pool, or neighbours of good
   ones while these are often better than what they were drawn near (``proposals.py``); up to half of them are proposed
   by a second process, fitted to the forecast ends (``search.py``).

While many trials run and little of the budget is left, workers wait: it is for the ends of trainings (``rules.py``).
With constraints EI is on the best feasible reading, and multiplied by the probability of being feasible at T; what is
likely to be infeasible comes last in promotions and in the end game (``feasible.py``).
A configuration with exactly the readings of another one is not continued (``copies.py``). EI is multiplied by the
probability of not failing later, and what is likely to fail is neither promoted nor finished (``failures.py``).

Scores are recomputed from all readings at each decision, so the unit of the losses does not matter.

One word for each idea, and where it is defined:

=========== =========================== ============================================================================
arm         ``core/history.py``         a configuration that was started; its first trial alone is followed
milestone   ``milestones.py``           a step at which trials pause, and how far a new configuration goes first
column      ``columns.py``              a configuration whose end is forecast, started or not: arrays over columns
reading     ``readings.py``             the best loss so far of a column at a milestone, as the process holds it
curve       ``state.py``                the same losses by arm and milestone
rung        ``rungs.py``                a milestone at which promotions by rank compare arms
forecast    ``forecasts.py``            mean, risk and EI of every column at T, for one decision
noise       ``models/curve_process.py`` ``noise_variance``: how far a reading at a step is from its curve
=========== =========================== ============================================================================
"""

from shoestring.methods.forecast.rules import Forecast as Forecast
