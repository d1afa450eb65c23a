"""Model and solve bilevel optimization problems.

A leader picks x; a follower answers with the y that is best for itself::

    import bilevelc
    m = bilevelc.Model("toll.blv")
    r = m.solve(demand=7.0)
    r.F, r["toll"], r["share"], r.stationarity

Models are written in the language of bilevelc, and solved by its command, which runs
in the background and keeps them compiled. See docs/python.md.
"""

from ._data import Input
from ._model import Evaluation, Model, Result
from ._process import Process, find_binary
from .errors import (BilevelcError, BilevelcWarning, DataError, InfeasibleError, InternalError, KinkWarning, ModelError,
                     NumericalError, ProcessError, SolveWarning, UnboundedError, UsageError)

__version__ = "0.1.0.dev0"

__all__ = ["BilevelcError", "BilevelcWarning", "DataError", "Evaluation", "InfeasibleError", "Input", "InternalError", "KinkWarning",
           "Model", "ModelError", "NumericalError", "Process", "ProcessError", "Result", "SolveWarning", "UnboundedError",
           "UsageError", "find_binary"]
