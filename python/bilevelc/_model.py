"""Models, and what is known of them at a point."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import numpy as np

from . import _process, _progress
from ._data import Input, Layout, encode, labels_of, packed
from .errors import BilevelcWarning, InfeasibleError, KinkWarning, NumericalError, SolveWarning, UnboundedError, UsageError

FilePath = Union[str, "os.PathLike[str]"]


class Named(Mapping[str, Any]):
    """Values by name, in the order of the model: floats, arrays, or, over sets, Series."""

    def __init__(self, layouts: Sequence[Layout], flat: Mapping[str, Any]) -> None:
        self.layouts = {w.name: w for w in layouts if w.name in flat}
        self._flat = flat

    def __getitem__(self, name: str) -> Any:
        if name not in self.layouts:
            raise KeyError(name)
        return self.layouts[name].value(self._flat[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.layouts)

    def __len__(self) -> int:
        return len(self.layouts)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {self[name]!r}" if np.ndim(self[name]) == 0 else f"{name}:\n{self[name]!r}" for name in self) or "{}"


def _of_document(layouts: Sequence[Layout], values: Optional[Dict[str, Any]]) -> Named:
    """Values of a result document."""
    flat: Dict[str, Any] = {}
    for w in layouts:
        if values is not None and w.name in values:
            v = values[w.name]
            flat[w.name] = w.flat(v) if w.axes else np.asarray(_floats(v), dtype=float).reshape(-1)
    return Named(layouts, flat)


def _floats(v: Any) -> Any:
    """Numbers, of which those that JSON lacks are texts."""
    return [_floats(e) for e in v] if isinstance(v, list) else float(v)


def _cut(layouts: Sequence[Layout], vector: Any) -> Named:
    """A vector over the variables of a level, by name."""
    flat, at = {}, 0
    vector = np.asarray(vector, dtype=float)
    for w in layouts:
        flat[w.name] = vector[at:at + w.size]
        at += w.size
    return Named(layouts, flat)


class _Problem:
    """A model bound to data, as the process describes it."""

    def __init__(self, wire: Dict[str, Any]) -> None:
        self.handle: str = wire["problem"]
        self.upper = [Layout.of(v) for v in wire["upper"]["variables"]]
        self.lower = [Layout.of(v) for v in wire["lower"]["variables"]]
        self.constraints = [Layout.of(v) for v in wire["constraints"]]
        self.report = [Layout.of(v) for v in wire["report"]]
        self.dims: Dict[str, int] = wire["dims"]


class Model:
    """A model in the language of bilevelc, compiled, with the data that it has been given.

    ``path`` is a file, or ``text`` the model itself. Data stay until they are replaced:
    ``m.solve(X=X, y=y, weight=1)`` and then ``m.solve(weight=2)``. A model that is used
    again is not compiled again, and what has not changed in it is not proved again.
    """

    def __init__(self, path: Optional[FilePath] = None, *, text: Optional[str] = None, name: Optional[str] = None,
                 process: Optional[_process.Process] = None) -> None:
        if (path is None) == (text is None):
            raise UsageError("a model is given by its path, or by its text", code=2)
        if path is not None:
            path = os.path.expanduser(os.fspath(path))
            try:
                text = Path(path).read_text(encoding="utf-8")
            except OSError as e:
                raise UsageError(f"the model cannot be read: {e}", code=2) from e
            name = name or path
        assert text is not None
        self.text = text
        self._own = process
        self._used: Optional[_process.Process] = None
        self._told: Set[str] = set()
        self._data: Dict[str, Any] = {}
        self._files: List[str] = []
        self._indexed: Set[str] = set()  # sets whose elements are those of an index
        self._binding: Dict[str, Any] = {}
        self._problem: Optional[_Problem] = None
        self._source = {"text": text, "name": name or "model.blv"}
        #: the last result, also of a run that was interrupted
        self.last: Optional[Result] = None
        self._compile()

    # The process.

    @property
    def _peer(self) -> _process.Process:
        return self._own if self._own is not None else _process.shared()

    def _compile(self) -> None:
        process = self._peer
        answer = process.call("compile", self._source)
        self._used, self._handle = process, answer["model"]
        #: the name that the model gives itself
        self.name: str = answer["name"]
        #: what the model takes from outside
        self.inputs: Dict[str, Input] = {i["name"]: Input(i["name"], i["kind"], i["type"], tuple(i["dims"]), tuple(i["labels"]), i["given"])
                                         for i in answer["inputs"]}
        self._problem = None
        self._warn(answer["warnings"], answer["warnings_text"])

    def _running(self) -> _process.Process:
        """The process, with the model in it."""
        if self._used is None or not self._used.alive or self._own is None and self._used is not _process.shared():
            self._compile()
        assert self._used is not None
        return self._used

    def _warn(self, document: Dict[str, Any], text: str) -> None:
        """Warns of what has not been told before."""
        found = [json.dumps(d, sort_keys=True) for d in document["diagnostics"] if d["severity"] == "warning"]
        if text and any(d not in self._told for d in found):
            warnings.warn("\n" + text.rstrip(), BilevelcWarning, stacklevel=4)
        self._told.update(found)

    # Data.

    def bind(self, data: Optional[Mapping[str, Any]] = None, *, files: Union[FilePath, Sequence[FilePath], None] = None,
             seed: Optional[int] = None, strict: Optional[bool] = None, ignore_undeclared: Optional[bool] = None, **arrays: Any) -> "Model":
        """Gives the model data, by name, and from files as ``--data`` takes them.

        Arrays, Series and DataFrames of pandas, sparse matrices of scipy, tensors, lists and
        dicts are data; what is indexed by labels goes by them. A DataFrame under a name that
        the model does not declare is a table, whose columns are taken by their names.
        Whatever is given stays until it is replaced."""
        new = {**(data or {}), **arrays}
        process = self._running()
        wire = {name: encode(value, self.inputs.get(name)) for name, value in new.items()}
        if not files and not self._files and all(name in self.inputs for name in {**self._data, **new}):
            # No table says what is in the sets: what is indexed by them does.
            for name, value in new.items():
                for of, labels in labels_of(value, self.inputs[name]).items():
                    if of not in new and not self.inputs[of].given and (of not in self._data or of in self._indexed):
                        wire[of] = labels
                        self._indexed.add(of)
        choices = {k: v for k, v in {"seed": seed, "strict": strict, "ignore_undeclared": ignore_undeclared}.items() if v is not None}
        specs = [files] if isinstance(files, (str, os.PathLike)) else list(files or [])
        names = [os.fspath(f) for f in specs]
        all_data, all_choices = {**self._data, **wire}, {**self._binding, **choices}
        all_files = self._files + [f for f in names if f not in self._files]
        answer: Optional[Dict[str, Any]] = None
        if self._problem is not None:
            if not wire and not names and all_choices == self._binding:
                return self
            if not names and all_choices == self._binding:
                try:
                    answer = process.call("update", {"problem": self._problem.handle, "data": wire})
                except UsageError:
                    answer = None  # of other shapes
        if answer is None:
            absolute = [_absolute(f) for f in all_files]
            answer = process.call("bind", {"model": self._handle, "data": all_data, "files": absolute, **all_choices})
            if self._problem is not None:
                process.call("close", {"problem": self._problem.handle})
        self._problem = _Problem(answer)
        self._data, self._files, self._binding = all_data, all_files, all_choices
        self._warn(answer["warnings"], answer["warnings_text"])
        return self

    def _bound(self) -> Tuple[_process.Process, _Problem]:
        process = self._running()
        if self._problem is None:
            self.bind()
        assert self._problem is not None
        return process, self._problem

    # What is asked.

    def solve(self, data: Optional[Mapping[str, Any]] = None, *, files: Union[FilePath, Sequence[FilePath], None] = None,
              seed: int = 1, method: Optional[str] = None, oracle: Optional[str] = None, solver: Optional[str] = None,
              options: Optional[Mapping[str, Any]] = None, start: Optional[Mapping[str, Any]] = None, starts: Optional[int] = None,
              max_iter: Optional[int] = None, time_limit: Optional[float] = None, threads: Optional[int] = None,
              search: Optional[str] = None, gap: Optional[float] = None, max_nodes: Optional[int] = None, proof: Optional[FilePath] = None,
              check_gradient: bool = False, warm: bool = False, progress: _progress.Choice = None, **arrays: Any) -> "Result":
        """Solves the model with its data, and those that are given here (see ``bind``).

        ``warm`` follows the last solution to where new numbers have moved it, and does not
        look for another one elsewhere. ``search`` is "global", until the optimum is proved
        within ``gap`` or ``max_nodes`` are searched, "local", or "budget", the default; ``proof``
        is a file that the proof of the bound is written to, for ``verify``. The other choices
        are those of the command. A run without a solution raises; one that met a limit gives
        the best point, and warns, as one that has no proof does."""
        self.bind(data, files=files, seed=seed if seed != 1 or "seed" in self._binding else None, **arrays)
        process, p = self._bound()
        params: Dict[str, Any] = {"problem": p.handle, "seed": seed, "check_gradient": check_gradient, "warm": warm}
        for key, value in {"method": method, "oracle": oracle, "solver": solver, "starts": starts, "max_iter": max_iter,
                           "time_limit": time_limit, "threads": threads, "search": search, "gap": gap, "nodes": max_nodes,
                           "proof": None if proof is None else _absolute_path(proof)}.items():
            if value is not None:
                params[key] = value
        if options:
            params["options"] = {k: v.item() if isinstance(v, np.generic) else v for k, v in options.items()}
        if start is not None:
            params["start"] = self._by_name(p, start)
        shown = _progress.choose(progress)
        params["progress"] = shown is not None

        def keep(answer: Dict[str, Any]) -> None:
            self.last = Result(self, p, answer["result"])
            self.last._proof = (self.last.document.get("global") or {}).get("proof")

        try:
            answer = process.call("solve", params, shown, keep)
        finally:
            if isinstance(shown, _progress.Shown):
                shown.close()
        keep(answer)
        r = self.last
        assert r is not None
        if answer.get("no_proof"):
            warnings.warn(f"{self.name}: no proof was written: {answer['no_proof']}", SolveWarning, stacklevel=2)
        r._complain(answer["diagnostics_text"])
        return r

    def _by_name(self, p: _Problem, point: Mapping[str, Any]) -> Dict[str, Any]:
        known = {w.name: w for w in p.upper}
        return {name: known[name].flat(v).reshape(known[name].shape).tolist() if name in known else encode(v) for name, v in point.items()}

    def vector(self, x: Any = None, **variables: Any) -> Any:
        """The leader's variables as one vector: from a vector, a number, a Result, or values by
        name."""
        _, p = self._bound()
        if isinstance(x, (Result, Evaluation)):
            x = x.upper
        names = {w.name for w in p.upper}
        if "x" in names and x is not None and (not set(x) <= names if isinstance(x, Mapping) else variables):
            x, variables = None, {"x": x, **variables}  # the value of the variable of that name
        if isinstance(x, Mapping) or variables:
            given = {**(x or {}), **variables}
            for name in given:
                if name not in names:
                    raise UsageError(f"the upper level has no variable {name}; it has {', '.join(w.name for w in p.upper)}", code=2)
            for w in p.upper:
                if w.name not in given:
                    raise UsageError(f"the upper variable {w.name} is missing", code=2)
            return np.concatenate([w.flat(given[w.name]) for w in p.upper])
        if x is None:
            raise UsageError("a point is a vector of the leader's variables, or has them by name", code=2)
        for part in ("detach", "cpu", "numpy"):
            if hasattr(x, "detach") or part != "detach" and type(x).__module__.startswith("torch"):
                x = getattr(x, part)()
        array = np.asarray(x, dtype=float).reshape(-1)
        if array.size != p.dims["x"]:
            raise UsageError(f"x has {array.size} entries, not {p.dims['x']}", code=2)
        return array

    def evaluate(self, x: Any = None, *, gradient: bool = True, vjp: Any = None, jvp: Any = None, oracle: Optional[str] = None,
                 solver: Optional[str] = None, options: Optional[Mapping[str, Any]] = None, kinks: str = "ignore", **variables: Any) -> "Evaluation":
        """F, the follower's answer and the hypergradient at a point: a vector, values by name,
        or a Result. The upper level is not solved, and x need not be feasible.

        ``vjp``, of the length of y, asks for its product with dy*/dx, and ``jvp`` for the
        derivatives along a direction. ``kinks`` says what to do where a derivative is of one
        of several branches: "ignore", "warn" or "raise"."""
        vector = self.vector(x, **variables)
        process, p = self._bound()
        params: Dict[str, Any] = {"problem": p.handle, "x": packed(vector), "gradient": gradient}
        if vjp is not None:
            params["vjp"] = {"y": packed(np.asarray(vjp, dtype=float).reshape(-1))}
        if jvp is not None:
            params["jvp"] = packed(np.asarray(jvp, dtype=float).reshape(-1))
        for key, value in {"oracle": oracle, "solver": solver, "options": dict(options) if options else None}.items():
            if value is not None:
                params[key] = value
        e = Evaluation(self, p, process.call("evaluate", params))
        e._complain(kinks)
        return e

    def verify(self, result: Optional["Result"] = None, *, proof: Optional[FilePath] = None) -> Dict[str, Any]:
        """Checks a result's claims again, by code that shares nothing with the solvers:
        ``ok``, the ``checks``, and what is ``unchecked``. ``proof`` is the file with the proof
        of the global bound, if not the one that this process has had written."""
        result = self.last if result is None else result
        if result is None:
            raise UsageError("there is no result to verify", code=2)
        process, p = self._bound()
        params = {"problem": p.handle, "result": result.document}
        if proof is None:
            proof = result._proof
        if proof is not None:
            params["proof"] = _absolute_path(proof)
        report: Dict[str, Any] = process.call("verify", params)
        for check in report["checks"]:  # numbers that JSON has no word for come as texts; nan where a claim has none
            check.update((key, float(check[key])) for key in ("claimed", "found", "tolerance") if key in check)
        return report

    def torch(self, **choices: Any) -> Any:
        """The model as a function of torch tensors, which backpropagation goes through: see
        ``bilevelc.torch.Layer``."""
        from .torch import Layer
        return Layer(self, **choices)

    def __repr__(self) -> str:
        return f"<bilevelc model {self.name}: {', '.join(f'{i.kind} {i.name}: {i.type}' for i in self.inputs.values()) or 'no data'}>"


def _absolute_path(path: FilePath) -> str:
    return os.path.abspath(os.path.expanduser(os.fspath(path)))


def _absolute(spec: str) -> str:
    """A data file, or name=file, for a process whose working folder may be another one."""
    name, equals, path = spec.partition("=")
    if equals and name.isidentifier():
        return name + "=" + _absolute_path(path)
    return _absolute_path(spec)


class Result:
    """The best point that a run has found, with what is known of it.

    ``r["w"]`` is a variable of either level, a value of the report, or the multipliers of a
    constraint. ``document`` is all of it, as docs/results.md describes it."""

    def __init__(self, model: Model, p: _Problem, document: Dict[str, Any]) -> None:
        self.model = model
        self.document = document
        self._proof: Optional[FilePath] = None  # the file that its run has written
        self.status: str = document["status"]
        self.reason: str = document["reason"]
        self.seed: int = document["seed"]
        self.time: float = document["time"]
        self.notes: List[str] = list(document.get("notes") or [])
        upper, lower = document["upper"], document["lower"]
        #: whether there is a point
        self.has_point: bool = lower["status"] != "none"
        #: the leader's objective, in the model's own sense
        self.F = float(upper["objective"])
        #: the follower's
        self.g = float(lower["objective"])
        self.upper = _of_document(p.upper, upper["variables"])
        self.lower = _of_document(p.lower, lower["variables"])
        self.multipliers = _of_document(p.constraints, lower["multipliers"])
        self.residuals = _of_document(p.constraints, document["residuals"]["constraints"])
        self.report = _of_document(p.report, document["report"])
        self.hypergradient = _of_document(p.upper, upper["hypergradient"])
        #: the method's measure of stationarity
        self.stationarity = float(document["stationarity"]["value"])
        #: rows that hold with a positive multiplier
        self.active: List[str] = list(lower["active"] or [])

    @property
    def solved(self) -> bool:
        return self.status == "solved"

    @property
    def gap(self) -> Optional[float]:
        """How far F may be from the global optimum, where a bound on that is proved; else None."""
        gap = (self.document.get("global") or {}).get("gap")
        return None if gap is None else float(gap)

    def __getitem__(self, name: str) -> Any:
        for values in (self.upper, self.lower, self.report, self.multipliers):
            if name in values:
                return values[name]
        raise KeyError(f"{name}; there are {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        for values in (self.upper, self.lower, self.report, self.multipliers):
            yield from values

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def keys(self) -> List[str]:
        return list(self)

    def labels(self, name: str) -> List[List[Any]]:
        """The labels of each dimension of a value; the numbers from 1 where it has none."""
        for values in (self.upper, self.lower, self.report, self.multipliers):
            if name in values:
                return values.layouts[name].labels()
        raise KeyError(name)

    @property
    def bound(self) -> Optional[float]:
        """What no feasible point is better than, where a search has a bound; else None."""
        bound = (self.document.get("global") or {}).get("bound")
        return None if bound is None else float(bound)

    @property
    def proved(self) -> bool:
        """Whether the search has proved that no feasible point is better than within ``gap``."""
        return bool((self.document.get("global") or {}).get("proved"))

    def verify(self, *, proof: Optional[FilePath] = None) -> Dict[str, Any]:
        """Model.verify of this result."""
        return self.model.verify(self, proof=proof)

    def save(self, path: FilePath) -> None:
        """Writes the document, as ``bilevelc --json`` does, for ``report`` and ``verify``."""
        Path(path).write_text(json.dumps(self.document) + "\n", encoding="utf-8")

    def _complain(self, text: str) -> None:
        """Raises where there is no solution, and warns where there may be a better one."""
        if self.status == "solved" or self.status == "interrupted":
            return
        message = f"{self.model.name}: {self.status} ({self.reason})" + ("\n" + text.rstrip() if text else "")
        kind = {"infeasible": InfeasibleError, "unbounded": UnboundedError}.get(self.status)
        if kind is None and not self.has_point:
            kind = NumericalError
        if kind is not None:
            code = {InfeasibleError: 10, UnboundedError: 11}.get(kind, 14)
            raise kind(message, code=code, result=self)
        warnings.warn(message, SolveWarning, stacklevel=3)

    def __repr__(self) -> str:
        lines = [f"{self.document['model']}: {self.status} ({self.reason})", f"F {self.F:.10g} ({self.document['upper']['sense']}), "
                 f"g {self.g:.10g} ({self.document['lower']['sense']}), stationarity {self.stationarity:.3g}"
                 + (f", gap {self.gap:.3g}" if self.gap is not None else "")]
        for values in (self.upper, self.lower, self.report):
            if len(values):
                lines.append(repr(values))
        return "\n".join(lines)


class Evaluation:
    """F, the follower's answer and derivatives at one x."""

    def __init__(self, model: Model, p: _Problem, wire: Dict[str, Any]) -> None:
        self.model = model
        self._p = p
        #: F in the model's own sense, and an estimate of its error
        self.F = float(wire["objective"])
        self.accuracy = float(wire["accuracy"])
        self.x = np.array(wire["x"], dtype=float)
        self.y = np.array(wire["y"], dtype=float)
        self.upper = _cut(p.upper, self.x)
        self.lower = _cut(p.lower, self.y)
        self.multipliers = _of_document(p.constraints, wire["multipliers"])
        #: rows that may change their state here; F may have a kink where there are some
        self.kinks: List[str] = wire["kinks"]
        self._products = {k: wire[k] for k in ("gradient", "vjp") if wire.get(k)}
        #: the hypergradient as one vector; None where it was not asked for
        self.gradient = self._vector("gradient")
        #: the product that was asked for
        self.vjp = self._vector("vjp")
        #: the derivatives along the direction that was asked for: objective, y and lambda
        self.jvp: Optional[Dict[str, Any]] = None
        if wire.get("jvp"):
            self.jvp = {k: np.array(v, dtype=float) if isinstance(v, list) else float(v) for k, v in wire["jvp"].items()}

    def _vector(self, name: str) -> Any:
        return np.array(self._products[name]["value"], dtype=float) if name in self._products else None

    @property
    def hypergradient(self) -> Named:
        """The gradient of F, by variable."""
        if self.gradient is None:
            raise UsageError("the gradient was not asked for", code=2)
        return _cut(self._p.upper, self.gradient)

    def __getitem__(self, name: str) -> Any:
        for values in (self.upper, self.lower, self.multipliers):
            if name in values:
                return values[name]
        raise KeyError(name)

    def _complain(self, kinks: str) -> None:
        found = [v["kink"] for v in self._products.values() if v.get("kink")]
        if not found or kinks == "ignore":
            return
        if kinks == "raise":
            raise NumericalError(found[0], code=14)
        warnings.warn(found[0], KinkWarning, stacklevel=3)

    def __repr__(self) -> str:
        text = f"F {self.F:.10g} at\n{self.upper!r}\nwhere the follower answers\n{self.lower!r}"
        if self.gradient is not None:
            text += f"\nhypergradient\n{self.hypergradient!r}"
        return text


