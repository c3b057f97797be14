"""Plain functions in processes of their own, which compute side by side.

A process runs one job at a time. One whose job was canceled or took too long is killed, since nothing
else stops a computation, and another takes its place.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from ._errors import Cancel, Error, Fatal, InvalidError, JobCanceled, Retry, Snooze
from ._job import CURRENT
from ._keyrack import RunningJob

if TYPE_CHECKING:
    from ._task import Task

#: Seconds between two looks at whether the job should stop.
_LOOK_EVERY = 0.1


class ChildError(Exception):
    """What a handler raised in its process; its reason is told as it was there."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason.partition("\n")[0])
        self.reason = reason


class _FatalChildError(ChildError, Fatal):
    """The same, and trying again would not help."""


class _Child:
    """One process."""

    def __init__(self, module: str, name: str) -> None:
        # Not forked: threads and connections would not come along.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, module, name), name="keyrack-process", daemon=True
        )
        self.process.start()
        theirs.close()

    def run(self, job: RunningJob, data: str) -> Any:
        told = (job.id, job.queue, job.attempt, job.retries, job.tags, job.tenant)
        self.connection.send((told, data))
        while True:
            while not self.connection.poll(_LOOK_EVERY):
                if job.canceled:
                    self.kill()
                    raise JobCanceled(job.id, f"should stop: {job.stop_reason}")
            kind, what = self.connection.recv()
            if kind not in ("log", "progress"):
                return kind, what
            try:
                job.log(*what) if kind == "log" else job.report_json(*what)
            except Error:
                # The process goes on with the job; nobody would take its result.
                self.kill()
                raise

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


class Pool:
    """The processes of one task."""

    def __init__(self, task: Task[..., Any]) -> None:
        function = task.__wrapped__
        self._where = function.__module__, function.__qualname__
        if "<" in function.__qualname__:
            raise InvalidError(
                f"processes: {function.__qualname__} is inside of a function, where no other process "
                "finds it; move it to the top of a module"
            )
        self._idle: list[_Child] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, job: RunningJob, data: str) -> str:
        """Runs a job in a process, and returns its result as JSON."""
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or _Child(*self._where)
        try:
            kind, what = child.run(job, data)
        except (EOFError, OSError) as error:
            child.kill()
            code = child.process.exitcode
            raise ChildError(f"the process that ran the job ended with exit code {code}") from error
        with self._lock:
            if self._is_closed:
                child.kill()
            else:
                self._idle.append(child)
        return _result(kind, what)

    def close(self) -> None:
        """Ends the processes that have nothing to do. The others end with their jobs."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()


def _result(kind: str, what: Any) -> str:
    if kind == "completed":
        return str(what)
    if kind == "canceled":
        raise Cancel
    if kind == "retry":
        raise Retry(*what)
    if kind == "snooze":
        raise Snooze(what)
    raise _FatalChildError(what) if kind == "fatal" else ChildError(what)


class _Copy:
    """A running job as its process knows it. The store is the parent's, so what it tells goes there."""

    canceled = False
    stop_reason = None

    def __init__(self, told: tuple[Any, ...], data: str, connection: Connection) -> None:
        self.id, self.queue, self.attempt, self.retries, self.tags, self.tenant = told
        self.data = data
        self._connection = connection

    def log(self, level: str, text: str) -> None:
        self._connection.send(("log", (level, text)))

    def report_json(self, progress: str, message: str | None = None) -> None:
        self._connection.send(("progress", (progress, message)))


def serve(connection: Connection, module: str, name: str) -> None:
    """The loop of a process: until its parent is gone."""
    # The parent decides when a job ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    while True:
        try:
            told, data = connection.recv()
        except (EOFError, OSError):
            os._exit(0)
        connection.send(_run(found, _Copy(told, data, connection), data))


def _run(task: Task[..., Any], job: _Copy, data: str) -> tuple[str, Any]:
    from ._work import reason_of, result_text

    CURRENT.set(job)  # type: ignore[arg-type]
    try:
        return "completed", result_text(task.run_job(data))
    except Cancel:
        return "canceled", None
    except Retry as error:
        return "retry", (error.in_, error.reason)
    except Snooze as error:
        return "snooze", error.in_
    except Fatal as error:
        return "fatal", reason_of(error)
    except BaseException as error:
        return "failed", reason_of(error)
