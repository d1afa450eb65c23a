"""Progress of a run, in a terminal or in a notebook."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Optional, Union

from ._process import interactive

Choice = Union[bool, None, Callable[[Dict[str, Any]], None]]

# A run that is over before anybody would look shows nothing.
PATIENCE = 0.5  # seconds


class Shown:
    """Shows notifications. ``close`` leaves a terminal as it was."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._width = 0
        self._notebook = _in_notebook()

    def __call__(self, now: Dict[str, Any]) -> None:
        if now["seconds"] < PATIENCE:
            return
        tree = now.get("tree")
        if tree:
            text = f"{tree['nodes']} nodes, {tree['open']} open: F {float(now['best']):.10g}, bound {float(tree['bound']):.10g}, {now['seconds']:.0f} s"
        else:
            text = (f"start {now['start']} of {now['starts']}, iteration {now['iteration']}: F {float(now['best']):.10g}, "
                    f"stationarity {float(now['measure']):.2g}, {now['seconds']:.0f} s")
        if self._notebook:
            from IPython.display import display
            show: Any = display  # which is not typed
            if self._handle is None:
                self._handle = show({"text/plain": text}, raw=True, display_id=True)
            else:
                self._handle.update({"text/plain": text}, raw=True)
            return
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def choose(progress: Choice) -> Optional[Callable[[Dict[str, Any]], None]]:
    """Who is told: a function of the caller's, the terminal or notebook, or nobody. None
    stands for the terminal or notebook where there is one."""
    if callable(progress):
        return progress
    if progress is None:
        progress = _in_notebook() or interactive()
    return Shown() if progress else None
