"""The result of a search: a ranking of policies and of pairs that can be printed, saved, merged and reused.

A set holds the number of plays, the sum and the sum of squares of the rewards of every policy, and nothing about the
images or the network. So it can be ranked by either estimate afterwards, two sets are merged by adding their sums, and
it can be applied to any images.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from shoestring._arrays import Array, Codes
from shoestring.augment.bandit import Bandit
from shoestring.augment.estimates import C, Estimate, Estimates, check_choice, estimate_rewards
from shoestring.augment.policies import OPERATIONS, PER_PAIR, POLICIES, Pair, Policy
from shoestring.errors import MethodError, StorageError

_FORMAT = 1
_COLUMNS = ("policy", "plays", "total", "squares", "mean", "ucb")
_UNION_SHARE = 0.2  # the thesis takes 1,500 of 7,650 policies by UCB and by mean

Value = Literal["mean", "ucb"]


@dataclass(frozen=True)
class RankedPolicy:
    """A policy with its estimated mean reward, its upper confidence bound and its number of plays."""

    policy: Policy
    mean: float
    ucb: float
    plays: int

    def __str__(self) -> str:
        return _line(self.policy, self)


@dataclass(frozen=True)
class RankedPair:
    """A pair of operations with the same values, over all its levels."""

    pair: Pair
    mean: float
    ucb: float
    plays: int

    def __str__(self) -> str:
        return _line(self.pair, self)


def _line(subject: Policy | Pair, ranked: RankedPolicy | RankedPair) -> str:
    return f"{subject}  mean reward {ranked.mean:.3f}, upper bound {ranked.ucb:.3f}, {ranked.plays} plays"


@dataclass(frozen=True, eq=False)
class PolicySet:
    """Policies that were played, from the best to the worst.

    >>> bandit = Bandit()
    >>> for gain in range(40):
    ...     bandit.update(Policy("Rotate", 3, "Color", 1).index, gain)
    ...     bandit.update(Policy("Invert", 9, "Color", 1).index, -gain)
    >>> found = PolicySet.from_bandit(bandit)
    >>> print(found.top(1)[0].policy, "|", found.bottom_pairs(1)[0].pair)
    Rotate(3), Color(1) | Invert, Color
    """

    counts: Codes
    totals: Array
    squares: Array
    estimate: Estimate = "shrunk"
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_bandit(
        cls, bandit: Bandit, estimate: Estimate = "shrunk", about: Mapping[str, Any] | None = None
    ) -> PolicySet:
        """A copy of a bandit's statistics."""
        return cls(bandit.counts.copy(), bandit.totals.copy(), bandit.squares.copy(), estimate, dict(about or {}))

    def with_estimate(self, estimate: Estimate) -> PolicySet:
        """The same plays, ranked by ``"shrunk"`` or by ``"mean"``."""
        return replace(self, estimate=estimate)

    @property
    def plays(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def _estimates(self) -> Estimates:
        return estimate_rewards(self.counts, self.totals, self.squares, self.estimate)

    def _values(self, by: Value) -> Array:
        check_choice("by", by, Value)
        return self._estimates.policies if by == "mean" else self._estimates.policy_ucbs

    def order(self, by: Value = "mean") -> Codes:
        """The indices of the policies that were played, best first, by their ``"mean"`` or their ``"ucb"``."""
        return _best_first(self._values(by), self.counts)

    def pair_order(self) -> Codes:
        """The indices of the pairs that were played, best first."""
        return _best_first(self._estimates.pairs, self._estimates.pair_counts)

    @property
    def policies(self) -> tuple[RankedPolicy, ...]:
        """All policies that were played, best first."""
        return self._rank(self.order())

    @property
    def pairs(self) -> tuple[RankedPair, ...]:
        """All pairs that were played, best first."""
        return self._rank_pairs(self.pair_order())

    def top(self, n: int) -> tuple[RankedPolicy, ...]:
        """The n best policies by their mean."""
        return self._rank(self.order()[:n])

    def bottom(self, n: int) -> tuple[RankedPolicy, ...]:
        """The n worst policies, the worst first."""
        return self._rank(self.order()[::-1][:n])

    def top_pairs(self, n: int) -> tuple[RankedPair, ...]:
        """The n best pairs."""
        return self._rank_pairs(self.pair_order()[:n])

    def bottom_pairs(self, n: int) -> tuple[RankedPair, ...]:
        """The n worst pairs, the worst first."""
        return self._rank_pairs(self.pair_order()[::-1][:n])

    def union(self, n: int | None = None) -> tuple[RankedPolicy, ...]:
        """The thesis's choice: the n best by UCB and the n best by mean; by default n is a fifth of those played."""
        return self._rank(self.union_order(n))

    def union_order(self, n: int | None = None) -> Codes:
        """The indices of :meth:`union`, best mean first."""
        n = max(round(_UNION_SHARE * np.count_nonzero(self.counts)), 1) if n is None else n
        by_mean = self.order("mean")
        return by_mean[np.isin(by_mean, np.union1d(by_mean[:n], self.order("ucb")[:n]))]

    def keep(self, share: float = 0.5) -> tuple[Policy, ...]:
        """All levels of the best share of the pairs: harmful pairs are left out, and the others keep their variety."""
        if not 0 < share <= 1:
            raise MethodError(f"share={share!r} is not possible: it must be above 0 and at most 1")
        return policies_of(self.top_pairs(max(int(share * np.count_nonzero(self._estimates.pair_counts)), 1)))

    def heatmap(self) -> Array:
        """Mean rewards of the pairs (15, 15): rows are first operations, columns second ones; NaN without a play."""
        values = np.where(self._estimates.pair_counts > 0, self._estimates.pairs, np.nan)
        return values.reshape(len(OPERATIONS), len(OPERATIONS))

    def merge(self, other: PolicySet, weight: float = 1.0) -> PolicySet:
        """Both searches as one; lower the ``weight`` of the other's plays if its images are only similar."""
        if not 0 < weight <= 1:
            raise MethodError(f"weight={weight!r} is not possible: it must be above 0 and at most 1")
        plays = np.floor(other.counts * weight + 0.5)
        scale = plays / np.maximum(other.counts, 1)
        return replace(
            self,
            counts=self.counts + plays.astype(np.int64),
            totals=self.totals + other.totals * scale,
            squares=self.squares + other.squares * scale,
            about={"merged": [dict(self.about), dict(other.about)], "weight": weight},
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set as JSON, one policy a line, best first."""
        head = json.dumps(
            {"format": _FORMAT, "estimate": self.estimate, "C": C, "about": dict(self.about), "columns": _COLUMNS}
        )
        rows = ",\n".join(f"  {json.dumps(row)}" for row in self._rows())
        try:
            Path(path).write_text(f'{head[:-1]}, "policies": [\n{rows}\n]}}\n', encoding="utf-8")
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror}") from None

    def _rows(self) -> Iterator[list[Any]]:
        columns = self.counts, self.totals, self.squares, self._values("mean").round(6), self._values("ucb").round(6)
        for index in self.order().tolist():
            yield [str(Policy.at(index)), *(column[index].item() for column in columns)]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PolicySet:
        """Read what ``save`` wrote."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] > _FORMAT:
                raise StorageError(f"{path} was written by a newer version of shoestring; use that version")
            counts, totals, squares = np.zeros(POLICIES, dtype=np.int64), np.zeros(POLICIES), np.zeros(POLICIES)
            for text, plays, total, square, *_ in content["policies"]:
                index = Policy.parse(text).index
                counts[index], totals[index], squares[index] = plays, total, square
            return cls(counts, totals, squares, content["estimate"], content["about"])
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"{path} is not a saved PolicySet: {error}") from error

    def to_torchvision(self, seed: int = 0) -> Any:
        """A transform of one image, PIL or tensor, for a ``torchvision.transforms.Compose``."""
        return _transforms().Augment(self, seed=seed)

    def to_kornia(self, seed: int = 0) -> Any:
        """A module of batches for a ``kornia.augmentation.ImageSequential`` or a network; inactive in ``eval()``."""
        return _transforms().AugmentModule(self, seed=seed)

    def _rank(self, order: Codes) -> tuple[RankedPolicy, ...]:
        rows = _table(order, self._values("mean"), self._values("ucb"), self.counts)
        return tuple(RankedPolicy(Policy.at(index), mean, ucb, plays) for index, mean, ucb, plays in rows)

    def _rank_pairs(self, order: Codes) -> tuple[RankedPair, ...]:
        rows = _table(order, self._estimates.pairs, self._estimates.pair_ucbs, self._estimates.pair_counts)
        return tuple(RankedPair(Pair.at(index), mean, ucb, plays) for index, mean, ucb, plays in rows)


def _transforms() -> Any:
    from shoestring.augment import transform  # here because it needs torch, and a set of policies does not

    return transform


def policies_of(pairs: Iterable[Pair | RankedPair]) -> tuple[Policy, ...]:
    """All hundred policies of each pair, for training with pairs at random levels (Table 3.6 of the thesis).

    >>> len(policies_of([Pair("Rotate", "Color")]))
    100
    """
    indices = {(pair.pair if isinstance(pair, RankedPair) else pair).index for pair in pairs}
    return tuple(Policy.at(index * PER_PAIR + levels) for index in sorted(indices) for levels in range(PER_PAIR))


def _table(order: Codes, means: Array, ucbs: Array, counts: Codes) -> Iterator[tuple[int, float, float, int]]:
    return zip(order.tolist(), *(values[order].tolist() for values in (means, ucbs, counts)), strict=True)


def _best_first(values: Array, counts: Codes) -> Codes:
    """Indices of those with plays, best first; ties by more plays, then in a fixed order that favours no operation."""
    played = np.flatnonzero(counts)
    scrambled = played * 7919 % POLICIES  # a permutation of the indices, since 7919 and 22500 are coprime
    return played[np.lexsort((scrambled, -counts[played], -values[played]))]
