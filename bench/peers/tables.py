"""Tables in Markdown of what run.py measured: bench/results/peers.md, from the CSV beside it. Medians over the
seeds and, in brackets, the least and the largest."""
import csv
import statistics

WAYS = {
    "Bilevelc": "**bilevelc**", "HandWritten": "by hand: Q factorized once, daqp, Schur complement",
    "DaqpKKT": "daqp, dense KKT adjoint", "Proxsuite": "proxsuite, its own adjoint", "Piqp": "piqp, dense KKT adjoint",
    "Qpth": "qpth", "Jaxopt": "jaxopt.OSQP, GMRES", "Cvxpylayers": "cvxpylayers, dense mode, Clarabel",
    "CvxpylayersLoose": "cvxpylayers, dense mode, SCS to its own tolerance", "CvxpylayersDefault": "cvxpylayers, as it comes", "Lbfgs": "L-BFGS on the gradient by hand, one start",
    "LbfgsFive": "the same from 5 starts", "LbfgsTwenty": "the same from 20 starts", "Pympcc": "pympcc (Scholtes' relaxation, Ipopt)", "Blvpy": "BLVPY (Ipopt)",
    "AdamCvxpylayersLoose": "Adam on cvxpylayers, dense mode, SCS to its own tolerance", "AdamCvxpylayers": "Adam on cvxpylayers, dense mode, Clarabel", "blocc": "BLOCC", "lv_hba": "LV-HBA", "gam": "GAM",
}


def read(folder, name):
    path = folder / name
    if not path.exists():
        return []
    with open(path) as f:
        return list(csv.DictReader(f))


def spread(values, form):
    if not values:
        return ""
    middle = form(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({form(min(values))} to {form(max(values))})"


def number(v):
    return f"{v:.3g}"


def milliseconds(v):
    return f"{1e3 * v:.3g}"


def table(header, rows):
    return "\n".join(["| " + " | ".join(map(str, r)) + " |" for r in [header, ["---"] * len(header), *rows]])


def pick(rows, column, **given):
    return [float(r[column]) for r in rows if r[column] not in ("", None) and all(r[k] == v for k, v in given.items())]


def in_order(rows, column):
    return list(dict.fromkeys(r[column] for r in rows))


def hypergradients(folder):
    rows = read(folder, "hypergradients.csv")
    sizes = in_order(rows, "d_y")

    def cells(name, of):
        found = ([r for r in rows if r["contestant"] == name and r["d_y"] == dy] for dy in sizes)
        return [of(r[0]) if r else "" for r in found]

    def time(phase):
        def cell(r):
            if not r[f"{phase} s, median"]:
                return r["remark"]
            middle, least, most = (milliseconds(float(r[c])) for c in ([f"{phase} s, median", "min", "max"] if phase == "cold" else
                                                                       [f"{phase} s, median", "warm min", "warm max"]))
            return f"{middle} ({least} to {most}) [{r['seeds']}]" + ("; " + r["remark"] if r["remark"] else "")
        return cell

    def error(r):
        return f'{float(r["relative error, median"]):.0e}, {float(r["relative error, max"]):.0e}' if r["relative error, median"] else ""

    tables = [("Hypergradient, cold, processor milliseconds, median (least to largest) [seeds]", time("cold")),
              ("Hypergradient, warm, processor milliseconds, median (least to largest) [seeds]", time("warm")),
              ("Relative error of the hypergradient, median and largest", error),
              ("Memory of the process, MB", lambda r: number(float(r["MB"])) if r["MB"] else "")]
    return [f"{title}:\n\n" + table(["contestant", *(f"d_y = {dy}" for dy in sizes)],
                                    [[WAYS[name], *cells(name, of)] for name in in_order(rows, "contestant")]) for title, of in tables]


def whole(folder):
    rows, parts = read(folder, "whole.csv"), []
    for dy in in_order(rows, "d_y"):
        body = []
        for name in in_order(rows, "contestant"):
            mine = [r for r in rows if r["contestant"] == name and r["d_y"] == dy]
            if not mine:
                continue
            done = [r for r in mine if r["F"]]
            gaps = pick(done, "relative gap to the best of the row's seed")
            best = sum(g <= 1e-4 for g in gaps)
            remark = "; ".join(dict.fromkeys(r["remark"] for r in mine if r["remark"]))
            body.append([WAYS[name], len(done), best, spread(gaps, lambda v: f"{100 * v:.2g} %"), spread(pick(done, "seconds"), number),
                         spread(pick(done, "seconds to 1e-4 of the best"), number), remark])
        parts.append(f"Whole solves, d_y = {dy}:\n\n" + table(
            ["contestant", "seeds", "within 1e-4 of the best", "gap to the best", "seconds", "seconds to 1e-4 of the best, where it came there",
             "remark"], body))
    return parts


def svm(folder):
    rows, ours, parts = read(folder, "svm.csv"), [r for r in read(folder, "field.csv") if r["family"] == "svm"], []
    for dataset in in_order(rows, "dataset"):
        body = []
        mine = [r for r in ours if r["instance"].startswith(dataset)]
        if mine:
            solved = sum(r["ended"] == "solved" and r["verified"] == "yes" for r in mine)
            body.append([f"**bilevelc** (solved and verified: {solved})", len(mine), spread(pick(mine, "F"), number), "the same",
                         spread([float(r["report"].split()[-1]) for r in mine], number), spread(pick(mine, "seconds"), number)])
        for name in in_order(rows, "contestant"):
            them = [r for r in rows if r["contestant"] == name and r["dataset"] == dataset]
            solved = [float(r["F at its budgets"]) for r in them if r["F at its budgets"][:1].isdigit()]
            none = sum(r["F at its budgets"].startswith("no") for r in them)
            body.append([WAYS[name], len(them), spread(pick(them, "loss it reports"), number),
                         spread(solved, number) + (f"; of {none} none" if none else "") if solved or none else "another lower level",
                         spread(pick(them, "test accuracy"), number), spread(pick(them, "seconds"), number)])
        parts.append(f"Slack budgets, {dataset}:\n\n" + table(
            ["contestant", "seeds", "validation loss reported", "the same, lower level solved exactly at its budgets", "test accuracy", "seconds"], body))
    return parts


def write(folder):
    runs = read(folder, "runs.csv")
    when = ["Runs (rows of later runs replace those of earlier ones, contestant by contestant, size by size, seed by seed):\n\n"
            + table(list(runs[0]), [list(r.values()) for r in runs])] if runs else []
    parts = ["# Peers", "Written by `bench/peers/run.py`; what it shows is said in [bench/README.md](../README.md). One thread, processor seconds.",
             *when, *hypergradients(folder), *whole(folder), *svm(folder)]
    (folder / "peers.md").write_text("\n\n".join(parts) + "\n")
