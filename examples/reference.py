#!/usr/bin/env python3
"""Optima of market.blv, revenue.blv, lineartoll.blv and elastic.blv; of the first three by nothing
but the KKT conditions of their followers: every set of active bounds is tried for each x, and x is found
by a grid that is refined around its best point. Needs numpy.

    python3 examples/reference.py

prints the values that examples_test.go compares with.
"""
import csv
import itertools
import pathlib
import numpy as np


seen = {}


def follower(Q, c, E, e, G, h):
    """min 1/2 z'Qz + c'z, E z = e, G z <= h by enumeration; z and the
    multipliers of E z - e with the Lagrangian + nu'(E z - e)."""
    n, k = len(c), len(e)
    subsets = (s for size in range(n - k + 1) for s in itertools.combinations(range(len(h)), size))
    for active in itertools.chain(list(seen), subsets):  # sets that fitted elsewhere come first
        rows = list(active)
        if max(rows, default=0) >= len(h):
            continue
        A, b = np.vstack([E, G[rows]]), np.concatenate([e, h[rows]])
        m = len(b)
        if np.linalg.matrix_rank(A) < m:
            continue
        s = np.linalg.solve(np.block([[Q, A.T], [A, np.zeros((m, m))]]), np.concatenate([-c, b]))
        z, nu = s[:n], s[n:]
        if np.all(G @ z <= h + 1e-9) and np.all(nu[k:] >= -1e-9):
            seen[active] = None
            return z, nu[:k]
    raise ValueError("no active set fits")


def market(x):
    demand, limit = np.array([3.0, 4, 7]), np.array([1.5, 2, 3])
    inc = np.array([[1.0, 1, 0], [-1, 0, 1], [0, -1, -1]])
    mine = np.array([[1.0, 0], [0, 1], [0, 0]])
    cost, rival = np.array([1, 1.5]), np.array([4.0, 3, 6])
    Q = np.diag([0.1, 0.1, 0.8, 0.8, 0.8, 0.05, 0.05, 0.05])
    c = np.concatenate([x, rival, np.zeros(3)])
    E = np.hstack([-mine, -np.eye(3), inc])  # demand + inc flow - mine sold - other = 0
    I = np.eye(8)
    G = np.vstack([-I[:5], I[:2], I[5:], -I[5:]])
    h = np.concatenate([np.zeros(5), [6, 6], limit, limit])
    z, price = follower(Q, c, E, -demand, G, h)
    sold = z[:2]
    return -(price @ (mine @ sold) - cost @ sold - 0.05 * sold @ sold), 0.0


def revenue(x):
    free, slope = np.array([2, 1.5, 1]), np.array([0.3, 0.6, 1.1])
    paid = np.array([x[0], x[1], 0])
    z, _ = follower(np.diag(slope), free + paid, np.ones((1, 3)), np.array([6.0]), -np.eye(3), np.zeros(3))
    violation = max(5 - paid @ z, (x[0] - x[1]) ** 2 - 1, 0)
    return (free + slope * z) @ z, violation


def search(f, low, high, points, rounds):
    """The best feasible point of a grid, refined around it."""
    centre, half = (low + high) / 2 * np.ones(2), (high - low) / 2
    best = (np.inf, None)
    for _ in range(rounds):
        axes = [np.clip(np.linspace(c - half, c + half, points), low, high) for c in centre]
        for x in itertools.product(*axes):
            value, violation = f(np.array(x))
            if violation <= 1e-12 and value < best[0]:
                best = (value, np.array(x))
        centre, half = best[1], half * 0.4
    return best


def lineartoll():
    """For each route, the tolls that make it a cheapest one are a polytope: the
    most that it earns is at a vertex, and all vertices are tried."""
    ends = list(zip([1, 1, 2, 2, 3, 3, 4, 4, 5, 1], [2, 3, 3, 4, 4, 5, 5, 6, 6, 6]))
    cost = np.array([2.0, 4, 1, 5, 2, 6, 1, 4, 2, 22])
    tolled = {2: 0, 4: 1, 7: 2}

    def routes(node):
        if node == 6:
            yield []
        for a, (start, end) in enumerate(ends):
            if start == node:
                for rest in routes(end):
                    yield [a] + rest

    every = [(cost[r].sum(), np.array([sum(tolled.get(a) == k for a in r) for k in range(3)], float)) for r in routes(1)]
    best = (-1.0, None)
    for price, use in every:
        # price + use'T <= other + others'T, 0 <= T <= 20
        G = np.vstack([use - u for _, u in every] + [-np.eye(3), np.eye(3)])
        h = np.concatenate([[c - price for c, _ in every], np.zeros(3), 20 * np.ones(3)])
        for rows in itertools.combinations(range(len(h)), 3):
            A = G[list(rows)]
            if abs(np.linalg.det(A)) < 1e-9:
                continue
            T = np.linalg.solve(A, h[list(rows)])
            if np.all(G @ T <= h + 1e-9) and use @ T > best[0] + 1e-12:
                best = (use @ T, T)
    return best


def elastic():
    """Minimum over a grid of the two penalties that is refined around its best point; for each
    the elastic net by coordinate descent."""
    with open(pathlib.Path(__file__).parent / "elastic" / "reg.csv") as file:
        rows = list(csv.DictReader(file))
    X = np.array([[float(r["x%d" % k]) for k in range(1, 9)] for r in rows])
    y = np.array([float(r["y"]) for r in rows])
    train, valid = (np.array([r["split"] == s for r in rows]) for s in ("train", "valid"))
    G, c = X[train].T @ X[train], X[train].T @ y[train]
    w = np.zeros(8)

    def loss(p):
        for _ in range(10000):
            before = w.copy()
            for j in range(8):  # 2 (G w - c)_j + 2 p0 w_j + p1 sign(w_j) = 0
                rho = c[j] - G[j] @ w + G[j, j] * w[j]
                w[j] = np.sign(rho) * max(abs(rho) - p[1] / 2, 0) / (G[j, j] + p[0])
            if np.abs(w - before).max() < 1e-15:
                break
        return ((y[valid] - X[valid] @ w) ** 2).sum()

    lo, hi = np.array([0.01, 0.01]), np.array([50.0, 50.0])
    at, step = (lo + hi) / 2, (hi - lo) / 2
    for _ in range(30):
        grid = [np.unique(np.clip(np.linspace(a - s, a + s, 9), l, h)) for a, s, l, h in zip(at, step, lo, hi)]
        value, at = min(((loss(p), p) for p in itertools.product(*grid)), key=lambda e: e[0])
        at, step = np.array(at), step * 0.5
    return value, at


if __name__ == "__main__":
    value, x = search(market, 0.0, 15.0, 21, 18)
    print("market", -value, x)
    value, x = search(revenue, 0.0, 6.0, 41, 24)
    print("revenue", value, x)
    value, x = lineartoll()
    print("lineartoll", value, x)
    value, x = elastic()
    print("elastic", value, x)
