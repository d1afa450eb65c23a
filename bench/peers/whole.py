"""One contestant on one whole experiment, in a process of its own:

    python whole.py CONTESTANT SEED DY EVALUATOR LIMIT

prints one line of JSON: F and its point as evaluated by exact linear algebra,
processor seconds, peak memory, and F against seconds on the way. The starts
are x = 0 unless the name says otherwise; data in memory, imports not charged."""
import json
import resource
import sys
import time

import numpy as np
from scipy.optimize import minimize

from contestants import Cvxpylayers
from experiment import DX, Hand, Instance


class Clock:
    """Processor time since the start, and the lowest F so far against it."""

    def __init__(self):
        self.began, self.trace, self.best = time.process_time(), [], np.inf

    def seconds(self):
        return time.process_time() - self.began

    def saw(self, F):
        if F < self.best:
            self.best = F
            self.trace.append((self.seconds(), F))


def lbfgs(instance, start, clock):
    hand = Hand(instance)

    def both(x):
        F, g = hand(x)
        clock.saw(F)
        return F, g

    return minimize(both, start, jac=True, method="L-BFGS-B",
                    options={"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-8}).x


def Lbfgs(instance, clock, limit):
    """L-BFGS on the hand-written hypergradient."""
    return lbfgs(instance, np.zeros(DX), clock)


def several(instance, clock, number):
    draw, hand = np.random.default_rng(instance.seed), Hand(instance)
    starts = [np.zeros(DX)] + [draw.standard_normal(DX) * 10 for _ in range(number - 1)]
    return min((lbfgs(instance, s, clock) for s in starts), key=lambda x: hand(x)[0])


def LbfgsFive(instance, clock, limit):
    """The same from 5 starts."""
    return several(instance, clock, 5)


def LbfgsTwenty(instance, clock, limit):
    """The same from 20 starts: the reference."""
    return several(instance, clock, 20)


def AdamCvxpylayers(instance, clock, limit, steps=1000, rate=0.1):
    """The paper's baseline: Adam on cvxpylayers, 1000 steps or what the limit allows."""
    layer = Cvxpylayers(instance)
    x, m, v = np.zeros(DX), np.zeros(DX), np.zeros(DX)
    best, at = np.inf, x
    for k in range(1, steps + 1):
        F, g = layer(x)
        clock.saw(F)
        if F < best:
            best, at = F, x.copy()
        if clock.seconds() > limit:
            break
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - rate * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    return at


def Pympcc(instance, clock, limit):
    """The KKT system of the lower level as complementarity constraints, Scholtes' relaxation by Ipopt."""
    import pympcc
    t, n = instance, instance.dy
    z0 = np.zeros(DX + n + t.dh)
    y0, multipliers = start(t)
    z0[DX:DX + n], z0[DX + n:] = y0, multipliers
    G = np.hstack([np.zeros((t.dh, DX + n)), np.eye(t.dh)])
    H = np.hstack([np.zeros((t.dh, DX)), -t.A, np.zeros((t.dh, t.dh))])
    E = np.hstack([t.P.T, t.Q, t.A.T])
    problem = pympcc.MPCCProblem(
        n=DX + n + t.dh, n_comp=t.dh, x0=z0,
        objective=lambda z: t.c @ z[DX:DX + n] + 0.01 * (z[:DX + n] @ z[:DX + n]),
        gradient=lambda z: np.concatenate([0.02 * z[:DX], t.c + 0.02 * z[DX:DX + n], np.zeros(t.dh)]),
        comp_G=lambda z: z[DX + n:], comp_G_jacobian=lambda z: G,
        comp_H=lambda z: t.b - t.A @ z[DX:DX + n], comp_H_jacobian=lambda z: H,
        n_eq=n, eq_constraints=lambda z: E @ z, eq_jacobian=lambda z: E)
    return pympcc.solve(problem, strategy="scholtes").x[:DX]  # its own limits are of time on the wall


def start(t):
    """y and the multipliers at x = 0."""
    hand = Hand(t)
    hand(np.zeros(DX))
    y, lam, _ = t.kkt(np.zeros(t.dy), hand.rows, t.grad_y)
    multipliers = np.zeros(t.dh)
    multipliers[hand.rows] = lam
    return y, multipliers


def Blvpy(instance, clock, limit):
    """Disciplined bilevel programming: relaxed conic optimality conditions by Ipopt."""
    import blvpy
    import cvxpy as cp
    t = instance
    x, y = cp.Variable(DX), cp.Variable(t.dy)
    R = np.linalg.cholesky(t.Q).T
    lower = blvpy.LowerProblem(cp.Minimize(0.5 * cp.sum_squares(R @ y) + (t.P.T @ x) @ y), [t.A @ y <= t.b],
                               parameters=[x])
    problem = blvpy.BilevelProblem(cp.Minimize(t.c @ y + 0.01 * cp.sum_squares(x) + 0.01 * cp.sum_squares(y)), lower)
    x.value = np.zeros(DX)
    problem.solve()
    return x.value


ALL = {f.__name__: f for f in (Lbfgs, LbfgsFive, LbfgsTwenty, AdamCvxpylayers, Pympcc, Blvpy)}


def bilevelc(instance, evaluator, limit):
    import os
    import subprocess
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([evaluator, "-solve", "-limit", str(limit), *instance.write(folder)], capture_output=True, text=True, check=True,
                              env={**os.environ, "GOMAXPROCS": "1"})
    first, *steps, last = (json.loads(line) for line in done.stdout.splitlines())
    return {"x": np.array(last["x"]["x"]), "seconds": last["seconds"], "status": last["status"], "bind": first["bind"],
            "trace": [(s["seconds"], s["f"]) for s in steps],
            "megabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}


def main(name, seed, dy, evaluator, limit):
    instance = Instance(seed, dy)
    if name == "Bilevelc":
        row = bilevelc(instance, evaluator, limit)
    else:
        clock = Clock()
        x = ALL[name](instance, clock, limit)
        row = {"x": x, "seconds": clock.seconds(), "trace": clock.trace,
               "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    x = row.pop("x")
    row["F"] = float(Hand(instance)(np.asarray(x, float))[0])
    print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
