"""What can go wrong, and what bilevelc warns of."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Type


class BilevelcError(Exception):
    """A request that failed.

    ``str`` is the message with the place of the fault, as the command prints it.
    ``diagnostics`` has one entry a fault: its code, summary, place and what to write
    instead. ``result`` is the result of a run that ended without a solution.
    """

    def __init__(self, message: str, *, code: int = 1, diagnostics: Optional[List[Dict[str, Any]]] = None, result: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.diagnostics: List[Dict[str, Any]] = diagnostics or []
        self.result = result


class UsageError(BilevelcError, ValueError):
    """A choice that does not fit: an unknown method, a point of the wrong shape."""


class ModelError(BilevelcError):
    """The model does not compile."""


class DataError(BilevelcError, ValueError):
    """The data are not what the model declares."""


class InfeasibleError(BilevelcError):
    """No x, or no answer of the follower, meets the constraints."""


class UnboundedError(BilevelcError):
    """An objective falls, or rises, without bound."""


class NumericalError(BilevelcError, ArithmeticError):
    """A point that could not be evaluated."""


class InternalError(BilevelcError):
    """A fault of bilevelc. Please report it with the model."""


class ProcessError(BilevelcError):
    """The command is not there, or has ended."""


class BilevelcWarning(UserWarning):
    """What the compiler could not prove, and other findings that do not stop it."""


class SolveWarning(BilevelcWarning):
    """A run that has not come to a solution: a limit, or a numerical failure."""


class KinkWarning(BilevelcWarning):
    """A derivative at a kink: it is of one of the branches that meet there."""


# The codes are the exit codes of the command; negative ones are those of JSON-RPC.
_kinds: Dict[int, Type[BilevelcError]] = {
    2: UsageError, 3: ModelError, 4: DataError, 10: InfeasibleError, 11: UnboundedError, 14: NumericalError,
    -32601: UsageError, -32602: UsageError, -32603: InternalError,
}


def from_wire(error: Dict[str, Any]) -> BilevelcError:
    """The exception of an error object."""
    data = error.get("data") or {}
    diagnostics = (data.get("diagnostics") or {}).get("diagnostics", [])
    code = error.get("code", 1)
    text = data.get("text", "").rstrip() if code != -32603 else ""
    message = text if diagnostics and text else error.get("message", "")
    kind = _kinds.get(code, BilevelcError)
    if kind is InternalError and data.get("text"):
        message += "\n" + data["text"]
    return kind(message, code=code, diagnostics=diagnostics)
