"""Data of examples/followers, and its best known optimum, computed apart from
bilevelc: each firm's answer in closed form but for one number, the marginal
value of its output, the root of a piecewise linear function; hypergradients by implicit
differentiation; many seeded starts of L-BFGS-B on F, polished by Nelder-Mead
in case the optimum is a kink.

    pip install numpy scipy
    python bench/peers/followers.py data > examples/followers/followers.json
    python bench/peers/followers.py reference > examples/followers/followers.ref.json
"""
import json
import sys

import numpy as np
from scipy.optimize import minimize

OVERHEAD = 0.1  # twice the model's factor of a firm's squared output
REGIONS = 3


def generate():
    rng = np.random.default_rng(20260303)
    sizes = [5, 6, 8, 9, 12, 14]
    n = sum(sizes)
    uniform = lambda lo, hi, k=n: np.round(rng.uniform(lo, hi, k), 3)
    capacity = uniform(0.5, 2)
    owner = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    share = uniform(0.25, 0.6, len(sizes))
    contract = [round(share[i] * capacity[owner == i].sum(), 3) for i in range(len(sizes))]
    return {"firms": len(sizes), "plants": n, "regions": REGIONS, "owner": (owner + 1).tolist(),
            "region": (rng.integers(0, REGIONS, n) + 1).tolist(), "capacity": capacity.tolist(),
            "cost": uniform(0.5, 3).tolist(), "slope": uniform(0.3, 2).tolist(), "dirt": uniform(0.2, 1.5).tolist(),
            "price": uniform(2, 5, len(sizes)).tolist(), "contract": contract, "target": [6, 4, 5]}


def firm(k, slope, capacity, contract):
    """A firm's outputs at marginal costs k, and the weights W of dq = -W dk."""
    outputs = lambda mu: np.clip((mu - k) / slope, 0, capacity)
    kinks = np.unique(np.concatenate([[k.min() - OVERHEAD * capacity.sum() - 1], k, k + slope * capacity,
                                      [(k + slope * capacity).max() + 1]]))
    totals = np.clip((kinks[:, None] - k) / slope, 0, capacity).sum(axis=1)

    def root(values):  # of a function that rises, linear between the kinks
        i = int(np.searchsorted(values, 0))
        return kinks[i] - values[i] * (kinks[i] - kinks[i - 1]) / (values[i] - values[i - 1])

    mu = root(kinks + OVERHEAD * totals)
    bound = outputs(mu).sum() < contract
    if bound:
        mu = root(totals - contract)
    q = outputs(mu)
    free = (q > 0) & (q < capacity)
    w = np.where(free, 1 / slope, 0)
    W = np.diag(w)
    if w.sum() > 0:
        # mu moves with k so that total output, or mu + OVERHEAD total, stays.
        W -= np.outer(w, w) / w.sum() if bound else OVERHEAD * np.outer(w, w) / (1 + OVERHEAD * w.sum())
    return q, W


def hyper(data):
    d = {k: np.array(v) for k, v in data.items()}
    owner, region = d["owner"] - 1, d["region"] - 1

    def F(charge):
        q = np.zeros(len(owner))
        W = np.zeros((len(owner), len(owner)))
        k = d["cost"] + charge[region] * d["dirt"] - d["price"][owner]
        for i in range(len(d["price"])):
            own = owner == i
            q[own], W[np.ix_(own, own)] = firm(k[own], d["slope"][own], d["capacity"][own], d["contract"][i])
        excess = np.array([(d["dirt"] * q)[region == r].sum() for r in range(REGIONS)]) - d["target"]
        back = W @ (excess[region] * d["dirt"])
        grad = np.array([-(back * d["dirt"])[region == r].sum() for r in range(REGIONS)]) + 0.1 * charge
        return 0.5 * excess @ excess + 0.05 * charge @ charge, grad, q

    return F


def reference(data, seeds=6):
    F, best = hyper(data), None
    for seed in range(seeds):
        x = np.random.default_rng(seed).uniform(0, 5, REGIONS)
        for _ in range(2):
            x = minimize(lambda z: F(z)[:2], x, jac=True, method="L-BFGS-B", bounds=[(0, 5)] * REGIONS,
                         options={"maxiter": 500, "ftol": 1e-16, "gtol": 1e-12}).x
            x = minimize(lambda z: F(np.clip(z, 0, 5))[0], x, method="Nelder-Mead",
                         options={"maxiter": 400, "xatol": 1e-10, "fatol": 1e-15}).x
            x = np.clip(x, 0, 5)
        value, grad, q = F(x)
        if best is None or value < best["value"]:
            best = {"charge": x.tolist(), "output": q.tolist(), "value": value, "gradient": grad.tolist()}
    return {**best, "starts": seeds}


if __name__ == "__main__":
    if sys.argv[1] == "data":
        json.dump(generate(), sys.stdout)
    else:
        with open("examples/followers/followers.json") as handle:
            json.dump(reference(json.load(handle)), sys.stdout)
