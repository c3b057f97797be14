"""Progress of loops, with the time that earlier runs took."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from typing import IO, TYPE_CHECKING, TypeVar

from ._errors import Error
from ._keyrack import Bar

if TYPE_CHECKING:
    from ._app import App

T = TypeVar("T")

#: Seconds between two reports to the store, and between two lines on the terminal.
_REPORT_EVERY = 0.1
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
    run = _Run(app, user, name, step, total, file or sys.stderr, show)
    is_done = False
    done = reported = 0
    next_report = time.monotonic() + _REPORT_EVERY
    try:
        for item in iterable:
            yield item
            done += 1
            now = time.monotonic()
            if now >= next_report:
                run.report(done - reported, done)
                reported, next_report = done, now + _REPORT_EVERY
        is_done = True
    finally:
        run.end(done - reported, done, is_done)


class _Run:
    """One run of a loop: what the store and the terminal get of it."""

    def __init__(
        self,
        app: App | None,
        user: str,
        name: str,
        step: str,
        total: int | None,
        file: IO[str],
        show: bool | None,
    ) -> None:
        self._name, self._total, self._file = name, total, file
        self._shows = file.isatty() if show is None else show
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._pid = os.getpid()
        try:
            rack = (app or _default_app()).rack
            self._bar = Bar(rack, user, name, step, None if total is None else max(total, 1))
        except Error:
            pass  # A store that is down does not stop the loop.
        #: Seconds that the whole run takes, by what earlier runs say.
        self.expected = self._bar.expected if self._bar is not None else 0.0
        self._draw(0)

    def report(self, n: int, done: int) -> None:
        if self._bar is not None and self._pid == os.getpid():
            self._bar.tick(n)
        self._draw(done)

    def end(self, n: int, done: int, is_done: bool) -> None:
        self.report(n, done)
        if self._shows:
            self._file.write("\n")
        if self._bar is not None and self._pid == os.getpid():
            self._bar.end(is_done, _FLUSH_S)

    def remaining(self, done: int) -> float | None:
        """Seconds that are left: by earlier runs at first, by this one more and more."""
        elapsed = time.monotonic() - self._start
        if not self._total:
            return max(0.0, self.expected - elapsed) if self.expected else None
        fraction = min(1.0, done / self._total)
        by_this = elapsed / fraction - elapsed if fraction > 0 else None
        if not self.expected:
            return by_this
        by_earlier = self.expected * (1 - fraction)
        if by_this is None:
            return max(by_earlier, self.expected - elapsed)
        return by_this * fraction + by_earlier * (1 - fraction)

    def _draw(self, done: int) -> None:
        if not self._shows:
            return
        remaining = self.remaining(done)
        left = "" if remaining is None else f", {_clock(remaining)} left"
        if self._total:
            filled = min(_COLUMNS, _COLUMNS * done // self._total)
            bar = f"[{'#' * filled}{'.' * (_COLUMNS - filled)}] {done}/{self._total}"
        else:
            bar = str(done)
        elapsed = _clock(time.monotonic() - self._start)
        self._file.write(f"\r{self._name} {bar} {elapsed}{left}\x1b[K")
        self._file.flush()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes:02}:{whole % 60:02}"
