"""Best known optima of examples/ridge and examples/classifier, computed apart
from bilevelc: exact lower solutions by an active-set Newton method on the
known Hessians, hypergradients by implicit differentiation of the KKT system,
many seeded starts of projected quasi-Newton (SLSQP, L-BFGS-B) on F.

    pip install numpy scipy
    python bench/peers/reference.py ridge > examples/ridge/ridge.ref.json
"""
import json
import sys

import numpy as np
from scipy.optimize import minimize


def active_set_newton(grad, hess, lo, hi, equality, y):
    """min g(y), lo <= y <= hi, equality' y = 0 (or None): y, fixed mask."""
    n = len(y)
    fixed = (y <= lo) | (y >= hi)
    for _ in range(200):
        free = ~fixed
        G, H = grad(y), hess(y)
        k = free.sum()
        if equality is not None:
            a = equality[free]
            K = np.block([[H[np.ix_(free, free)], a[:, None]], [a[None, :], np.zeros((1, 1))]])
            step = np.linalg.solve(K, np.append(-G[free], -equality @ y))
            d, nu = step[:k], step[k]
        else:
            d, nu = np.linalg.solve(H[np.ix_(free, free)], -G[free]), 0.0
        t, block = 1.0, -1
        for j, i in enumerate(np.flatnonzero(free)):
            if d[j] < 0 and y[i] + d[j] < lo[i] and (lo[i] - y[i]) / d[j] < t:
                t, block = (lo[i] - y[i]) / d[j], i
            if d[j] > 0 and y[i] + d[j] > hi[i] and (hi[i] - y[i]) / d[j] < t:
                t, block = (hi[i] - y[i]) / d[j], i
        y = y.copy()
        y[free] += t * d
        if block >= 0:
            y[block] = lo[block] if abs(y[block] - lo[block]) < abs(y[block] - hi[block]) else hi[block]
            fixed[block] = True
            continue
        if np.linalg.norm(d) > 1e-11 * (1 + np.linalg.norm(y)):
            continue
        r = grad(y) + (nu * equality if equality is not None else 0)
        worst, at = 1e-11, -1
        for i in np.flatnonzero(fixed):
            bad = -r[i] if y[i] == lo[i] else r[i]
            if bad > worst:
                worst, at = bad, i
        if at < 0:
            return y, fixed
        fixed[at] = False
    raise RuntimeError("active set did not settle")


def adjoint(hess, fixed, equality, fy):
    """p with dF = -p' g_yx: solves the KKT system against fy."""
    free = ~fixed
    k = free.sum()
    p = np.zeros(len(fy))
    H = hess[np.ix_(free, free)]
    if equality is not None:
        a = equality[free]
        K = np.block([[H, a[:, None]], [a[None, :], np.zeros((1, 1))]])
        p[free] = np.linalg.solve(K, np.append(fy[free], 0))[:k]
    else:
        p[free] = np.linalg.solve(H, fy[free])
    return p


def ridge(data, seeds):
    X, t, Xv, tv = (np.array(data[k], float) for k in ("X", "t", "Xv", "tv"))
    n, m, p = len(t), len(tv), X.shape[1]

    def F(x):
        H = X.T @ X / n + np.diag(np.exp(x))
        c = X.T @ t / n
        w, fixed = active_set_newton(lambda w: H @ w - c, lambda w: H, np.zeros(p), np.full(p, np.inf), None, np.ones(p))
        r = Xv @ w - tv
        adj = adjoint(H, fixed, None, 2 * Xv.T @ r / m)
        return r @ r / m, -adj * np.exp(x) * w, w

    best = None
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-6, 3, p)
        for _ in range(4):  # restarts shake it off a kink
            res = minimize(lambda z: F(z)[:2], x, jac=True, method="L-BFGS-B", bounds=[(-6, 3)] * p,
                           options={"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-12})
            x = res.x
        if best is None or res.fun < best[0]:
            best = (res.fun, res.x, F(res.x)[2])
    return {"logpen": best[1].tolist(), "w": best[2].tolist(), "value": best[0], "starts": seeds}


def classifier(data, seeds):
    X, s, Xv, sv = (np.array(data[k], float) for k in ("X", "s", "Xv", "sv"))
    n, p = X.shape
    M, Mv = s[:, None] * X, sv[:, None] * Xv
    one = np.ones(p)
    sig = lambda u: 1 / (1 + np.exp(-u))

    def F(q):
        grad = lambda th: -M.T @ (q * sig(-M @ th)) + 0.1 * th
        hess = lambda th: M.T @ ((q * sig(M @ th) * sig(-M @ th))[:, None] * M) + 0.1 * np.eye(p)
        th, fixed = active_set_newton(grad, hess, np.full(p, -2.0), np.full(p, 2.0), one, np.zeros(p))
        z = -Mv @ th
        fy = -Mv.T @ sig(z) / len(sv)
        adj = adjoint(hess(th), fixed, one, fy)
        return np.mean(np.logaddexp(0, z)), (M @ adj) * sig(-M @ th), th

    best = None
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        q = rng.dirichlet(np.ones(n)) if seed else np.ones(n) / n
        for _ in range(3):
            res = minimize(lambda z: F(z)[:2], q, jac=True, method="SLSQP", bounds=[(0, 1)] * n,
                           constraints={"type": "eq", "fun": lambda z: z.sum() - 1, "jac": lambda z: np.ones(n)},
                           options={"maxiter": 1000, "ftol": 1e-15})
            q = np.maximum(res.x, 0)
            q /= q.sum()
        value, _, th = F(q)
        if best is None or value < best[0]:
            best = (value, q, th)
    return {"q": best[1].tolist(), "theta": best[2].tolist(), "value": best[0], "starts": seeds}


if __name__ == "__main__":
    name = sys.argv[1]
    with open(f"examples/{name}/{name}.json") as handle:
        given = json.load(handle)
    json.dump({"ridge": ridge, "classifier": classifier}[name](given, int(sys.argv[2]) if len(sys.argv) > 2 else 20), sys.stdout)
