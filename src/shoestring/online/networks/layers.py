"""Layers whose weights respond to hyper-parameters, and the hyper-parameters themselves.

======== =============================================================== =================
symbol   meaning                                                         shape
======== =============================================================== =================
λ        hyper-parameters, unconstrained: a sigmoid maps them to ranges  (H,), or (n, H)
λ⁰       where they started                                              (H,)
σ        widths of the perturbations of λ, one for each                  (H,)
W, b     weights and biases that do not respond                          as in torch
W', b'   weights and biases that are scaled by the response              as in torch
V, C     how strongly each unit or channel responds to λ                 (outputs, H)
======== =============================================================== =================

The weights of a unit at λ are W + V(λ − λ⁰) W' and its bias is b + C(λ − λ⁰) b', so its output is that of two ordinary
layers, of which the second is scaled by a factor for each example: λ may differ between the examples of a batch.

Reference: MacKay, Vicol, Lorraine, Duvenaud and Grosse, Self-tuning networks: bilevel optimization of hyperparameters
using structured best-response functions, ICLR 2019, section 3. Differs from it in λ⁰, which is 0 there: W and b can
make up for it, so the responses are the same functions, but far from 0 a large λ would multiply the learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from shoestring.errors import SpaceError


class HyperParameters(nn.Module):  # type: ignore[misc]
    """Hyper-parameters between the ends of their ``ranges``, which gradient descent tunes.

    They start in the middle, or where ``start`` says. ``width`` is the standard deviation of the perturbations at the
    start, on the unconstrained scale. It is learned as well, unless ``raw_widths.requires_grad_(False)`` fixes it.

    >>> hyper = HyperParameters({"dropout": (0.0, 0.8), "noise": (0.0, 1.0)}, start={"noise": 0.25})
    >>> {name: round(float(value), 2) for name, value in hyper.values().items()}
    {'dropout': 0.4, 'noise': 0.25}
    >>> hyper.sample(5).shape
    torch.Size([5, 2])
    """

    low: Tensor
    high: Tensor
    origin: Tensor

    def __init__(
        self, ranges: Mapping[str, tuple[float, float]], *, start: Mapping[str, float] | None = None, width: float = 0.5
    ) -> None:
        super().__init__()
        shares = _shares(ranges, start or {})
        if not (math.isfinite(width) and width > 0):
            raise SpaceError(f"width={width!r} is not possible: perturbations need a positive standard deviation")
        self.names = tuple(ranges)
        self.register_buffer("low", torch.tensor([float(low) for low, _ in ranges.values()]))
        self.register_buffer("high", torch.tensor([float(high) for _, high in ranges.values()]))
        self.register_buffer("origin", torch.logit(torch.tensor(shares)))
        self.raw = nn.Parameter(self.origin.clone())
        self.raw_widths = nn.Parameter(torch.full((len(shares),), math.log(math.expm1(width))))

    @property
    def widths(self) -> Tensor:
        """The standard deviations σ of the perturbations."""
        return nn.functional.softplus(self.raw_widths)

    def values(self, raw: Tensor | None = None) -> dict[str, Tensor]:
        """The values by name, of unconstrained hyper-parameters ``raw``; by default of the current ones."""
        values = self.low + (self.high - self.low) * torch.sigmoid(self.raw if raw is None else raw)
        return dict(zip(self.names, values.unbind(-1), strict=True))

    def sample(self, n: int) -> Tensor:
        """Perturbed hyper-parameters λ + σε for ``n`` examples, unconstrained, shape (n, H)."""
        return self.raw + self.widths * torch.randn(n, len(self.names), device=self.raw.device)

    def entropy(self) -> Tensor:
        """The entropy of the perturbations, up to a constant."""
        return self.widths.log().sum()


def _shares(ranges: Mapping[str, tuple[float, float]], start: Mapping[str, float]) -> list[float]:
    """Return where each hyper-parameter starts within its range, from 0 to 1."""
    if not ranges:
        raise SpaceError("there is no hyper-parameter to tune: give ranges, such as {'dropout': (0.0, 0.8)}")
    if unknown := [name for name in start if name not in ranges]:
        raise SpaceError(f"start has {', '.join(unknown)}; the hyper-parameters are {', '.join(ranges)}")
    shares = []
    for name, (low, high) in ranges.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise SpaceError(f"{name} has the range {low!r} to {high!r}; give a low and a higher end")
        value = start.get(name, (low + high) / 2)
        if not low < value < high:
            raise SpaceError(f"{name} starts at {value!r}; it must start between {low!r} and {high!r}, ends excluded")
        shares.append((value - low) / (high - low))
    return shares


class _Tuned(nn.Module):  # type: ignore[misc]
    """A layer that is given the hyper-parameters of the batch by the ``SelfTuning`` around it."""

    def __init__(self) -> None:
        super().__init__()
        self._given: tuple[Tensor, dict[str, Tensor]] | None = None

    def _of_batch(self) -> tuple[Tensor, dict[str, Tensor]]:
        if self._given is None:
            raise RuntimeError(f"{type(self).__name__} was called on its own; call the SelfTuning network around it")
        return self._given


class _Responsive(_Tuned):
    """Two ordinary layers without a bias, of which the second is scaled by the response."""

    def __init__(self, base: nn.Module, response: nn.Module, outputs: int, hyper: int) -> None:
        super().__init__()
        self.base, self.response = base, response  # W and b, W'
        self.response_bias = nn.Parameter(torch.zeros(outputs))  # b'
        nn.init.uniform_(self.response_bias, -0.1, 0.1)
        self.weight_scale = nn.Parameter(0.01 * torch.randn(outputs, hyper))  # V
        self.bias_scale = nn.Parameter(0.01 * torch.randn(outputs, hyper))  # C

    def _scales(self, x: Tensor, after: int) -> tuple[Tensor, Tensor]:
        """V(λ − λ⁰) and C(λ − λ⁰) b', with ``after`` dimensions of size 1 after that of the outputs."""
        moved, _ = self._of_batch()
        scales = moved @ self.weight_scale.T, (moved @ self.bias_scale.T) * self.response_bias
        before = x.ndim - 2 - after
        return tuple(s.view(s.shape[0], *[1] * before, s.shape[1], *[1] * after) for s in scales)


class Linear(_Responsive):
    """A linear layer from ``inputs`` to ``outputs`` features whose weights respond to ``hyper`` hyper-parameters."""

    def __init__(self, inputs: int, outputs: int, hyper: int) -> None:
        super().__init__(nn.Linear(inputs, outputs), nn.Linear(inputs, outputs, bias=False), outputs, hyper)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self._scales(x, after=0)
        return self.base(x) + weight * self.response(x) + bias


class Conv2d(_Responsive):
    """A convolution from ``inputs`` to ``outputs`` channels whose weights respond to ``hyper`` hyper-parameters.

    ``kernel``, ``stride`` and ``padding`` are those of ``torch.nn.Conv2d``.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, hyper: int, *, stride: int = 1, padding: int = 0
    ) -> None:
        def convolution(bias: bool) -> nn.Module:
            return nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias)

        super().__init__(convolution(True), convolution(False), outputs, hyper)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self._scales(x, after=2)
        return self.base(x) + weight * self.response(x) + bias


class Dropout(_Tuned):
    """Dropout whose rate is the hyper-parameter ``name``, of each example its own; off in evaluation mode."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        _, values = self._of_batch()
        if not self.training:
            return x
        kept = 1 - values[self.name].view(-1, *[1] * (x.ndim - 1))
        return x * (torch.rand_like(x) < kept) / kept


class SelfTuning(nn.Module):  # type: ignore[misc]
    """A ``network`` with responsive layers inside, and the hyper-parameters ``hyper`` that they respond to.

    Called with a batch it uses the current hyper-parameters; called with a batch and ``raw``, shape (n, H), those.

    >>> hyper = HyperParameters({"dropout": (0.0, 0.8)})
    >>> network = SelfTuning(nn.Sequential(Linear(4, 8, 1), nn.ReLU(), Dropout("dropout"), Linear(8, 3, 1)), hyper)
    >>> network(torch.zeros(5, 4), hyper.sample(5)).shape
    torch.Size([5, 3])
    """

    def __init__(self, network: nn.Module, hyper: HyperParameters) -> None:
        super().__init__()
        self.network, self.hyper = network, hyper
        self._check()

    def _check(self) -> None:
        layers = self._layers()
        if not any(isinstance(layer, _Responsive) for layer in layers):
            raise SpaceError(
                "the network has no layer that responds to hyper-parameters; use networks.Linear or Conv2d"
            )
        known = self.hyper.names
        for layer in layers:
            if isinstance(layer, Dropout) and layer.name not in known:
                raise SpaceError(
                    f"there is no hyper-parameter {layer.name!r} for Dropout; there are {', '.join(known)}"
                )
            if isinstance(layer, _Responsive) and layer.weight_scale.shape[1] != len(known):
                raise SpaceError(
                    f"a layer responds to {layer.weight_scale.shape[1]} hyper-parameters, and there are {len(known)}: "
                    f"give it hyper={len(known)}"
                )

    def _layers(self) -> list[_Tuned]:
        return [module for module in self.network.modules() if isinstance(module, _Tuned)]

    def weights(self) -> list[Any]:
        """The parameters that a training step changes: all but the hyper-parameters and their widths."""
        return list(self.network.parameters())

    def forward(self, x: Tensor, raw: Tensor | None = None) -> Tensor:
        raw = self.hyper.raw.expand(len(x), -1) if raw is None else raw
        given = raw - self.hyper.origin, self.hyper.values(raw)
        layers = self._layers()
        for layer in layers:
            layer._given = given  # noqa: SLF001 - the layers of this network
        try:
            return self.network(x)
        finally:
            for layer in layers:
                layer._given = None  # noqa: SLF001
