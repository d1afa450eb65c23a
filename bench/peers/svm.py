"""The slack-budget support vector machine by the code that BLOCC's authors published: BLOCC, LV-HBA and GAM with the
parameters of their notebook, and the barrier method by that of its authors, on the splits of bench/field/data, one thread.

    python svm.py CLONE ALGORITHM DATASET SEED

prints one line of JSON. CLONE is a copy of the repository Liuyuan999/Penalty_Based_Lagrangian_Bilevel (Apache-2.0), for
`barrier` of mepear/bilevel_ipm.
`loss` is what they report, the validation loss at the w and b that the algorithm holds; `solved` is the loss where
the lower level is solved exactly for the budgets C that it returns, which is F (GAM has another lower level, penalties
C for squared slacks, so that it has none)."""
import json
import pathlib
import sys
import time

import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "field" / "data"
EPOCHS = 80
PARAMETERS = {
    "lv_hba": {"alpha": 0.01, "gama1": 0.1, "gama2": 0.1, "yita": 0.001},
    "gam": {"alpha": 0.05, "epsilon": 0.005},
    "barrier": {"alpha": 2, "beta": 0.01, "epsilon": 3, "max_iters_outer": 5, "max_iters_inner": 5, "M": 0.5, "t": 1e-3},
    "blocc": {"gam": 12.0, "eta": 0.01, "T": 20, "Ty": 20, "eta1g": 0.001, "eta1F": 0.00001, "eta2g": 0.0001, "eta2F": 0.0001},
}


def samples(dataset):
    """Features and labels, as their loaders give them: all products of two for diabetes."""
    rows = []
    for line in (DATA / f"{dataset}.txt").read_text().splitlines():
        label, *entries = line.split()
        rows.append((float(label), {int(k): float(v) for k, v in (e.split(":") for e in entries)}))
    width = max(max(entries, default=0) for _, entries in rows)
    X = np.array([[entries.get(j, 0.0) for j in range(1, width + 1)] for _, entries in rows])
    if dataset == "diabetes":
        pairs = [X[:, i:i + 1] * X[:, j:j + 1] for i in range(width) for j in range(i + 1, width)]
        X = np.hstack([np.ones((len(X), 1)), X, X * X, *pairs])
    return X, np.array([label for label, _ in rows])


def split(dataset, seed):
    X, t = samples(dataset)
    for line in (DATA / "splits.txt").read_text().splitlines():
        words = line.split()
        if words[:2] == [dataset, seed]:
            order = np.array(words[2:], int)
            return [part for at in (order[:500], order[500:650], order[650:]) for part in (X[at], t[at])]
    raise SystemExit(f"no split {dataset} {seed}")


def loss(w, b, X, t):
    return float(np.mean(np.exp(1 - t * (X @ w + b))))


def accuracy(w, b, X, t):
    return float(np.mean(t * (X @ w + b) > 0))


def lower(C, X, t):
    """w, b of least 0.5 (|w|^2 + b^2) with margins of at least 1 - C, or nothing where there are none."""
    import daqp
    rows = t[:, None] * np.hstack([X, np.ones((len(X), 1))])
    n = rows.shape[1]
    z, _, flag, _ = daqp.solve(np.eye(n), np.zeros(n), np.ascontiguousarray(rows), np.full(len(rows), 1e30), 1 - C,
                               np.zeros(len(rows), np.int32))
    return (z[:-1], z[-1]) if flag == 1 else None


def barrier(X, t, Xv, tv, Xs, ts):
    """The method of arXiv 2410.10670 from where its notebook starts (whose b, np.zeros(), cannot be run: 0 here). It holds f with
    0.5 |C|^2 beside the loss, and counts f without it, as here."""
    from algorithms.barrier_blo import Barrier_BLO, SVM_Problem
    problem = SVM_Problem(dict(x_train=X, y_train=t, x_val=Xv, y_val=tv, x_test=Xs, y_test=ts))
    n, own = len(X), PARAMETERS["barrier"]
    _, C, w, b, _, _ = Barrier_BLO(problem, own).upper_loop(3 * np.ones(n), np.ones(X.shape[1]), 0.0, np.ones(n), own)
    return {"C": C, "w": w, "b": np.atleast_1d(b)}


def main(clone, algorithm, dataset, seed):
    import importlib
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(int(seed))
    sys.path.insert(0, f"{clone}/hyperparam_opt")
    solve = algorithm != "barrier" and getattr(importlib.import_module(f"algorithms.{algorithm}"), algorithm)
    X, t, Xv, tv, Xs, ts = split(dataset, seed)
    began = time.process_time()
    if algorithm == "barrier":
        last = barrier(X, t, Xv, tv, Xs, ts)
    else:
        _, variables = solve(X, t, Xv, tv, Xs, ts, PARAMETERS[algorithm], EPOCHS, verbose=False)
        last = {k: np.asarray(v.detach() if hasattr(v, "detach") else v, float) for k, v in variables[-1].items()}
    seconds = time.process_time() - began
    own = "_F" if algorithm == "blocc" else ""
    w, b = last["w" + own].ravel(), last["b" + own].ravel()[0]
    row = {"loss": loss(w, b, Xv, tv), "accuracy": accuracy(w, b, Xs, ts), "seconds": seconds}
    if algorithm != "gam":
        found = lower(last["C"], X, t)
        row["solved"] = loss(*found, Xv, tv) if found else None
    print(json.dumps(row))


if __name__ == "__main__":
    main(*sys.argv[1:])
