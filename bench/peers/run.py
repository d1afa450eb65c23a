"""The project beside its peers, in one run:

    python3 bench/peers/run.py                    everything, hours
    python3 bench/peers/run.py --quick            small sizes and two seeds, into bench/peers/.quick: a quarter of an hour
    python3 bench/peers/run.py hypergradients whole figures svm field growth    some of it
    python3 bench/peers/run.py convergence        one of the three figures: convergence, alpha, cost
    python3 bench/peers/run.py field growth       what needs no peers, and no Python packages

Needs Python 3.11 or later, Go, and, for the contestants that use Ipopt,
Debian's coinor-libipopt-dev, libblas-dev, liblapack-dev and pkg-config. Makes
its own environment in bench/peers/.venv (--python: one that is there), and for `svm` copies of the authors'
repositories beside it (--blocc, --barrier: those that are there). FFOLayer's general layer needs cvxtorch besides,
which is in no registry: install it into that environment. A contestant whose package or repository is not there is
named and left out. `field` and `growth` are `go run ./bench/field` and
`go run ./bench/growth -full`. Each contestant runs in a process of its own,
on one thread; times are processor seconds. Writes CSV, tables (Markdown) and
figures to bench/results, after each seed or contestant, so that a run may be stopped;
rows that a run does not come to stay. bench/README.md says what they show."""
import argparse
import csv
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import traceback

import tables
from environment import environment

HERE = pathlib.Path(__file__).resolve().parent  # which Python looks for modules in
ROOT = HERE.parent.parent
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "GOMAXPROCS": "1",
              "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
GRADIENTS = ["HandWritten", "DaqpKKT", "Proxsuite", "Piqp", "Qpth", "Ffoqp", "Ffolayer", "Jaxopt", "Cvxpylayers", "CvxpylayersDefault"]
BLOCC = "https://github.com/Liuyuan999/Penalty_Based_Lagrangian_Bilevel"
BARRIER = "https://github.com/mepear/bilevel_ipm"
GAP = "relative gap to the best of the row's seed"
FIGURES = ["convergence", "alpha", "cost"]
OWN = ["field", "growth"]  # which need no peers
SLACKS = ["lv_hba", "gam", "barrier", "blocc"]
WHOLE = ["Bilevelc", "Lbfgs", "LbfgsFive", "LbfgsTwenty", "Pympcc", "Blvpy", "AdamCvxpylayers"]


def used(session):
    """Processor seconds of the processes of a session that run."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def lines(command, limit):
    """The lines of JSON that a contestant prints, and why it stopped. The limit is of processor time, of the contestant and
    what it starts. (It is no RLIMIT_CPU: under one, Linux tells a process its time by the tick, some milliseconds.)"""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, cwd=HERE, env={**os.environ, **ONE_THREAD}, stdout=out, stderr=err, start_new_session=True)
        why = ""
        try:
            while process.poll() is None:
                try:
                    process.wait(0.2)
                except subprocess.TimeoutExpired:
                    if used(process.pid) > limit:
                        why = f"stopped after {int(limit)} s"
                        os.killpg(process.pid, signal.SIGKILL)
        finally:  # its session does not get the interrupt that ends this program
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0 and not why:
            said = err.read().strip().splitlines() or ["failed"]
            traced = max((i for i, line in enumerate(said) if line.startswith("Traceback ")), default=len(said))
            last = next((i for i in range(traced + 1, len(said)) if not said[i].startswith(" ")), -1)  # what was raised
            why = textwrap.shorten(" ".join(said[last:]), 160)
        return [json.loads(line) for line in out.read().splitlines() if line.startswith("{") and line.endswith("}")], why


def absent(name, why):
    """Whether a contestant stopped for want of a package, which is said: it has no rows then."""
    missing = why.startswith(("ModuleNotFoundError", "ImportError"))
    if missing:
        print(f"{name} is left out: {why}", file=sys.stderr, flush=True)
    return missing


def save(folder, name, header, rows):
    """Writes the rows. Of a file that is there, those stay that are of other contestants, sizes and seeds."""
    key = [i for i, column in enumerate(header) if column in ("contestant", "dataset", "d_y", "seed", "phase")]
    rows = [[str(v) for v in row] for row in rows]
    now = {tuple(row[i] for i in key) for row in rows}
    if (folder / name).exists():
        with open(folder / name, newline="") as f:
            there = list(csv.reader(f))
        if there[0] == header:
            rows = [r for r in there[1:] if tuple(r[i] for i in key) not in now] + rows
    if GAP in header:
        F, gap, of = header.index("F"), header.index(GAP), [header.index("d_y"), header.index("seed")]
        best = {}
        for r in rows:
            if r[F]:
                k = tuple(r[i] for i in of)
                best[k] = min(best.get(k, float("inf")), float(r[F]))
        for r in rows:
            if r[F]:
                least = best[tuple(r[i] for i in of)]
                r[gap] = (float(r[F]) - least) / abs(least)
    if "d_y" in header:
        at = header.index("d_y")
        order = {row[0]: i for i, row in reversed(list(enumerate(rows)))}
        rows.sort(key=lambda r: (int(r[at]), order[r[0]]))
    with open(folder / name, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(header)
        w.writerows(rows)


def machine():
    """The processor by its numbers, and how many there are."""
    said = {}
    with open("/proc/cpuinfo") as f:
        for line in f:
            name, _, value = line.partition(":")
            said.setdefault(name.strip(), value.strip())
    return f'{os.cpu_count()} x {said.get("vendor_id", "")} family {said.get("cpu family", "")} model {said.get("model", "")}'


def note(a, part, sizes, begun, load):
    """A line of runs.csv: what was measured, when, of which version, on what and beside how much other work."""
    version = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    path = a.out / "runs.csv"
    new = not path.exists()
    with open(path, "a", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        if new:
            w.writerow(["begun, UTC", "ended", "part", "contestants", "d_y", "seeds", "limit, processor s", "version", "processors",
                        "load when begun", "load when ended"])
        now = datetime.datetime.now(datetime.UTC)
        who = {"field": a.families, "growth": a.axes}.get(part, a.contestants if part in ("hypergradients", "whole", "svm") else None)
        w.writerow([f"{begun:%Y-%m-%d %H:%M}", f"{now:%H:%M}", part, " ".join(who or ["all"]), " ".join(map(str, sizes)),
                    "" if part in OWN else a.seeds, "" if part == "growth" else a.limit, version, machine(), f"{load:.1f}", f"{os.getloadavg()[0]:.1f}"])


def spread(values):
    return [statistics.median(values), min(values), max(values)] if values else ["", "", ""]


def ours(evaluator, seed, dy, steps):
    """Rows of bilevelc as the other contestants print them."""
    import numpy as np
    from experiment import Evaluator, Instance, path
    instance, rows = Instance(seed, dy), []
    with tempfile.TemporaryDirectory() as folder:
        e = Evaluator(evaluator, *instance.write(folder))
        points = path(instance, steps)
        e(points[-1][0], warm=False)  # as the others, which have solved something before they are timed
        for k, (x, active) in enumerate(points):
            a = e(x, warm=k > 0)  # without warm it forgets what it knows of the problem
            _, exact, margin = instance.exact(x, active)
            error = np.linalg.norm(np.array(a["gradient"]) - exact) / np.linalg.norm(exact)
            rows.append({"phase": "warm" if k else "cold", "seconds": a["seconds"], "error": error, "margin": margin})
        rows.append({"phase": "memory", "megabytes": e.megabytes()})
        e.close()
    return rows


def hypergradients(a, python, evaluator):
    """Seed by seed, all contestants in turn, so that what else the machine does strikes all alike."""
    raw, gone, names = [], {}, list(a.contestants or ["Bilevelc", *GRADIENTS])
    for dy in a.sizes:
        megabytes, why = {}, {name: f"stopped at d_y = {at}" for name, at in gone.items()}
        for seed in range(1, a.seeds + 1):
            for name in list(names):
                if name in gone:
                    continue
                began = [python, "run.py", "--rows-of-bilevelc", evaluator] if name == "Bilevelc" else [python, "worker.py", name]
                found, ended = lines([*began, str(seed), str(dy), str(a.steps)], a.limit)
                if absent(name, ended):
                    names.remove(name)
                    continue
                for row in found:
                    if row["phase"] == "memory":
                        megabytes[name] = max(megabytes.get(name, 0), row["megabytes"])
                    else:
                        raw.append((name, dy, seed, row["phase"], row["seconds"], row["error"], row["margin"]))
                if ended:
                    gone[name], why[name] = dy, f"seed {seed} {ended}"  # other seeds and larger sizes would take as long
                print(name, dy, seed, *spread([row["seconds"] for row in found if row["phase"] == "warm"]), ended, flush=True)
            table = []
            for name in names:
                mine = [row[2:] for row in raw if row[:2] == (name, dy)]
                cold, warm = ([seconds for _, phase, seconds, *_ in mine if phase == which] for which in ("cold", "warm"))
                # The points where the margin of the active set is below rounding have no one gradient.
                errors = [error for *_, error, margin in mine if margin > 1e-7]
                table.append((name, dy, len(cold), *spread(cold), *spread(warm), *spread(errors)[::2], megabytes.get(name, ""), why.get(name, "")))
            save(a.out, "hypergradients_raw.csv", ["contestant", "d_y", "seed", "phase", "seconds", "relative error", "margin"], raw)
            save(a.out, "hypergradients.csv", ["contestant", "d_y", "seeds", "cold s, median", "min", "max", "warm s, median",
                                               "warm min", "warm max", "relative error, median", "relative error, max", "MB", "remark"], table)


def known(folder, dy, seed):
    """F of the table that is there, of all contestants on an instance."""
    return tables.pick(tables.read(folder, "whole.csv"), "F", d_y=str(dy), seed=str(seed))


def whole(a, python, evaluator):
    raw, names = [], list(a.contestants or WHOLE)
    for dy in a.whole_sizes:
        gone = set()
        for seed in range(1, a.seeds + 1):
            rows = {}
            for name in list(names):
                if name in gone:
                    continue
                found, why = lines([python, "whole.py", name, str(seed), str(dy), evaluator, str(a.limit)], 1.2 * a.limit + 60)
                if absent(name, why):
                    names.remove(name)
                    continue
                if why or not found:
                    gone.add(name)  # the other seeds would take as long
                    raw.append((name, dy, seed, "", "", "", "", "", why))
                    continue
                rows[name] = found[-1]
            best = min([r["F"] for r in rows.values()] + known(a.out, dy, seed), default=None)
            for name, r in rows.items():
                near = [s for s, F in r["trace"] if F <= best + 1e-4 * abs(best)]
                raw.append((name, dy, seed, r["F"], (r["F"] - best) / abs(best), r["seconds"], near[0] if near else "",
                            r["megabytes"], r.get("status", "")))
                print(*raw[-1], flush=True)
            save(a.out, "whole.csv", ["contestant", "d_y", "seed", "F", GAP, "seconds",
                                      "seconds to 1e-4 of the best", "MB", "remark"], raw)


def svm(a, python, _):
    """The algorithms of BLOCC's repository on its own experiment, and the barrier method by its authors' code; bilevelc's rows are
    those of `go run ./bench/field svm`."""
    clones, rows = {}, []
    for name, given, folder, source in (("barrier", a.barrier, ".barrier", BARRIER), ("blocc", a.blocc, ".blocc", BLOCC)):
        clones[name] = given or HERE / folder
        if not clones[name].exists() and subprocess.run(["git", "clone", "-q", "--depth", "1", source, clones[name]],
                                                        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"}).returncode != 0:
            print(f"not to be had here: {source} (--{name} takes a copy)", file=sys.stderr, flush=True)
            del clones[name]
    with open(ROOT / "bench" / "field" / "data" / "splits.txt") as f:
        splits = [line.split()[:2] for line in f]
    for dataset, seed in splits:
        if int(seed) >= a.seeds or a.quick and [dataset, seed] != ["diabetes", "0"]:
            continue
        for name in SLACKS:
            clone = clones.get("barrier" if name == "barrier" else "blocc")
            if clone is None or name not in (a.contestants or SLACKS):
                continue
            found, why = lines([python, "svm.py", clone.resolve(), name, dataset, seed], max(a.limit, 60))
            if absent(name, why):
                del clones["barrier" if name == "barrier" else "blocc"]
                continue
            r = found[-1] if found else {}
            solved = r.get("solved", "")
            rows.append((name, dataset, seed, r.get("loss", ""), "no y is feasible" if solved is None else solved,
                         r.get("accuracy", ""), r.get("seconds", ""), why))
            print(*rows[-1], flush=True)
            save(a.out, "svm.csv", ["contestant", "dataset", "seed", "loss it reports", "F at its budgets", "test accuracy", "seconds",
                                    "remark"], rows)


def field(a, *_):
    """The field's own benchmarks: bilevelc alone."""
    subprocess.run(["go", "run", "./bench/field", "-out", a.out, "-limit", f"{a.limit}s", *(a.families or [])], cwd=ROOT,
                   env={**os.environ, **ONE_THREAD}, check=True)


def growth(a, *_):
    """Cost against size: bilevelc alone."""
    subprocess.run(["go", "run", "./bench/growth", "-out", a.out, *([] if a.quick else ["-full"]), *(a.axes or [])], cwd=ROOT,
                   env={**os.environ, **ONE_THREAD}, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="hypergradients, whole, svm, figures (or one of them: convergence, alpha, cost), field, growth")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--whole-sizes", type=int, nargs="+")
    parser.add_argument("--contestants", nargs="+", help="of hypergradients, whole or svm, by their names in the CSV")
    parser.add_argument("--families", nargs="+", help="of field, by their names in the CSV")
    parser.add_argument("--axes", nargs="+", help="of growth, by a part of their names in the CSV")
    parser.add_argument("--steps", type=int, default=10, help="points of a path")
    parser.add_argument("--layer-steps", type=int, default=300, help="iterations of cvxpylayers in the figure of convergence")
    parser.add_argument("--limit", type=int, help="processor seconds that one contestant may take for one path or one solve: 600, with --quick 15")
    parser.add_argument("--out", type=pathlib.Path, help="folder of what is written: bench/results, with --quick bench/peers/.quick")
    parser.add_argument("--python", type=pathlib.Path, help="an interpreter that has the peers' packages (default: of an environment that is made)")
    parser.add_argument("--blocc", type=pathlib.Path, help="a copy of BLOCC's repository (default: cloned)")
    parser.add_argument("--barrier", type=pathlib.Path, help="a copy of the barrier method's repository (default: cloned)")
    parser.add_argument("--rows-of-bilevelc", nargs=4, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.rows_of_bilevelc:
        evaluator, seed, dy, steps = a.rows_of_bilevelc
        for row in ours(evaluator, int(seed), int(dy), int(steps)):
            print(json.dumps(row))
        return 0
    a.out = (a.out or (HERE / ".quick" if a.quick else ROOT / "bench" / "results")).resolve()
    a.seeds = a.seeds or (2 if a.quick else 10)
    a.limit = a.limit or (15 if a.quick else 600)
    if a.quick:
        a.families = a.families or ["svm", "hearn", "interdiction", "prices"]
    given = bool(a.sizes) and not a.quick
    a.sizes = a.sizes or ([50, 200] if a.quick else [50, 100, 200, 400, 800, 1600])
    a.whole_sizes = a.whole_sizes or ([50] if a.quick else [50, 200, 800])
    parts = a.parts or ["hypergradients", "whole", "figures", *OWN, "svm"]  # svm's table has the rows of field
    if unknown := set(parts) - {"hypergradients", "whole", "figures", "svm", *FIGURES, *OWN}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if unknown := set(a.contestants or []) - set(tables.WAYS):
        parser.error(f"no such contestant: {', '.join(sorted(unknown))}; there are {', '.join(tables.WAYS)}")
    a.out.mkdir(parents=True, exist_ok=True)
    python = None
    if set(parts) - set(OWN):
        python = a.python and a.python.absolute() or environment()  # not resolved: an environment's is a link
    with tempfile.TemporaryDirectory() as folder:
        evaluator = f"{folder}/evaluator"
        if python:
            subprocess.run(["go", "build", "-o", evaluator, "./bench/peers/evaluator"], cwd=ROOT, check=True)
        figures = [name for name in FIGURES if name in parts or "figures" in parts]
        few = ["--steps", "60", "--dy", "50"] if a.quick else []
        jobs = {"hypergradients": (hypergradients, a.sizes), "whole": (whole, a.whole_sizes), "field": (field, []), "growth": (growth, []),
                "svm": (svm, [])}
        ended = {}
        for part in [part for part in jobs if part in parts] + figures:
            begun, load, sizes = datetime.datetime.now(datetime.UTC), os.getloadavg()[0], []
            print(f"{part}:", flush=True)
            try:
                if part in jobs:
                    job, sizes = jobs[part]
                    job(a, python, evaluator)
                else:
                    if part == "cost":
                        sizes = a.sizes if given else [50, 100] if a.quick else [50, 100, 200, 400, 800]
                    subprocess.run([python, "figures.py", evaluator, a.out, part, "--seeds", str(a.seeds), "--layer-steps", str(a.layer_steps),
                                    *(["--sizes", *map(str, sizes)] if sizes else []), *few], cwd=HERE, env={**os.environ, **ONE_THREAD}, check=True)
                ended[part] = "done"
            except Exception:  # the other parts go on
                traceback.print_exc()
                ended[part] = "failed, see above"
            finally:  # also where it is stopped
                note(a, part, sizes, begun, load)
    tables.write(a.out)
    if a.out == ROOT / "bench" / "results":
        tables.renew(ROOT / "bench" / "README.md", a.out)
    else:
        print("", *tables.short(a.out), sep="\n\n")
    print(f"\nTables and figures are in {a.out}:", *(f"    {part}: {how}" for part, how in ended.items()), sep="\n")
    return int(any(how != "done" for how in ended.values()))


if __name__ == "__main__":
    sys.exit(main())
