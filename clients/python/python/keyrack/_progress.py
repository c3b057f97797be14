"""Progress of loops, with the time that earlier runs took."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import IO, TYPE_CHECKING, TypeVar

from ._errors import Error
from ._keyrack import Rack

if TYPE_CHECKING:
    from ._app import App

T = TypeVar("T")

#: Seconds between two reports to the store, and between two lines on the terminal.
REPORT_EVERY = 0.1
#: How long the end of a loop waits until its report is stored.
_FLUSH_S = 2.0
#: Columns of a bar on the terminal.
_COLUMNS = 30

_DEFAULT: list[App] = []
_OPENING = threading.Lock()


def _default_app() -> App:
    """The store of `KEYRACK_STORE`, or one in memory: then only this process learns."""
    from ._app import App

    with _OPENING:
        if not _DEFAULT:
            _DEFAULT.append(App(os.environ.get("KEYRACK_STORE") or "memory"))
        return _DEFAULT[0]


class Run:
    """One run of a loop, as the store gets it. Nothing here makes the loop fail or wait."""

    def __init__(
        self, app: App | None, user: str, name: str, step: str, total: int | None
    ) -> None:
        self._total = total
        self._start = time.monotonic()
        self._pid = os.getpid()
        self._rack: Rack | None = None
        self._app = app
        self._number = self._told = 0
        #: Seconds that the whole run takes, by what earlier runs say; 0 if nothing is known.
        self.expected = 0.0
        try:
            self._app = app or _default_app()
            asked = {"user": user, "name": name, "step": step}
            iterations = {} if total is None else {"iterations": max(total, 1)}
            self._number, self.expected = self._app.call("beginRun", {**asked, **iterations})
            self._rack = self._app.rack
            if self.expected:
                self._rack.estimate(self._number)  # Has what earlier runs say read.
        except Error:
            pass  # A store that is down does not stop the loop.

    def report(self, done: int) -> None:
        """So many iterations are done in all."""
        if self._rack is not None and done > self._told and self._pid == os.getpid():
            try:
                self._rack.tick(self._number, done - self._told)
                self._told = done
            except Error:
                self._rack = None

    def end(self, done: int, is_done: bool) -> None:
        """The run has ended, well or not."""
        self.report(done)
        if self._rack is None or self._app is None or self._pid != os.getpid():
            return
        try:
            end = {"number": self._number, "isDone": is_done, "timeout": _FLUSH_S * 1000}
            self._app.call("endRun", end)
        except Error:
            pass
        self._rack = None

    def remaining(self, done: int) -> float | None:
        """Seconds that are left: as earlier runs went, once those are known; else as this one goes."""
        if self._rack is not None and self.expected:
            try:
                estimate = self._rack.estimate(self._number)
            except Error:
                estimate = None
            if estimate is not None:
                return estimate
        elapsed = time.monotonic() - self._start
        if not self._total:
            return max(0.0, self.expected - elapsed) if self.expected else None
        if done <= 0:
            return self.expected or None
        return elapsed * max(0, self._total - done) / done


def track(
    iterable: Iterable[T],
    name: str,
    *,
    total: int | None = None,
    step: str = "items",
    app: App | None = None,
    user: str = "python",
    file: IO[str] | None = None,
    show: bool | None = None,
) -> Iterator[T]:
    """Goes through an iterable and reports how far it is, under a name that is the same in each run.

    The store learns from each complete run, so the next one knows at its start how long it will take.
    On a terminal a line shows that. Nothing here makes the loop fail: what cannot be reported is not.
    """
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    screen = sys.stderr if file is None else file
    run = Run(app, user, name, step, total)
    shows = screen.isatty() if show is None else show
    line = _Line(run, name, total, screen) if shows else None
    is_done = False
    done = 0
    next_report = time.monotonic() + REPORT_EVERY
    try:
        for item in iterable:
            yield item
            done += 1
            now = time.monotonic()
            if now >= next_report:
                run.report(done)
                if line is not None:
                    line.draw(done)
                next_report = now + REPORT_EVERY
        is_done = True
    finally:
        if line is not None:
            line.end(done)
        run.end(done, is_done)


class _Line:
    """What the terminal shows of a run."""

    def __init__(self, run: Run, name: str, total: int | None, file: IO[str]) -> None:
        self._run, self._name, self._total, self._file = run, name, total, file
        self._start = time.monotonic()
        self.draw(0)

    def draw(self, done: int) -> None:
        remaining = self._run.remaining(done)
        left = "" if remaining is None else f", {clock(remaining)} left"
        if self._total:
            filled = min(_COLUMNS, _COLUMNS * done // self._total)
            bar = f"[{'#' * filled}{'.' * (_COLUMNS - filled)}] {done}/{self._total}"
        else:
            bar = str(done)
        elapsed = clock(time.monotonic() - self._start)
        self._file.write(f"\r{self._name} {bar} {elapsed}{left}\x1b[K")
        self._file.flush()

    def end(self, done: int) -> None:
        self.draw(done)
        self._file.write("\n")


def clock(seconds: float) -> str:
    """A time as people read it: 01:05, or 1:00:05."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes:02}:{whole % 60:02}"
