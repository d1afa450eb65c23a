"""The command in the background: `bilevelc serve`, JSON-RPC a line a message."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any, Callable, Dict, List, Optional, Union

from .errors import ProcessError, from_wire

PROTOCOL = 1

Progress = Callable[[Dict[str, Any]], None]


def find_binary() -> str:
    """The path of the command: what the environment variable ``BILEVELC`` says, the one
    in the wheel, or the one on the search path."""
    named = os.environ.get("BILEVELC")
    if named:
        return named
    own = Path(__file__).parent / "bin" / ("bilevelc.exe" if os.name == "nt" else "bilevelc")
    if own.exists():
        return str(own)
    found = shutil.which("bilevelc")
    if found is None:
        raise ProcessError("the command `bilevelc` is not on the search path: install it (go install ./cmd/bilevelc in a clone of "
                           "the repository), install a wheel that carries it, or name it in the environment variable BILEVELC")
    return found


class _Call:
    """A request that waits for its answer."""

    def __init__(self, progress: Optional[Progress]) -> None:
        self.progress = progress
        self.done = threading.Event()
        self.news: List[Dict[str, Any]] = []
        self.answer: Optional[Dict[str, Any]] = None


class Process:
    """A running ``bilevelc serve``. All models share one unless they are given another;
    requests of one process wait for each other."""

    def __init__(self, binary: Optional[Union[str, "os.PathLike[str]"]] = None) -> None:
        self.binary = os.fspath(binary) if binary is not None else find_binary()
        self._pid = os.getpid()
        self._lock = threading.Lock()  # of _next and _calls, and of writing
        self._calls: Dict[int, _Call] = {}
        self._next = 0
        self._log: IO[bytes] = tempfile.TemporaryFile()
        flags: Dict[str, Any] = {}
        if os.name == "nt":
            flags["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP  # type: ignore[attr-defined,unused-ignore]
        else:
            flags["start_new_session"] = True  # an interrupt at the terminal is Python's, which cancels
        try:
            self._child = subprocess.Popen([self.binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, **flags)
        except OSError as e:
            raise ProcessError(f"{self.binary} cannot be started: {e}") from e
        threading.Thread(target=self._read, name="bilevelc", daemon=True).start()
        atexit.register(self.close)
        self.version: str = self.call("hello", {"protocol": PROTOCOL})["version"]

    @property
    def alive(self) -> bool:
        """Whether requests can be made. A process belongs to the one that started it: after
        a fork it is the parent's."""
        return self._pid == os.getpid() and self._child.poll() is None

    def call(self, method: str, params: Dict[str, Any], progress: Optional[Progress] = None,
             interrupted: Optional[Callable[[Dict[str, Any]], None]] = None) -> Dict[str, Any]:
        """Makes a request and waits for its answer. ``progress`` is told of notifications, on
        the caller's thread. A KeyboardInterrupt cancels the request; ``interrupted`` is then
        given the answer, if there is one, before it is raised again."""
        call = _Call(progress)
        with self._lock:
            self._next += 1
            number = self._next
            self._calls[number] = call
            self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        try:
            self._wait(call)
        except BaseException:  # KeyboardInterrupt, or a fault of progress
            if self.alive:
                with self._lock:
                    self._next += 1
                    self._write({"jsonrpc": "2.0", "id": self._next, "method": "cancel", "params": {"id": number}})
                call.progress = None
                self._wait(call)
                if interrupted is not None and call.answer is not None and "result" in call.answer:
                    interrupted(call.answer["result"])
            raise
        answer = call.answer
        if answer is None:
            raise ProcessError(self._obituary())
        if "error" in answer:
            raise from_wire(answer["error"])
        result: Dict[str, Any] = answer["result"]
        return result

    def _wait(self, call: _Call) -> None:
        while True:
            call.done.wait()
            with self._lock:
                news, call.news = call.news, []
                over = call.answer is not None or not self._reading
                if not over:
                    call.done.clear()
            for item in news:
                if call.progress is not None:
                    call.progress(item)
            if over:
                return

    _reading = True

    def _write(self, message: Dict[str, Any]) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n")
            self._child.stdin.flush()
        except (OSError, ValueError) as e:
            if self._child.stdin.closed or self._child.poll() is not None or isinstance(e, OSError):
                raise ProcessError(self._obituary()) from e
            raise

    def _read(self) -> None:
        """Deals out what the process writes, on a thread of its own."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            message = json.loads(line)
            with self._lock:
                if message.get("method") == "progress":
                    call = self._calls.get(message["params"]["id"])
                    if call is not None:
                        call.news = [message["params"]]  # the last one is of interest
                        call.done.set()
                    continue
                call = self._calls.pop(message.get("id"), None)
                if call is not None:
                    call.answer = message
                    call.done.set()
        with self._lock:
            self._reading = False
            for call in self._calls.values():
                call.done.set()

    def _obituary(self) -> str:
        try:
            code: Any = self._child.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = None
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip()
        return f"{self.binary} has ended (exit code {code})" + (f":\n{said}" if said else "")

    def close(self) -> None:
        """Ends the process. What it computes is given up."""
        if self._pid != os.getpid():
            return
        atexit.unregister(self.close)
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        for stream in (self._child.stdin, self._log):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_shared: Optional[Process] = None
_sharing = threading.Lock()


def shared() -> Process:
    """The process of all models that have none of their own, started when it is needed."""
    global _shared
    with _sharing:
        if _shared is None or not _shared.alive:
            _shared = Process()
        return _shared


def interactive(stream: Any = None) -> bool:
    """Whether somebody looks at a stream."""
    stream = sys.stderr if stream is None else stream
    return bool(getattr(stream, "isatty", lambda: False)())
