"""Random toll-setting problems on grids of one-way roads, and their optima.

    python bench/field/tollgrid.py SIDE GOODS TOLLS SEED...   # pip install numpy scipy

writes bench/field/data/tollgrid_SIDE_GOODS_TOLLS_SEED.json, the data of
tollgrid.blv, and a line of tollgrid.csv: the optimum and its bound by HiGHS
(scipy.optimize.milp), from the mixed-integer program over the goods' routes,
the prices of the nodes and the products of tolls and routes. A good goes one
way unless two ways cost the same, and one of those is as good for the leader.
"""
import json
import pathlib
import sys

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

HIGHEST = 20.0  # of a toll, as in tollgrid.blv
DATA = pathlib.Path(__file__).parent / "data"


def instance(side, goods, tolls, seed):
    random = np.random.default_rng(seed)
    node = lambda i, j: i * side + j + 1
    arcs = []
    for i in range(side):
        for j in range(side):
            if j + 1 < side:
                arcs.append((node(i, j), node(i, j + 1)))
            if i + 1 < side:
                arcs.append((node(i, j), node(i + 1, j)))
    cost = random.integers(2, 10, len(arcs)).astype(float)
    tolled = sorted(random.choice(len(arcs), tolls, replace=False))
    trips = []
    for _ in range(goods):
        low = lambda: int(random.integers(0, side // 3 + 1))
        high = lambda: int(random.integers(side - side // 3 - 1, side))
        origin = node(low(), low())
        destination = node(high(), high())
        trips.append((origin, destination, float(random.integers(1, 5))))
    cost[tolled] *= 0.5
    return arcs, cost, tolled, trips


def write(name, side, arcs, cost, tolled, trips):
    amounts = np.zeros((side * side, len(trips)))
    for k, (origin, destination, amount) in enumerate(trips):
        amounts[origin - 1, k] += amount
        amounts[destination - 1, k] -= amount
    (DATA / f"{name}.json").write_text(json.dumps({
        "nodes": side * side, "arcs": len(arcs), "tolls": len(tolled), "goods": len(trips),
        "tail": [a for a, _ in arcs], "head": [b for _, b in arcs], "cost": cost.tolist(),
        "tolled": [int(t) + 1 for t in tolled], "trips": amounts.tolist()}) + "\n")


def optimum(side, arcs, cost, tolled, trips, limit=600):
    A, K, T, N = len(arcs), len(trips), len(tolled), side * side
    flow = lambda a, k: a * K + k  # part of good k on arc a
    paid = lambda t, k: A * K + t * K + k  # toll of t times that
    toll = lambda t: (A + T) * K + t
    price = lambda v, k: (A + T) * K + T + (v - 1) * K + k  # of node v to good k
    size = (A + T) * K + T + N * K
    place = {a: t for t, a in enumerate(tolled)}
    entries, low, high = [], [], []

    def row(terms, lo, hi):
        entries.extend((len(low), j, v) for j, v in terms.items())
        low.append(lo)
        high.append(hi)

    for k, (origin, destination, _) in enumerate(trips):
        for v in range(1, N + 1):
            terms = {}
            for a, (u, w) in enumerate(arcs):
                if v in (u, w):
                    terms[flow(a, k)] = 1 if u == v else -1
            side_of_v = (v == origin) - (v == destination)
            row(terms, side_of_v, side_of_v)
        for a, (u, w) in enumerate(arcs):  # no arc costs less than the prices differ
            terms = {price(u, k): 1, price(w, k): -1}
            if a in place:
                terms[toll(place[a])] = -1
            row(terms, -np.inf, cost[a])
        # What good k pays is what the prices of its ends differ by: it goes a cheapest way.
        terms = {price(origin, k): -1, price(destination, k): 1}
        terms |= {flow(a, k): cost[a] for a in range(A)} | {paid(t, k): 1 for t in range(T)}
        row(terms, 0, 0)
        for t, a in enumerate(tolled):
            row({paid(t, k): 1, flow(a, k): -HIGHEST}, -np.inf, 0)
            row({paid(t, k): 1, toll(t): -1}, -np.inf, 0)
            row({paid(t, k): -1, toll(t): 1, flow(a, k): HIGHEST}, -np.inf, HIGHEST)
    gain = np.zeros(size)
    lo, hi = np.zeros(size), np.full(size, np.inf)
    hi[: A * K] = 1
    hi[A * K : (A + T) * K + T] = HIGHEST
    lo[(A + T) * K + T :] = -np.inf
    whole = np.zeros(size)
    for k, (_, destination, amount) in enumerate(trips):
        lo[price(destination, k)] = hi[price(destination, k)] = 0
        for t, a in enumerate(tolled):
            gain[paid(t, k)] = amount
            whole[flow(a, k)] = 1
    i, j, v = zip(*entries)
    rows = coo_matrix((v, (i, j)), shape=(len(low), size)).tocsr()
    found = milp(-gain, constraints=LinearConstraint(rows, low, high), bounds=Bounds(lo, hi), integrality=whole,
                 options={"time_limit": limit})
    return -found.fun, -found.mip_dual_bound


if __name__ == "__main__":
    side, goods, tolls, *seeds = map(int, sys.argv[1:])
    table = DATA / "tollgrid.csv"
    lines = table.read_text().splitlines() if table.exists() else ["instance,optimum,bound"]
    for seed in seeds:
        name = f"tollgrid_{side}_{goods}_{tolls}_{seed}"
        problem = instance(side, goods, tolls, seed)
        write(name, side, *problem)
        best, bound = optimum(side, *problem)
        lines = [line for line in lines if not line.startswith(name + ",")] + [f"{name},{best:.10g},{bound:.10g}"]
        print(lines[-1], flush=True)
        table.write_text("\n".join(lines) + "\n")
