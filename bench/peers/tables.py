"""Tables in Markdown of what run.py measured: bench/results/peers.md, from the CSV beside it, with medians over the
seeds and, in brackets, the least and the largest; and the short ones of bench/README.md."""
import csv
import pathlib
import statistics

WAYS = {
    "Bilevelc": "**bilevelc**", "HandWritten": "by hand: Q factorized once, daqp, Schur complement",
    "DaqpKKT": "daqp, dense KKT adjoint", "Proxsuite": "proxsuite, its own adjoint", "Piqp": "piqp, dense KKT adjoint",
    "Qpth": "qpth", "Ffoqp": "FFOLayer, its quadratic layer, Clarabel", "Ffolayer": "FFOLayer, its general layer, as it comes (SCS)", "Jaxopt": "jaxopt.OSQP, GMRES", "Cvxpylayers": "cvxpylayers, dense mode, Clarabel",
    "CvxpylayersDefault": "cvxpylayers, as it comes", "Lbfgs": "L-BFGS on the gradient by hand, one start",
    "LbfgsFive": "the same from 5 starts", "LbfgsTwenty": "the same from 20 starts", "Pympcc": "pympcc (Scholtes' relaxation, Ipopt)", "Blvpy": "BLVPY (Ipopt)",
    "AdamCvxpylayers": "Adam on cvxpylayers, dense mode, Clarabel", "blocc": "BLOCC", "lv_hba": "LV-HBA", "gam": "GAM", "barrier": "barrier method",
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
    return f"{v:.3g}" if v < 1000 else f"{v:.0f}"


def percent(v):
    return f"{100 * v:.3f} %" if v >= 5e-6 else "0"


def milliseconds(v):
    return number(1e3 * v)


def table(header, rows):
    return "\n".join(["| " + " | ".join(map(str, r)) + " |" for r in [header, ["---"] * len(header), *rows]])


def pick(rows, column, **given):
    return [float(r[column]) for r in rows if r[column] not in ("", None) and all(r[k] == v for k, v in given.items())]


def in_order(rows, column):
    """The values of a column as they come; contestants in the order of WAYS."""
    values = list(dict.fromkeys(r[column] for r in rows))
    return sorted(values, key=list(WAYS).index) if column == "contestant" else values


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
            body.append([WAYS[name], len(done), best, spread(gaps, percent), spread(pick(done, "seconds"), number),
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
    if parts:
        said = read(pathlib.Path(__file__).parent, "published.csv")
        parts.append("Slack budgets, figures that the authors published, means of ten random splits of the same sizes (their machines):\n\n"
                     + table(list(said[0]), [[WAYS[r["contestant"]], *list(r.values())[1:]] for r in said]))
    return parts


def short_hypergradients(folder):
    """Cold / warm, milliseconds, a column a size."""
    rows = read(folder, "hypergradients.csv")
    sizes, body = in_order(rows, "d_y"), []
    for name in in_order(rows, "contestant"):
        cells, errors = [], []
        for dy in sizes:
            r = next((r for r in rows if r["contestant"] == name and r["d_y"] == dy), None)
            if r and r["cold s, median"]:
                cells.append(" / ".join(milliseconds(float(r[f"{phase} s, median"])) if r[f"{phase} s, median"] else "not within the limit"
                                        for phase in ("cold", "warm")) + (f" ({r['seeds']} seed{'s'[:int(r['seeds']) > 1]}{', stopped' if r['remark'] else ''})" if r["seeds"] != "10" else ""))
            else:
                remark = r["remark"] if r else ""
                cells.append("not within" + remark.partition("stopped after")[2] if "stopped after" in remark else "failed" if remark.startswith("seed") else "not tried")
            if r and r["relative error, median"]:
                errors.append((float(r["relative error, median"]), float(r["relative error, max"])))
        body.append([WAYS[name], *cells, *(f"{max(e):.0e}" if e else "" for e in (list(zip(*errors)) or [(), ()]))])
    return table(["contestant", *(f"d_y = {dy}" for dy in sizes), "error: largest median", "largest"], body)


def short_whole(folder):
    """Seeds that end within 1e-4 of the best F known, median gap to it, median seconds; a column a size."""
    rows = read(folder, "whole.csv")
    sizes, body = in_order(rows, "d_y"), []
    for name in in_order(rows, "contestant"):
        cells = []
        for dy in sizes:
            mine = [r for r in rows if r["contestant"] == name and r["d_y"] == dy]
            done = [r for r in mine if r["F"]]
            gaps = pick(done, "relative gap to the best of the row's seed")
            if done:
                cells.append(f"{sum(g <= 1e-4 for g in gaps)} of {len(done)}, {percent(statistics.median(gaps))}, "
                             f"{number(statistics.median(pick(done, 'seconds')))} s")
            elif mine:
                remark = mine[0]["remark"]
                cells.append(f"not within {remark.removeprefix('stopped after ')}" if remark.startswith("stopped") else "failed")
            else:
                cells.append("not tried")
        body.append([WAYS[name], *cells])
    return table(["contestant", *(f"d_y = {dy}" for dy in sizes)], body)


def short_svm(folder):
    """Medians over the ten splits, of both data sets."""
    rows, ours = read(folder, "svm.csv"), [r for r in read(folder, "field.csv") if r["family"] == "svm"]
    middle = lambda values: number(statistics.median(values)) if values else ""
    body = []
    for name in ["Bilevelc", *in_order(rows, "contestant")]:
        cells = []
        for dataset in in_order(rows, "dataset"):
            if name == "Bilevelc":
                mine = [r for r in ours if r["instance"].startswith(dataset)]
                cells += [middle(pick(mine, "F")), "the same", middle([float(r["report"].split()[-1]) for r in mine]), middle(pick(mine, "seconds"))]
            else:
                mine = [r for r in rows if r["contestant"] == name and r["dataset"] == dataset]
                solved = [float(r["F at its budgets"]) for r in mine if r["F at its budgets"][:1].isdigit()]
                cells += [middle(pick(mine, "loss it reports")), middle(solved) or "another", middle(pick(mine, "test accuracy")), middle(pick(mine, "seconds"))]
        splits = len({r["seed"] for r in rows if r["contestant"] == name}) if name != "Bilevelc" else 10
        body.append([WAYS[name] + (f" ({splits} split{'s'[:splits > 1]})" if splits < 10 else ""), *cells])
    what = ["loss reported", "of the solved lower level", "test accuracy", "seconds"]
    return table(["contestant", *(f"{dataset}: {w}" for dataset in in_order(rows, "dataset") for w in what)], body)


SHORT = {"hypergradients": short_hypergradients, "whole": short_whole, "svm": short_svm}


def short(folder):
    """The short tables of what was measured, field and growth with those of their own."""
    parts = [f"{name}:\n\n" + make(folder) for name, make in SHORT.items() if read(folder, f"{name}.csv")]
    for name, columns in (("field", ("family", "instance", "F", "known", "ended", "verified", "seconds")),
                          ("growth_fits", ("axis", "phase", "time_exponent", "memory_exponent", "grad_g_exponent"))):
        if rows := read(folder, f"{name}.csv"):
            parts.append(f"{name}:\n\n" + table(columns, [[r[c] for c in columns] for r in rows]))
    return parts


def renew(page, folder):
    """Writes the short tables into the page, between `<!-- NAME -->` and `<!-- end -->`."""
    text = page.read_text()
    for name, short in SHORT.items():
        before, mark, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        if not mark or not end:
            raise ValueError(f"{page}: no place for the table `{name}`")
        text = before + mark + short(folder) + "\n" + end + after
    page.write_text(text)


def write(folder):
    runs = read(folder, "runs.csv")
    when = ["Runs (rows of later runs replace those of earlier ones, contestant by contestant, size by size, seed by seed):\n\n"
            + table(list(runs[0]), [list(r.values()) for r in runs])] if runs else []
    parts = ["# Peers", "Written by `bench/peers/run.py`; what it shows is said in [bench/README.md](../README.md). One thread, processor seconds.",
             *when, *hypergradients(folder), *whole(folder), *svm(folder)]
    (folder / "peers.md").write_text("\n\n".join(parts) + "\n")
