"""From Python's values to the wire, and back with labels."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from .errors import DataError, UsageError


@dataclass(frozen=True)
class Input:
    """A name that a model takes from outside."""

    name: str
    kind: str  #: "param", "data" or "set"
    type: str  #: as it stands in the model
    dims: Tuple[str, ...]
    labels: Tuple[bool, ...]  #: which of dims are over sets
    given: bool = False  #: whether the model has a value for it

    @property
    def labelled(self) -> bool:
        return any(self.labels)


def encode(value: Any, declared: Optional[Input] = None) -> Any:
    """A value as JSON. ``declared`` is what the model says of it; None for a table."""
    for part in ("detach", "cpu", "numpy"):  # a tensor of torch
        if hasattr(value, "detach") or part != "detach" and type(value).__module__.startswith("torch"):
            value = getattr(value, part)()
    if hasattr(value, "tocoo"):  # a sparse matrix of scipy
        m = value.tocoo()
        return {"shape": [int(n) for n in m.shape], "row": np.asarray(m.row).tolist(), "col": np.asarray(m.col).tolist(),
                "data": [_number(v) for v in np.asarray(m.data, dtype=float).tolist()]}
    if _is_frame(value):
        return _frame(value, declared)
    if _is_series(value):
        return _series(value, declared)
    if hasattr(value, "to_dicts"):  # a table of polars
        return _plain(value.to_dicts())
    if isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in "fiub" and (declared is None or declared.kind != "set"):
        return packed(value)
    return _plain(value)


def packed(array: Any) -> Dict[str, Any]:
    """An array in binary."""
    a = np.ascontiguousarray(array, dtype="<f8")
    return {"dtype": "<f8", "shape": list(a.shape), "base64": base64.b64encode(a.tobytes()).decode()}


def _number(v: float) -> Union[float, str]:
    """A number, or the text that stands for one that JSON lacks."""
    if math.isfinite(v):
        return v
    return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"


def _plain(value: Any) -> Any:
    """Lists, maps and numbers of any library as those of Python."""
    if isinstance(value, Mapping):
        return {_label(k): encode(v) if _is_series(v) else _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset, range)) or hasattr(value, "__array__") and not isinstance(value, np.generic):
        items: Iterable[Any] = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        return [_plain(v) for v in items]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value) if hasattr(value, "isoformat") else _refuse(value)


def _refuse(value: Any) -> Any:
    raise TypeError(f"a {type(value).__name__} is no data: give a number, an array, labels, a Series, a DataFrame, or lists and dicts of them")


def _label(key: Any) -> str:
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    return str(key)


def _is_series(value: Any) -> bool:
    return hasattr(value, "index") and hasattr(value, "to_numpy") and not hasattr(value, "columns") and not callable(value.index)


def _is_frame(value: Any) -> bool:
    return hasattr(value, "index") and hasattr(value, "columns") and hasattr(value, "to_numpy")


def _keys(index: Any) -> List[Tuple[str, ...]]:
    """The labels of an index, each a tuple."""
    return [tuple(_label(k) for k in (key if isinstance(key, tuple) else (key,))) for key in index.tolist()]


def _nested(pairs: Iterable[Tuple[Sequence[str], Any]]) -> Dict[str, Any]:
    """Values by label, with a level for each label."""
    out: Dict[str, Any] = {}
    for key, value in pairs:
        level = out
        for label in key[:-1]:
            level = level.setdefault(label, {})
        if key[-1] in level:
            raise ValueError(f"the label {', '.join(key)} is there twice")
        level[key[-1]] = value
    return out


def _series(s: Any, declared: Optional[Input]) -> Any:
    if declared is not None and declared.kind == "set":
        return _plain(s.tolist())
    if declared is not None:
        _no_gaps(declared, s.isna().to_numpy(), lambda at: s.index[at[0]])
    if declared is not None and declared.labelled:
        return _nested(zip(_keys(s.index), _plain(s.to_numpy())))
    values = s.to_numpy()
    return packed(values) if values.dtype.kind in "fiub" else _plain(values)


def _frame(f: Any, declared: Optional[Input]) -> Any:
    if declared is None or declared.kind == "set":
        # A table. An index that only counts the rows says nothing.
        if not (getattr(f.index, "nlevels", 1) == 1 and f.index.name is None and f.index.tolist() == list(range(len(f)))):
            f = f.reset_index()
        heads = [_label(c) for c in f.columns]
        cells = [_missing(f.iloc[:, i]) for i in range(len(heads))]
        return [dict(zip(heads, row)) for row in zip(*cells)]
    _no_gaps(declared, f.isna().to_numpy(), lambda at: (f.index[at[0]], f.columns[at[1]]))
    if not declared.labelled:
        return packed(f.to_numpy(dtype=float))
    rows = _plain(f.to_numpy())
    keys = _keys(f.index)
    if len(declared.labels) == 2 and declared.labels == (True, False):
        return _nested(zip(keys, rows))
    if len(declared.labels) == 2 and declared.labels == (False, True):
        columns = [c[0] for c in _keys(f.columns)]
        return [dict(zip(columns, row)) for row in rows]
    names = _keys(f.columns)
    return _nested((key + name, v) for key, row in zip(keys, rows) for name, v in zip(names, row))


def _no_gaps(declared: Input, missing: Any, place: Callable[[Any], Any]) -> None:
    """An array has no missing entries: names the first."""
    if missing.any():
        at, more = np.argwhere(missing)[0], int(missing.sum()) - 1
        raise DataError(f"{declared.name} has no value at {place(at)!r}" + (f", nor at {more} other places" if more else "")
                        + ": leave out these rows, or fill them", code=4)


def labels_of(value: Any, declared: Input) -> Dict[str, Any]:
    """The elements of the sets that a Series or a DataFrame is over, by the name of the set,
    as its index and columns have them."""
    if not (_is_series(value) or _is_frame(value)) or not declared.labelled:
        return {}
    indices = [value.index] + ([value.columns] if _is_frame(value) else [])
    if len(declared.dims) == len(indices):
        return {d: [list(k) if len(k) > 1 else k[0] for k in _keys(i)] for d, i, over in zip(declared.dims, indices, declared.labels) if over}
    if len(indices) == 1 and getattr(value.index, "nlevels", 1) == len(declared.dims):
        parts = zip(*_keys(value.index))
        return {d: list(dict.fromkeys(part)) for d, part, over in zip(declared.dims, parts, declared.labels) if over}
    return {}


def _missing(column: Any) -> List[Any]:
    """The cells of a column; None where one is missing."""
    lost = column.isna().tolist()
    return [None if gone else _plain(v) for v, gone in zip(column.tolist(), lost)]


@dataclass(frozen=True)
class Layout:
    """How an array of the model is laid out, and labelled."""

    name: str
    shape: Tuple[int, ...]
    axes: Tuple[Dict[str, Any], ...]

    @classmethod
    def of(cls, wire: Dict[str, Any]) -> "Layout":
        return cls(wire["name"], tuple(wire["shape"]), tuple(wire.get("axes") or ()))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def labels(self) -> List[List[Any]]:
        """The labels of each dimension: texts or integers, tuples of them, or the numbers
        from 1 where there are none."""
        return [_labels_of(axis) for axis in self.axes] or [list(range(1, n + 1)) for n in self.shape]

    def keys(self) -> List[Tuple[str, ...]]:
        """The labels of each entry, row-major, as they stand in a document."""
        levels: List[List[Tuple[str, ...]]] = []
        for axis in self.axes:
            labels = axis.get("labels")
            levels.append([tuple(key) for key in labels] if labels is not None else [(str(k),) for k in range(1, axis["size"] + 1)])
        out: List[Tuple[str, ...]] = [()]
        for level in levels:
            out = [key + more for key in out for more in level]
        return out

    def flat(self, given: Any) -> Any:
        """The entries of a value, row-major, from a number, an array, a Series, or what is by
        label, as in a document."""
        if self.axes and (_is_series(given) or _is_frame(given)):
            given = encode(given, Input(self.name, "data", "", (), tuple(True for _ in self.axes)))
        if self.axes and isinstance(given, Mapping):
            out = []
            for key in self.keys():
                entry: Any = given
                for label in key:
                    entry = _entry(entry, label, f"{self.name} has no entry {', '.join(key)}")
                out.append(float(entry))
            return np.array(out)
        for part in ("detach", "cpu", "numpy"):
            if hasattr(given, "detach") or part != "detach" and type(given).__module__.startswith("torch"):
                given = getattr(given, part)()
        array = np.asarray(given, dtype=float)
        if array.shape != self.shape:
            raise UsageError(f"{self.name} has shape {self.shape}, and is given with shape {array.shape}", code=2)
        return array.reshape(-1)

    def value(self, flat: Any) -> Any:
        """Numbers as what a user is given: a float, an array, or, where there are labels and
        pandas, a Series."""
        array = np.asarray(flat, dtype=float).reshape(self.shape)
        if not self.shape:
            return float(array)
        pandas = _pandas() if self.axes else None
        if pandas is None:
            return array
        names: List[Optional[str]] = []
        levels: List[List[Any]] = []  # for each dimension, tuples of labels
        for axis in self.axes:
            labels = _labels_of(axis)
            levels.append([x if isinstance(x, tuple) else (x,) for x in labels])
            width = len(levels[-1][0]) if levels[-1] else 1
            given = axis.get("names") or []
            names += [given[k] if len(given) == width else None for k in range(width)]
        keys: List[Tuple[Any, ...]] = [()]
        for level in levels:
            keys = [key + more for key in keys for more in level]
        if len(names) == 1:
            index = pandas.Index([k[0] for k in keys], name=names[0])
        else:
            index = pandas.MultiIndex.from_tuples(keys, names=names) if keys else pandas.MultiIndex.from_arrays([[]] * len(names), names=names)
        return pandas.Series(array.reshape(-1), index=index, name=self.name)


def _entry(level: Any, label: str, missing: str) -> Any:
    """What a map has under a label, which may be an integer there."""
    if isinstance(level, Mapping):
        if label in level:
            return level[label]
        for key in level:
            if _label(key) == label:
                return level[key]
    raise UsageError(missing, code=2)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _labels_of(axis: Dict[str, Any]) -> List[Any]:
    labels = axis.get("labels")
    if labels is None:
        return list(range(1, axis["size"] + 1))
    parts = [_integers([key[k] for key in labels]) for k in range(len(labels[0]) if labels else 0)]
    if len(parts) == 1:
        return parts[0]
    return list(zip(*parts))


def _integers(labels: List[str]) -> List[Any]:
    """Labels as integers where all are."""
    try:
        numbers = [int(label) for label in labels]
    except ValueError:
        return list(labels)
    return numbers if [str(n) for n in numbers] == labels else list(labels)
