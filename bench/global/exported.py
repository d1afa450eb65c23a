"""Solve models through `bilevelc export` with SCIP and HiGHS, from PyPI (pyscipopt, highspy), and compare with known optima.

    python3 bench/global/exported.py BILEVELC FOLDER [SECONDS]

FOLDER holds NAME.blv, NAME.json and optima.json, {"NAME": {"F": ...}} or {"NAME": F}. SCIP solves the exported MPS and LP files with
their SOS1 sets. HiGHS, which takes no SOS sets, solves the file with binary columns for the pairs (--pairs binary); where the model gives
no bounds for these, or the objective is not linear, the MPS file without its sets on the branch that SCIP found: the members that
are zero there are held at zero. Exit status 1 where a value differs from the optimum by more than 1e-6 of its size.
"""
import json, math, os, subprocess, sys, tempfile, time

try:
    import pyscipopt
except ImportError:
    sys.exit("skipped: pip install pyscipopt")
try:
    import highspy
except ImportError:
    highspy = None


def scip(path, seconds):
    m = pyscipopt.Model()
    m.hideOutput()
    m.readProblem(path)
    m.setParam("limits/time", seconds)
    m.setParam("limits/gap", 1e-7)
    m.optimize()
    if m.getStatus() not in ("optimal", "gaplimit"):
        return m.getStatus(), None, None
    return m.getStatus(), m.getObjVal(), {v.name: m.getVal(v) for v in m.getVars()}


def highs(path, at):
    """The value of the branch of `at`, or None where HiGHS is missing or the objective is not convex."""
    if highspy is None:
        return None
    body, sets, section = [], [], ""
    for line in open(path):
        if not line.startswith((" ", "*")):
            section = line.split()[0]
        if section != "SOS":
            body.append(line)
        elif line.startswith(" S1"):
            sets.append([])
        elif line.startswith("    "):
            sets[-1].append(line.split()[0])
    with tempfile.NamedTemporaryFile("w", suffix=".mps", delete=False) as f:
        f.writelines(body)
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.readModel(f.name)
    os.unlink(f.name)
    index = {n: j for j, n in enumerate(h.getLp().col_names_)}
    for s in sets:
        zero = min(s, key=lambda n: abs(at[n]))
        h.changeColBounds(index[zero], 0.0, 0.0)
    if h.run() == highspy.HighsStatus.kError or h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return h.getInfo().objective_function_value


def binary(command, args, path):
    """The optimum with binary columns in the place of sets, or None."""
    if highspy is None or subprocess.run([command, "export", *args, "--to", "mps", "--pairs", "binary", "-o", path], capture_output=True).returncode:
        return None
    if "QUADOBJ" in open(path).read():
        return None
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 1e-7)
    h.setOptionValue("mip_feasibility_tolerance", 1e-9)
    h.readModel(path)
    if h.run() == highspy.HighsStatus.kError or h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return h.getInfo().objective_function_value


def main(command, folder, seconds=60.0):
    optima = json.load(open(os.path.join(folder, "optima.json")))
    bad = 0
    for name, known in sorted(optima.items()):
        want = known
        if isinstance(known, dict):
            want = known.get("F", known.get("optimum", known.get("value")))
        model = os.path.join(folder, name + ".blv")
        data = os.path.join(folder, name + ".json")
        line = [name, f"{want:.9g}"]
        with tempfile.TemporaryDirectory() as dir:
            for to in ("mps", "lp"):
                path = os.path.join(dir, "model." + to)
                args = [command, "export", model, "--to", to, "-O", path] + (["-d", data] if os.path.exists(data) else [])
                subprocess.run(args, check=True)
                began = time.process_time()
                status, value, at = scip(path, seconds)
                line.append(f"{to} {status} {value if value is None else format(value, '.9g')} {time.process_time() - began:.2f}s")
                if value is not None and abs(value - want) > 1e-6 * max(1.0, abs(want)):
                    bad += 1
                    line.append("DIFFERS")
                if to == "mps" and at is not None:
                    other = binary(command, [model] + (["-d", data] if os.path.exists(data) else []), os.path.join(dir, "binary.mps"))
                    if other is None:
                        other = highs(path, at)
                    else:
                        line.append("binary")
                    line.append("HiGHS " + ("-" if other is None else format(other, ".9g")))
                    if other is not None and abs(other - want) > 1e-5 * max(1.0, abs(want)):
                        bad += 1
                        line.append("DIFFERS")
        print("  ".join(line), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], *map(float, sys.argv[3:4])))
