"""The three figures of the paper's experiment (section 6): Adam on the
first-order hypergradient (oracle `penalty` at accuracy alpha) and on
cvxpylayers, d_x = 100. Writes CSV tables and figures to a folder.

    python figures.py EVALUATOR FOLDER [--seeds 10] [--steps 200] [--dy 200] [--limit 1200]
"""
import argparse
import csv
import tempfile
import time

import numpy as np

from contestants import Cvxpylayers
from experiment import DX, Evaluator, Instance

RATE = 0.1


def adam(gradient, steps, seconds=np.inf):
    """F at each step, from 0, and the points."""
    x, m, v = np.zeros(DX), np.zeros(DX), np.zeros(DX)
    values, points = [], []
    began = time.process_time()
    for k in range(1, steps + 1):
        F, g = gradient(x)
        values.append(F)
        points.append((x.copy(), np.array(g)))
        if time.process_time() - began > seconds:
            break
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        x = x - RATE * (m / (1 - 0.9**k)) / (np.sqrt(v / (1 - 0.999**k)) + 1e-8)
    return np.array(values), points


def first_order(evaluator, folder, instance, alpha):
    e = Evaluator(evaluator, *instance.write(folder), "-oracle", "penalty", "-alpha", str(alpha))

    def gradient(x):
        a = e(x)
        return a["f"], np.array(a["gradient"])

    return e, gradient


def write(path, header, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(header)
        w.writerows(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluator")
    parser.add_argument("folder")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--dy", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400, 800])
    a = parser.parse_args()
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    alphas = [1, 0.1, 0.01]
    runs = {alpha: [] for alpha in alphas}
    layers, errors = [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, a.seeds + 1):
            instance = Instance(seed, a.dy)
            for alpha in alphas:
                e, gradient = first_order(a.evaluator, folder, instance, alpha)
                values, points = adam(gradient, a.steps)
                e.close()
                runs[alpha].append(values)
                if alpha == 0.1:
                    kept = points
            layer = Cvxpylayers(instance)
            values, _ = adam(layer, a.steps)
            layers.append(values)
            # The difference of the two gradients at the points of the first run, every tenth.
            errors.append([np.linalg.norm(layer(x)[1] - g) / np.linalg.norm(g) for x, g in kept[::10]])
        step = np.arange(1, a.steps + 1)
        write(f"{a.folder}/figure_convergence.csv", ["iteration", "first order, alpha 0.1", "cvxpylayers"],
              zip(step, np.mean(runs[0.1], 0), np.mean(layers, 0)))
        write(f"{a.folder}/figure_gradient_error.csv", ["iteration", "mean relative difference", "largest"],
              zip(step[::10], np.mean(errors, 0), np.max(errors, 0)))
        fig, ax = plt.subplots(figsize=(6, 4))
        ax.plot(step, np.mean(runs[0.1], 0), label="first order, alpha = 0.1")
        ax.plot(step, np.mean(layers, 0), "--", label="cvxpylayers")
        ax.set_xlabel("iteration")
        ax.set_ylabel("F, mean over seeds")
        bars = ax.twinx()
        bars.bar(step[::10], np.mean(errors, 0), width=5, alpha=0.3, color="grey")
        bars.set_ylabel("relative difference of the gradients")
        ax.legend()
        fig.savefig(f"{a.folder}/figure_convergence.svg", bbox_inches="tight")

        write(f"{a.folder}/figure_alpha.csv",
              ["iteration"] + [f"{what}, alpha {alpha}" for alpha in alphas for what in ("mean", "deviation")],
              zip(step, *(row for alpha in alphas for row in (np.mean(runs[alpha], 0), np.std(runs[alpha], 0)))))
        fig, ax = plt.subplots(figsize=(6, 4))
        for alpha in alphas:
            mean, deviation = np.mean(runs[alpha], 0), np.std(runs[alpha], 0)
            ax.plot(step, mean, label=f"alpha = {alpha}")
            ax.fill_between(step, mean - deviation, mean + deviation, alpha=0.15)
        ax.set_xlabel("iteration")
        ax.set_ylabel("F, mean and deviation over seeds")
        ax.legend()
        fig.savefig(f"{a.folder}/figure_alpha.svg", bbox_inches="tight")

        rows = []
        for dy in a.sizes:
            for seed in range(1, min(a.seeds, 3) + 1):
                instance = Instance(seed, dy)
                e, gradient = first_order(a.evaluator, folder, instance, 0.1)
                gradient(np.zeros(DX))
                _, points = adam(gradient, 6)
                ours = [e(x)["seconds"] for x, _ in points]
                e.close()
                theirs = []
                layer = Cvxpylayers(instance)
                for x, _ in points[:3]:
                    began = time.process_time()
                    layer(x)
                    theirs.append(time.process_time() - began)
                rows.append((dy, seed, np.median(ours), np.median(theirs)))
                print(rows[-1], flush=True)
        write(f"{a.folder}/figure_cost.csv", ["d_y", "seed", "first order, s", "cvxpylayers, s"], rows)
        fig, ax = plt.subplots(figsize=(6, 4))
        table = np.array(rows)
        for column, label in ((2, "first order, alpha = 0.1"), (3, "cvxpylayers")):
            ax.loglog(a.sizes, [np.median(table[table[:, 0] == dy, column]) for dy in a.sizes], "o-", label=label)
        ax.set_xlabel("d_y")
        ax.set_ylabel("processor seconds a gradient")
        ax.legend()
        fig.savefig(f"{a.folder}/figure_cost.svg", bbox_inches="tight")


if __name__ == "__main__":
    main()
