"""Models as functions of torch tensors.

    layer = bilevelc.Model("toll.blv").torch()
    x = torch.zeros(6, dtype=torch.float64, requires_grad=True)
    F = layer(x)                 # F(x) = f(x, y*(x))
    F.backward()                 # x.grad is the hypergradient
    F, y = layer(x, answer=True) # and y*(x), through which gradients flow as well
"""

from __future__ import annotations

from typing import Any, Tuple, Union

import numpy as np
import torch

from ._model import Model


class _Solve(torch.autograd.Function):
    """x -> F(x), y*(x)."""

    @staticmethod
    def forward(ctx: Any, x: Any, model: Model, kinks: str) -> Tuple[Any, Any]:
        e = model.evaluate(x, gradient=ctx.needs_input_grad[0], kinks=kinks)
        ctx.model, ctx.kinks, ctx.e = model, kinks, e
        return x.new_tensor(e.F), x.new_tensor(e.y)

    @staticmethod
    def backward(ctx: Any, of_F: Any, of_y: Any) -> Tuple[Any, None, None]:
        e = ctx.e
        total = np.zeros_like(e.x)
        if of_F is not None and bool(of_F != 0):
            total += float(of_F) * e.gradient
        if of_y is not None and bool((of_y != 0).any()):
            # The process has the answer at x, or finds it again from nearby.
            total += ctx.model.evaluate(e.x, gradient=False, vjp=of_y.detach().cpu().numpy(), kinks=ctx.kinks).vjp
        grad = (of_F if of_F is not None else of_y).new_tensor(total)
        return grad, None, None


class Layer(torch.nn.Module):
    """A model with its data as a module: x, the leader's variables as one vector, goes to
    F(x), whose gradient is the hypergradient. Leading dimensions of x are a batch.

    Numbers are doubles on the way, and come back in the type of x. ``kinks`` is that of
    Model.evaluate: at a kink the gradient is that of one of the branches that meet there.
    """

    def __init__(self, model: Model, kinks: str = "ignore") -> None:
        super().__init__()
        self.model = model
        self.kinks = kinks

    def forward(self, x: Any, answer: bool = False) -> Union[Any, Tuple[Any, Any]]:
        """F(x); with ``answer``, F(x) and y*(x)."""
        if x.dim() > 1:
            parts = [self.forward(row, answer=True) for row in x]
            F, y = torch.stack([p[0] for p in parts]), torch.stack([p[1] for p in parts])
        else:
            F, y = _Solve.apply(x.reshape(-1), self.model, self.kinks)
        return (F, y) if answer else F
