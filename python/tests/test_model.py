import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import bilevelc

SHELF = """model shelf
data cap: real = 4
data taste: vector[3] = [5, 4, 3]
upper {
  var price: vector[3] in box(0, 6)
  maximize price' * amount
}
lower {
  var amount: vector[3] in nonneg
  minimize 0.5 * sumsq(amount) - (taste - price)' * amount
  subject to
    shelf: sum(amount) <= cap
}
report { sold = sum(amount) }
"""

# Ridge regression with a weight a feature, chosen on other rows: the answer and the
# hypergradient have a closed form.
RIDGE = """model ridge
set row
set feature
data X: [row, feature]
data y: [row]
data Z: [row, feature]
data z: [row]
upper {
  var w: [feature] in box(0.01, 10)
  minimize sum(i in row: (z[i] - sum(k in feature: Z[i, k] * b[k]))^2)
}
lower {
  var b: [feature]
  minimize sum(i in row: (y[i] - sum(k in feature: X[i, k] * b[k]))^2) + sum(k in feature: w[k] * b[k]^2)
}
"""


def ridge(rng, n=20, names="abc"):
    pd = pytest.importorskip("pandas")
    rows = [f"r{i}" for i in range(n)]
    frame = lambda: pd.DataFrame(rng.normal(size=(n, len(names))), index=rows, columns=list(names))
    series = lambda: pd.Series(rng.normal(size=n), index=rows)
    return dict(X=frame(), y=series(), Z=frame(), z=series())


def closed_form(d, w):
    """F, b and the gradient of F, by linear algebra."""
    X, y, Z, z = (d[k].to_numpy() for k in "XyZz")
    H = X.T @ X + np.diag(w)
    b = np.linalg.solve(H, X.T @ y)
    r = Z @ b - z
    return r @ r, b, -b * np.linalg.solve(H, 2 * Z.T @ r)


def test_known_optimum(examples, tmp_path, command):
    m = bilevelc.Model(examples / "toll" / "toll.blv")
    r = m.solve()
    assert r.solved and r.has_point and r.status == "solved"
    assert r.F == pytest.approx(8.952715040395, abs=1e-6)
    assert r["toll"][[0, 3]] == pytest.approx([3.918054, 3.684628], abs=1e-4)
    assert r["share"] == pytest.approx([1.458801, 1.271074, 0, 3.270125], abs=1e-5)
    assert r.stationarity < 1e-5 and r.seed == 1 and isinstance(r["travel"], float)
    assert r.upper["toll"].shape == (6,) and "share.nonneg[3]" in r.active
    assert list(r) == ["toll", "share", "share.nonneg", "travel", "cap"] and "cap" in r
    assert "8.95" in repr(r) and "toll" in repr(m)
    with pytest.raises(KeyError):
        r["tole"]
    checked = m.verify()
    assert all(isinstance(c[k], float) for c in checked["checks"] for k in ("claimed", "found", "tolerance"))
    assert checked["ok"] and len(checked["checks"]) > 5
    r.save(tmp_path / "r.json")
    done = subprocess.run([command, "verify", str(tmp_path / "r.json"), "--model", str(examples / "toll" / "toll.blv")], capture_output=True)
    assert done.returncode == 0, done.stderr
    r.document["upper"]["objective"] += 0.1
    assert not r.verify()["ok"]


def sold(taste, cap, price):
    """The answer of SHELF's follower: what it wants, less the price of a full shelf, by bisection."""
    low, high = 0.0, max(0.0, (taste - price).max())
    want = lambda full: np.maximum(0, taste - price - full)
    if want(0).sum() <= cap:
        return want(0)
    for _ in range(60):
        mid = (low + high) / 2
        low, high = (mid, high) if want(mid).sum() > cap else (low, mid)
    return want(high)


def test_proofs_of_bounds(tmp_path, command):
    """No price brings more than the bound that is proved; a proof shows its bound, and no better one."""
    rng = np.random.default_rng(3)
    m = bilevelc.Model(text=SHELF)
    for k in range(6):
        taste, cap = rng.uniform(1, 8, 3), rng.uniform(0.5, 6)
        path = tmp_path / f"{k}.proof"
        r = m.solve(cap=cap, taste=taste, search="global", gap=1e-5, proof=path)
        assert r.proved and r.F <= r.bound <= r.F * (1 + 1e-5) and path.is_file()
        for price in np.vstack([r["price"], rng.uniform(0, 6, (300, 3)), np.clip(r["price"] + rng.normal(scale=0.1, size=(300, 3)), 0, 6)]):
            assert price @ sold(taste, cap, price) <= r.bound + 1e-9
        checked = r.verify()
        assert checked["ok"] and not any("global" in u for u in checked["unchecked"])
        assert any("no feasible point has F above" in c["text"] for c in checked["checks"])
        r.save(tmp_path / "r.json")
        (tmp_path / "shelf.blv").write_text(SHELF)
        data = [a for v in (f"cap={cap!r}", f"taste={taste.tolist()!r}") for a in ("--set", v)]
        done = subprocess.run([command, "verify", str(tmp_path / "r.json"), "--model", str(tmp_path / "shelf.blv"), *data], capture_output=True, text=True)
        assert done.returncode == 0 and "no feasible point has F above" in done.stdout, done.stderr + done.stdout
        r.document["global"]["bound"] -= 0.01 * r.F
        assert not r.verify()["ok"]
        again = type(r)(m, m._bound()[1], r.document)  # a document opens no file by naming it
        assert any("global" in u for u in again.verify()["unchecked"])
    local = m.solve(search="local")
    assert local.bound is None and not local.proved
    with pytest.warns(bilevelc.SolveWarning, match="no proof was written"):
        m.solve(start={"price": [1, 1, 1]}, method="pgd", proof=tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(bilevelc.UsageError):
        m.solve(search="fast")


def test_gap_is_that_of_the_document():
    m = bilevelc.Model(text=SHELF)
    r = m.solve(starts=1)
    document = {k: v for k, v in r.document.items() if k != "global"}
    assert type(r)(m, m._bound()[1], document).gap is None
    assert type(r)(m, m._bound()[1], {**document, "global": {"gap": 0.25}}).gap == 0.25


def test_hypergradient_against_differences():
    m = bilevelc.Model(text=SHELF)
    rng = np.random.default_rng(1)
    checked, h = 0, 1e-5
    for _ in range(30):
        x, v = rng.uniform(1, 4, 3), rng.normal(size=3)
        e = m.evaluate(x, vjp=v, jvp=v)
        near = [(m.evaluate(x + h * d, gradient=False), m.evaluate(x - h * d, gradient=False)) for d in np.eye(3)]
        faces = {tuple(np.concatenate([np.atleast_1d(q.multipliers[k]) for k in ("amount.nonneg", "shelf")]) > 0) for pair in near for q in pair}
        if len(faces) > 1:
            continue  # a kink is near
        checked += 1
        difference = np.array([(a.F - b.F) / (2 * h) for a, b in near])
        assert e.gradient == pytest.approx(difference, abs=1e-5)
        assert e.hypergradient["price"] == pytest.approx(difference, abs=1e-5)
        assert e.vjp == pytest.approx([v @ (a.y - b.y) / (2 * h) for a, b in near], abs=1e-5)
        assert e.jvp["objective"] == pytest.approx(difference @ v, abs=1e-4)
    assert checked > 15


def test_frames_against_the_closed_form():
    rng = np.random.default_rng(2)
    m = bilevelc.Model(text=RIDGE)
    for _ in range(5):
        d = ridge(rng)
        m.bind(**d)
        w = rng.uniform(0.1, 5, 3)
        F, b, gradient = closed_form(d, w)
        e = m.evaluate(w)
        assert e.F == pytest.approx(F, rel=1e-8) and e.y == pytest.approx(b, abs=1e-8)
        assert e.gradient == pytest.approx(gradient, abs=1e-5)
        assert list(e["b"].index) == ["a", "b", "c"] and e["b"].index.name == "feature"
        assert e.hypergradient["w"]["b"] == pytest.approx(gradient[1], abs=1e-5)
        shuffled = {k: v.sample(frac=1, random_state=1) for k, v in d.items()}
        assert m.bind(**shuffled).evaluate(w=dict(zip("cab", w[[2, 0, 1]]))).F == pytest.approx(F, rel=1e-8)
    r = m.solve(starts=1)
    assert closed_form(d, r["w"].reindex(list("abc")).to_numpy())[0] == pytest.approx(r.F, rel=1e-8)
    more = ridge(rng, n=7, names="abcd")  # other shapes: bound anew, with the sets of the new index
    w = np.ones(4)
    assert m.bind(**more).evaluate(w).F == pytest.approx(closed_form(more, w)[0], rel=1e-8)


def test_gaps_in_a_frame_are_named():
    d = ridge(np.random.default_rng(3))
    d["X"].loc["r4", "b"] = np.nan
    with pytest.raises(bilevelc.DataError, match=r"X has no value at \('r4', 'b'\)"):
        bilevelc.Model(text=RIDGE).solve(**d)


def test_tables_and_tuples(examples):
    pd = pytest.importorskip("pandas")
    folder = examples / "transport"
    by_files = bilevelc.Model(folder / "transport.blv").solve(files=[folder / "nodes.csv", folder / "roads.csv"], starts=1)
    roads = pd.read_csv(folder / "roads.csv")
    by_frames = bilevelc.Model(folder / "transport.blv").solve(nodes=pd.read_csv(folder / "nodes.csv"), roads=roads, starts=1)
    assert by_frames.document["seal"] != "" and by_frames.F == by_files.F
    toll = by_frames["toll"]
    assert list(toll.index) == list(zip(roads["from"], roads["to"])) and list(toll.index.names) == ["from", "to"]
    indexed = roads.set_index(["from", "to"])
    spent = (indexed["cost"] * by_frames["flow"] + toll * by_frames["flow"] + indexed["slope"] / 2 * by_frames["flow"] ** 2).sum()
    assert spent == pytest.approx(by_frames.g, rel=1e-9)  # labels align
    with pytest.raises(bilevelc.DataError):
        by_frames.model.bind(roads=roads.assign(cost=np.nan))


def test_kinds_of_data():
    text = """model kinds
param n: int
data A: matrix[n, n]
data b: vector[n]
upper {
  var x: vector[n] in box(-1, 1)
  minimize sumsq(A * y - b) + sumsq(x)
}
lower {
  var y: vector[n]
  minimize sumsq(y - x)
}
"""
    A, b, x = np.array([[2, 0, 0], [0, 3, 0.1], [0, 0, 4]]), np.array([1, 2, 1 / 3]), np.array([0.1, -0.2, 0.3])
    F = np.sum((A @ x - b) ** 2) + x @ x
    kinds = [(A, b), (A.tolist(), tuple(b)), (np.asfortranarray(A), b.astype(np.float64)[::1]), (A, np.repeat(b, 2)[::2])]
    try:
        import scipy.sparse as sp
        kinds += [(sp.csr_array(A), b), (sp.coo_matrix(A), b)]
    except ImportError:
        pass
    for AA, bb in kinds:
        assert bilevelc.Model(text=text).bind(A=AA, b=bb).evaluate(x).F == pytest.approx(F, rel=1e-12)
    m = bilevelc.Model(text=text).bind({"n": np.int64(3), "A": A}, b=b)
    for point in (x, list(x), {"x": x}):
        assert m.evaluate(point).F == pytest.approx(F, rel=1e-12)
    assert m.evaluate(x=x).F == pytest.approx(F, rel=1e-12)
    labelled = bilevelc.Model(text="""model labelled
set s = {"a", "b"}
upper {
  var x: [s] in box(0, 5)
  var z: real in box(0, 5)
  minimize x["a"] + 10 * x["b"] + 100 * z + y
}
lower {
  var y: real
  minimize (y - z)^2
}
""")
    for point in [dict(x={"a": 1, "b": 2}, z=3), dict(x=[1, 2], z=3)]:
        assert labelled.evaluate(**point).F == pytest.approx(324)
    with pytest.raises(TypeError):
        m.bind(b=object())


def test_data_stay_and_change():
    m = bilevelc.Model(text=SHELF)
    fresh = lambda **d: bilevelc.Model(text=SHELF).solve(**d)
    assert m.solve(cap=3).F == pytest.approx(9.5)
    assert m.solve(taste=[5, 4, 4]).F == pytest.approx(fresh(cap=3, taste=[5, 4, 4]).F, rel=1e-7)
    with pytest.raises(bilevelc.DataError):
        m.solve(cap="three")
    assert m.solve().F == pytest.approx(fresh(cap=3, taste=[5, 4, 4]).F, rel=1e-7)  # what failed changes nothing
    warm = m.solve(cap=3.01, warm=True)
    assert any("followed" in n for n in warm.notes) and warm.F == pytest.approx(fresh(cap=3.01, taste=[5, 4, 4]).F, rel=1e-6)


def test_choices():
    m = bilevelc.Model(text=SHELF)
    r = m.solve(seed=7, starts=2, method="goldstein", solver="quadratic", options={"epsilon": 1e-6}, start={"price": [1, 1, 1]}, threads=2, check_gradient=True)
    assert r.seed == 7 and len(r.document["starts"]) == 2 and r.document["lower"]["solver"] == "quadratic"
    with pytest.warns(bilevelc.SolveWarning, match="limit"):
        m.solve(max_iter=1, starts=1, method="goldstein")
    for bad in (dict(method="no"), dict(options={"no": 1}), dict(starts=-1), dict(start={"prize": 1}), dict(start={"price": [1]})):
        with pytest.raises(bilevelc.UsageError):
            m.solve(**bad)
    for x in ([1], {"prize": [1, 2, 3]}, {}, None):
        with pytest.raises(bilevelc.UsageError):
            m.evaluate(x)


def test_errors_say_where(tmp_path):
    with pytest.raises(bilevelc.ModelError) as e:
        bilevelc.Model(text=SHELF.replace("- price)", "- prize)"), name="shelf.blv")
    assert "shelf.blv:10:" in str(e.value) and "prize" in str(e.value) and e.value.diagnostics[0]["place"]["start"]["line"] == 10
    with pytest.raises(bilevelc.UsageError):
        bilevelc.Model(tmp_path / "none.blv")
    with pytest.raises(bilevelc.DataError, match="did you mean"):
        bilevelc.Model(text=SHELF).solve(tast=[1, 2, 3])
    infeasible = SHELF.replace("shelf: sum(amount) <= cap", "shelf: sum(amount) <= -cap")
    with pytest.raises(bilevelc.InfeasibleError, match="shelf") as f:
        bilevelc.Model(text=infeasible).solve()
    assert f.value.result is not None and not f.value.result.has_point
    with pytest.raises(bilevelc.InfeasibleError):
        bilevelc.Model(text=infeasible).evaluate([1, 1, 1])
    with pytest.warns(bilevelc.BilevelcWarning, match="never used"):
        bilevelc.Model(text=SHELF.replace("data cap", "data idle: real = 1\ndata cap"))


def test_kinks():
    m = bilevelc.Model(text="model k\nupper {\n  var x: real in box(-1, 1)\n  minimize y + x\n}\nlower {\n  var y: real in nonneg\n  minimize 0.5 * (y - x)^2\n}\n")
    assert m.evaluate(0.0).kinks and not m.evaluate(0.5).kinks
    with pytest.warns(bilevelc.KinkWarning):
        m.evaluate(0.0, kinks="warn")
    with pytest.raises(bilevelc.NumericalError):
        m.evaluate(0.0, kinks="raise")


def test_interrupt():
    m = bilevelc.Model(text=SHELF)

    def stop(now):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        m.solve(starts=20000, progress=stop)
    assert m.last is not None and m.last.status == "interrupted" and m.last.has_point
    if os.name == "posix":
        m.last = None
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            m.solve(starts=20000)
        timer.join()
        assert m.last is not None and m.last.status == "interrupted"
    assert m.solve(starts=1).solved


def test_a_process_that_dies_is_replaced():
    m = bilevelc.Model(text=SHELF).bind(cap=3)
    child = m._peer._child  # the next look at it may start another one
    child.kill()
    child.wait()
    assert m.solve().F == pytest.approx(9.5)  # with its data
    with bilevelc.Process() as own:
        n = bilevelc.Model(text=SHELF, process=own)
        assert own.version and n.solve(starts=1).has_point
        threading.Timer(0.3, own._child.kill).start()
        with pytest.raises(bilevelc.ProcessError, match="has ended"):
            n.solve(starts=20000)
    with pytest.raises(bilevelc.ProcessError):
        bilevelc.Process("no such command")


def test_threads_share_the_process():
    m, found = bilevelc.Model(text=SHELF), {}
    m.bind()

    def work(k):
        found[k] = m.evaluate([1 + k / 10, 2, 2]).F

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    for k, F in found.items():
        assert F == pytest.approx(m.evaluate([1 + k / 10, 2, 2]).F, rel=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork():
    m = bilevelc.Model(text=SHELF)
    F = m.evaluate([1, 2, 2]).F
    pid = os.fork()
    if pid == 0:
        ok = False
        try:
            ok = abs(m.evaluate([1, 2, 2]).F - F) < 1e-9
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert m.evaluate([2, 2, 2]).F != F


def test_progress(monkeypatch, capsys):
    from bilevelc import _progress
    monkeypatch.setattr(_progress, "PATIENCE", 0)
    seen = []
    m = bilevelc.Model(text=SHELF)
    m.solve(progress=seen.append)
    assert seen and {"start", "starts", "iteration", "best", "measure", "seconds"} <= set(seen[0])
    m.solve(progress=True)
    err = capsys.readouterr().err
    assert "1 open" in err and "bound" in err and err.endswith("\r")
    m.solve()
    assert capsys.readouterr().err == ""  # nobody looks

    class ZMQInteractiveShell:
        pass

    shown = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    class Display:
        @staticmethod
        def display(data, raw, display_id):
            shown.append(data["text/plain"])
            return Handle()

    class IPython:
        get_ipython = staticmethod(ZMQInteractiveShell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    m.solve()
    assert len(shown) > 1 and any("1 open" in text for text in shown) and shown[-1] == ""


def test_without_pandas(monkeypatch):
    rng = np.random.default_rng(5)
    A = rng.normal(size=(6, 2))
    text = RIDGE.replace("set feature", 'set feature = {"a", "b"}').replace("set row", "set row = 0..5")
    monkeypatch.setitem(sys.modules, "pandas", None)
    r = bilevelc.Model(text=text).solve(X=A, y=A[:, 0], Z=A, z=A[:, 1], starts=1)
    assert isinstance(r["w"], np.ndarray) and r.labels("w") == [["a", "b"]]


def test_integer_labels():
    pd = pytest.importorskip("pandas")
    text = "model h\nset hour = 0..3\ndata load: [hour]\nupper {\n  var p: [hour] in box(0, 5)\n  minimize sum(h in hour: (q[h] - 1)^2 + 0.1 * p[h])\n}\nlower {\n  var q: [hour]\n  minimize sum(h in hour: (q[h] - load[h] + p[h])^2)\n}\n"
    load = pd.Series([1.0, 2, 3, 4])
    r = bilevelc.Model(text=text).solve(load=load)
    assert list(r["q"].index) == [0, 1, 2, 3]
    pd.testing.assert_series_equal(r["q"], load - r["p"], check_names=False, atol=1e-8)
    assert json.loads(json.dumps(r.document))["model"] == "h"
