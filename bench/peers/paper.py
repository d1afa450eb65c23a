"""One hypergradient of the paper's experiment by solvers that are given the matrices:
proxsuite with its own derivative of the solution, DAQP with the KKT system of the
active rows solved by hand, and that system with all factors kept. One thread,
processor time, medians in milliseconds, on data of the distribution that
BenchmarkHypergradient draws from.

    pip install proxsuite daqp scipy
    python bench/peers/paper.py 50 200 800
"""
import os
import sys
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
from ctypes import c_int

import daqp
import numpy as np
import proxsuite
import scipy.linalg as sl

DX = 100


def median(f, rounds):
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        f()
        times.append(time.process_time() - begin)
    return 1e3 * np.median(times)


def contest(dy):
    rng = np.random.default_rng(1)
    dh, rounds = dy // 5, max(3, min(50, 4_000_000 // dy**2))
    c, P, L = rng.normal(size=dy), rng.normal(size=(DX, dy)), rng.normal(size=(dy, dy))
    A, b, x = rng.normal(size=(dh, dy)), rng.normal(size=dh), rng.normal(size=DX)
    Q, below = L.T @ L + np.eye(dy), np.full(dh, -1e20)

    def prox(x):
        qp = proxsuite.proxqp.dense.QP(dy, 0, dh)
        qp.settings.eps_abs = 1e-9
        qp.init(Q, P.T @ x, None, None, A, below, b)
        qp.solve()
        return qp

    def derivative(qp, x):
        loss = np.concatenate([c + 0.02 * qp.results.x, np.zeros(dh)])
        proxsuite.proxqp.dense.compute_backward(qp, loss, 1e-9, 1e-9, 1e-9)
        return 0.02 * x + P @ qp.model.backward_data.dL_dg

    def by_hand(y, active):
        k = len(active)
        K = np.zeros((dy + k, dy + k))
        K[:dy, :dy], K[:dy, dy:], K[dy:, :dy] = Q, A[active].T, A[active]
        v = np.linalg.solve(K, np.concatenate([c + 0.02 * y, np.zeros(k)]))[:dy]
        return 0.02 * x - P @ v

    qp = prox(x)
    active = np.where(qp.results.z > 1e-6)[0]
    y = qp.results.x.copy()
    off = np.abs(derivative(qp, x) - by_hand(y, active)).max()
    qp.settings.initial_guess = proxsuite.proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
    step = 0

    def warm():
        nonlocal step
        step += 1
        at = x * (1 + 0.01 * (step % 20) / 20)
        qp.update(g=P.T @ at)
        qp.solve()
        return derivative(qp, at)

    factor = sl.cho_factor(Q)
    M = sl.cho_solve(factor, A[active].T)
    S = sl.cho_factor(A[active] @ M)

    def kept():
        u = -sl.cho_solve(factor, P.T @ x)
        y = u - M @ sl.cho_solve(S, A[active] @ u - b[active])
        v = sl.cho_solve(factor, c + 0.02 * y)
        return 0.02 * x - P @ (v - M @ sl.cho_solve(S, A[active] @ v))

    sense, least = np.zeros(dh, dtype=c_int), np.full(dh, -1e30)
    print(f"d_y {dy}, {len(active)} rows active, gradients differ by {off:.0e}:"
          f" proxsuite cold {median(lambda: derivative(prox(x), x), rounds):.3f}, warm {median(warm, rounds):.3f};"
          f" DAQP cold {median(lambda: daqp.solve(Q, P.T @ x, A, b, least, sense), rounds) + median(lambda: by_hand(y, active), rounds):.3f};"
          f" by hand with all factors and active rows kept {median(kept, rounds):.3f}", flush=True)


for size in sys.argv[1:]:
    contest(int(size))
