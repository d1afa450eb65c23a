"""The three figures of the paper's experiment (section 6): Adam on the
first-order hypergradient (oracle `penalty` at accuracy alpha) and on
cvxpylayers in dense mode with Clarabel, d_x = 100, from x = 0.

    python figures.py EVALUATOR FOLDER [convergence] [alpha] [cost] [--seeds 10] [--steps 700] [--layer-steps 300] [--dy 200]

Each figure and its table are written to the folder after every seed, so that a run that is stopped leaves those of the seeds it had.
"""
import argparse
import csv
import itertools
import os
import tempfile
import time

import numpy as np

from contestants import Cvxpylayers
from experiment import DX, Evaluator, Hand, Instance

RATE = 0.1
ALPHAS = [1, 0.1, 0.01]
EVERY = 10  # steps between rows of the tables, and between comparisons of gradients


def adam(gradient, steps):
    """F at each step, from 0, and every tenth point with its gradient."""
    x, m, v = np.zeros(DX), np.zeros(DX), np.zeros(DX)
    values, points = [], []
    for k in range(1, steps + 1):
        F, g = gradient(x)
        values.append(F)
        if k % EVERY == 1:
            points.append((x.copy(), np.array(g)))
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
        w = csv.writer(f, lineterminator="\n")
        w.writerow(header)
        w.writerows([v if isinstance(v, (int, str, np.integer)) else f"{v:.6g}" for v in row] for row in rows)


def axes(xlabel, ylabel):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    fig, ax = plt.subplots(figsize=(6, 4))
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    return fig, ax


def finish(fig, a, name):
    import matplotlib.pyplot as plt
    fig.savefig(a.folder + f"/{name}.svg", bbox_inches="tight")
    plt.close(fig)


def distance(g, exact):
    return np.linalg.norm(g - exact) / np.linalg.norm(exact)


def convergence(a, folder):
    """F along both, and the errors of both gradients at every tenth point of the first."""
    runs, layers, errors = [], [], []
    for seed in range(1, a.seeds + 1):
        instance = Instance(seed, a.dy)
        e, gradient = first_order(a.evaluator, folder, instance, 0.1)
        values, points = adam(gradient, a.steps)
        e.close()
        layer, exact = Cvxpylayers(instance), Hand(instance)
        runs.append(values)
        layers.append(adam(layer, min(a.layer_steps, a.steps))[0])
        at = []
        for x, g in points[:len(layers[0]) // EVERY]:
            theirs, true = layer(x)[1], exact(x)[1]
            at.append((distance(g, theirs), distance(g, true), distance(theirs, true)))
        errors.append(at)
        print("convergence", seed, values[-1], values[len(layers[-1]) - 1], layers[-1][-1], *np.median(at, 0), flush=True)
        E = np.array(errors)  # seeds, points, three
        step, short = np.arange(1, a.steps + 1), np.arange(1, len(layers[0]) + 1)
        blank = lambda row: itertools.chain(row, itertools.repeat(""))  # cvxpylayers' columns end before the others
        write(f"{a.folder}/figure_convergence.csv",
              ["iteration", "seeds", "F first order, alpha 0.1, mean", "F cvxpylayers, mean", "difference of the gradients, median",
               "error of first order, median", "largest", "error of cvxpylayers, median", "largest"],
              zip(step[::EVERY], [len(runs)] * a.steps, np.mean(runs, 0)[::EVERY], blank(np.mean(layers, 0)[::EVERY]),
                  *(blank(of(E[:, :, i], 0)) for i, of in ((0, np.median), (1, np.median), (1, np.max), (2, np.median), (2, np.max)))))
        fig, ax = axes("iteration", f"F, mean of {len(runs)} seeds")
        ax.plot(step, np.mean(runs, 0), label="first order, alpha = 0.1")
        ax.plot(short, np.mean(layers, 0), "--", label=f"cvxpylayers, {len(short)} iterations")
        bars = ax.twinx()
        bars.bar(short[::EVERY], np.median(E[:, :, 0], 0), width=EVERY / 2, alpha=0.3, color="grey")
        bars.set_yscale("log")
        bars.set_ylabel("relative difference of the gradients, median")
        ax.legend()
        finish(fig, a, "figure_convergence")


def alpha(a, folder):
    """F along the first-order method for three accuracies."""
    runs = {accuracy: [] for accuracy in ALPHAS}
    for seed in range(1, a.seeds + 1):
        instance = Instance(seed, a.dy)
        for accuracy in ALPHAS:
            e, gradient = first_order(a.evaluator, folder, instance, accuracy)
            runs[accuracy].append(adam(gradient, a.steps)[0])
            e.close()
        print("alpha", seed, *(runs[accuracy][-1][-1] for accuracy in ALPHAS), flush=True)
        step, n = np.arange(1, a.steps + 1), len(runs[1])
        table = {accuracy: (np.mean(runs[accuracy], 0), np.std(runs[accuracy], 0)) for accuracy in ALPHAS}
        write(f"{a.folder}/figure_alpha.csv",
              ["iteration", "seeds"] + [f"F at alpha {accuracy}, {what}" for accuracy in ALPHAS for what in ("mean", "deviation")],
              ((k, n, *(table[accuracy][i][k - 1] for accuracy in ALPHAS for i in (0, 1))) for k in step[::EVERY]))
        fig, ax = axes("iteration", f"F, mean and deviation of {n} seeds")
        for accuracy, (mean, deviation) in table.items():
            ax.plot(step, mean, label=f"alpha = {accuracy}")
            ax.fill_between(step, mean - deviation, mean + deviation, alpha=0.15)
        ax.legend()
        finish(fig, a, "figure_alpha")


def cost(a, folder):
    """Processor seconds a gradient against d_y, along the first steps of a run (warm); a row a seed. Rows of sizes that are not run stay."""
    header, rows, path = ["d_y", "seed", "first order, s", "cvxpylayers, s"], [], f"{a.folder}/figure_cost.csv"
    if os.path.exists(path):
        with open(path, newline="") as f:
            rows = [tuple(map(float, row)) for row in list(csv.reader(f))[1:] if int(row[0]) not in a.sizes]
    for dy in a.sizes:
        for seed in range(1, a.seeds + 1):
            instance = Instance(seed, dy)
            e, gradient = first_order(a.evaluator, folder, instance, 0.1)
            points = []

            def keep(x):
                points.append(x.copy())
                return gradient(x)

            adam(keep, 6)
            ours = [e(x)["seconds"] for x in points]
            e.close()
            theirs, layer = [], Cvxpylayers(instance)
            for x in points[:4]:
                began = time.process_time()
                layer(x)
                theirs.append(time.process_time() - began)
            rows = sorted([*rows, (dy, seed, np.median(ours), np.median(theirs[1:]))])  # the first compiles
            print("cost", dy, seed, np.median(ours), np.median(theirs[1:]), flush=True)
            write(path, header, ((int(dy), int(seed), *times) for dy, seed, *times in rows))
            fig, ax = axes("d_y", "processor seconds a gradient")
            table = np.array(rows)
            sizes = sorted(set(table[:, 0]))
            for column, label in ((2, "first order, alpha = 0.1"), (3, "cvxpylayers")):
                ax.loglog(sizes, [np.median(table[table[:, 0] == n, column]) for n in sizes], "o-", label=label)
            ax.set_xticks(sizes, [str(int(n)) for n in sizes])
            ax.minorticks_off()
            ax.legend()
            finish(fig, a, "figure_cost")


FIGURES = {"convergence": convergence, "alpha": alpha, "cost": cost}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("evaluator")
    parser.add_argument("folder")
    parser.add_argument("figures", nargs="*", help=", ".join(FIGURES) + "; without: all")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--layer-steps", type=int, default=300, help="of cvxpylayers in `convergence`, which take most of the time")
    parser.add_argument("--dy", type=int, default=200)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400, 800])
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in a.figures or FIGURES:
            FIGURES[name](a, folder)


if __name__ == "__main__":
    main()
