import numpy as np
import pytest

import bilevelc
from test_model import SHELF

torch = pytest.importorskip("torch")


def test_gradients_are_those_of_differences():
    layer = bilevelc.Model(text=SHELF).torch()
    rng, checked, h = np.random.default_rng(4), 0, 1e-5
    for _ in range(20):
        x = torch.tensor(rng.uniform(1, 4, 3), requires_grad=True)
        v = torch.tensor(rng.normal(size=3))

        def loss(x):
            F, y = layer(x, answer=True)
            return F ** 2 + (v * y).sum()

        loss(x).backward()
        with torch.no_grad():
            at = lambda d: layer.model.evaluate(x.detach() + d)
            near = [(h * torch.eye(3, dtype=torch.float64)[i]) for i in range(3)]
            if len({tuple(np.concatenate([e["amount.nonneg"], [e["shelf"]]]) > 0) for d in near for e in (at(d), at(-d))}) > 1:
                continue
            difference = torch.stack([(loss(x + d) - loss(x - d)) / (2 * h) for d in near])
        checked += 1
        assert torch.allclose(x.grad, difference, atol=1e-4), (x.grad, difference)
    assert checked > 8


def test_gradcheck_batches_and_types():
    layer = bilevelc.Model(text=SHELF).torch()
    x = torch.tensor([[3.0, 2.5, 2.0], [1.0, 1.5, 2.5]], dtype=torch.float64, requires_grad=True)
    assert layer(x).shape == (2,)
    assert torch.autograd.gradcheck(layer, (x,), atol=1e-4)
    single = torch.tensor([3.0, 2.5, 2.0], requires_grad=True)
    F, y = layer(single, answer=True)
    assert F.dtype == torch.float32 and y.shape == (3,)
    (F + y.sum()).backward()
    assert single.grad.dtype == torch.float32


def test_descends_to_the_optimum():
    m = bilevelc.Model(text="model q\nupper {\n  var x: vector[2] in box(-5, 5)\n  minimize sumsq(y - [1, 2])\n}\nlower {\n  var y: vector[2]\n  minimize sumsq(y - 2 * x)\n}\n")
    layer = m.torch()
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x])

    def closure():
        optimizer.zero_grad()
        F = layer(x)
        F.backward()
        return F

    optimizer.step(closure)
    assert torch.allclose(x, torch.tensor([0.5, 1.0], dtype=torch.float64), atol=1e-6)
