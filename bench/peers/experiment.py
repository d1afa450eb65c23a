"""The experiment of the paper, section 6: random instances, and F with its
exact hypergradient by dense linear algebra on the active rows.

    minimize over x  c'y* + 0.01 |x|^2 + 0.01 |y*|^2,
    y* = argmin 0.5 y'Qy + x'Py  subject to  A y <= b,  Q = L'L + I.
"""
import json

import numpy as np
import scipy.linalg as la

DX = 100

MODEL = """model experiment
param dx: int = 100
param dy: int
param dh: int = dy / 5
data c: vector[dy]
data P: matrix[dx, dy]
data Q: matrix[dy, dy]
data A: matrix[dh, dy]
data b: vector[dh]
upper {
  var x: vector[dx]
  minimize c' * y + 0.01 * sumsq(x) + 0.01 * sumsq(y)
}
lower {
  var y: vector[dy]
  minimize 0.5 * y' * Q * y + x' * P * y
  subject to
    capacity: A * y <= b
}
"""


class Instance:
    def __init__(self, seed, dy):
        draw = np.random.default_rng([seed, dy]).standard_normal
        self.seed, self.dy, self.dh = seed, dy, dy // 5
        self.c, self.P, L = draw(dy), draw((DX, dy)), draw((dy, dy))
        self.A, self.b = draw((self.dh, dy)), draw(self.dh)
        self.Q = L.T @ L + np.eye(dy)
        self.Q = (self.Q + self.Q.T) / 2

    def write(self, folder):
        """The model and its numbers: two paths."""
        model, numbers = f"{folder}/experiment.blv", f"{folder}/experiment_{self.dy}_{self.seed}.npz"
        with open(model, "w") as f:
            f.write(MODEL)
        np.savez(numbers, dy=np.float64(self.dy), c=self.c, P=self.P, Q=self.Q, A=self.A, b=self.b)
        return model, numbers

    def linear(self, x):
        """The linear term of the lower objective."""
        return x @ self.P

    def value(self, x, y):
        return self.c @ y + 0.01 * (x @ x) + 0.01 * (y @ y)

    def grad_y(self, y):
        return self.c + 0.02 * y

    def grad_x(self, x, adjoint):
        """grad F from p = (dy*/dq)' grad_y f, q the linear term: 0.02 x + P p."""
        return 0.02 * x + self.P @ adjoint

    def kkt(self, q, rows, fy):
        """y and the multipliers of `rows` held as equalities, and the adjoint
        p = (dy/dq)'fy, by one dense factorization with a step of refinement."""
        n, k = self.dy, len(rows)
        K = np.zeros((n + k, n + k))
        K[:n, :n], K[:n, n:], K[n:, :n] = self.Q, self.A[rows].T, self.A[rows]
        factors = la.lu_factor(K)

        def solve(rhs):
            z = la.lu_solve(factors, rhs)
            return z + la.lu_solve(factors, rhs - K @ z)

        z = solve(np.concatenate([-q, self.b[rows]]))
        y = z[:n]
        p = solve(np.concatenate([fy(y), np.zeros(k)]))[:n]
        return y, z[n:], -p

    def exact(self, x, rows):
        """F and its gradient on the face of `rows`, and the margin by which
        the multipliers and the slacks of the face are those of the solution."""
        y, multipliers, p = self.kkt(self.linear(x), rows, self.grad_y)
        others = np.setdiff1d(np.arange(self.dh), rows)
        margin = min(np.min(multipliers, initial=np.inf), np.min(self.b[others] - self.A[others] @ y, initial=np.inf))
        return self.value(x, y), self.grad_x(x, p), margin


class Hand:
    """What somebody writes who knows the problem: the quadratic program is
    daqp's, which keeps its factorization of Q and starts warm; the adjoint
    takes a Schur complement of the active rows alone, Q factorized once."""

    def __init__(self, instance):
        import daqp
        self.instance, self.model = instance, daqp.Model()
        self.factor = None

    def __call__(self, x):
        t, q = self.instance, self.instance.linear(x)
        if self.factor is None:
            self.factor = la.cho_factor(t.Q, lower=True)
            self.V = la.cho_solve(self.factor, t.A.T)  # Q^-1 A'
            self.S = t.A @ self.V
            self.model.setup(t.Q, q, t.A, t.b, np.full(t.dh, -1e30))
        else:
            self.model.update(f=q)
        _, _, flag, info = self.model.solve()
        if flag != 1:
            raise RuntimeError(f"daqp ended with {flag}")
        rows = np.flatnonzero(info["lam"] > 0)
        self.rows = rows
        factor = la.cho_factor(self.S[np.ix_(rows, rows)]) if len(rows) else None
        u = la.cho_solve(self.factor, q)
        y = -u
        if len(rows):
            y -= self.V[:, rows] @ la.cho_solve(factor, -t.b[rows] - t.A[rows] @ u)
        w = la.cho_solve(self.factor, t.grad_y(y))
        if len(rows):
            w -= self.V[:, rows] @ la.cho_solve(factor, t.A[rows] @ w)
        return t.value(x, y), t.grad_x(x, -w)


def path(instance, steps, rate=0.05):
    """The iterates of Adam from 0: where an outer run asks for hypergradients.
    With each comes the set of active rows."""
    hand = Hand(instance)
    x, m, v = np.zeros(DX), np.zeros(DX), np.zeros(DX)
    points = []
    for k in range(1, steps + 1):
        _, g = hand(x)
        points.append((x.copy(), hand.rows.copy()))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - rate * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    return points


class Evaluator:
    """bilevelc, over standard input and output (see evaluator/main.go)."""

    def __init__(self, binary, model, numbers, *flags, **environment):
        import os
        import subprocess
        self.process = subprocess.Popen([binary, *flags, model, numbers], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "GOMAXPROCS": "1", **environment})
        self.bind = json.loads(self.process.stdout.readline())["bind"]

    def __call__(self, x, warm=True):
        self.process.stdin.write(json.dumps({"x": list(x), "warm": warm}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the evaluator stopped")
        return json.loads(line)

    def megabytes(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
