"""A drop-in for tqdm: `from keyrack import tqdm`. The remaining time is learned from earlier runs.

A loop counts, and compares with one number. A thread asks all bars to report a few times a second by
setting that number, so a loop neither reads a clock nor calls anything in between.
"""

from __future__ import annotations

import contextlib
import html
import importlib
import os
import shutil
import sys
import threading
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from ._progress import REPORT_EVERY, Run, clock

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._app import App

T = TypeVar("T")

#: A number of iterations that no loop gets to.
_NEVER = float("inf")
#: A nested bar that ends before is not worth a run in the store.
_NESTED_AFTER = 0.5
_BLOCKS = " ▏▎▍▌▋▊▉█"
_ASCII = " 123456789#"


class _Ticker:
    """Asks all open bars to report."""

    def __init__(self) -> None:
        self.bars: weakref.WeakSet[tqdm[Any]] = weakref.WeakSet()
        self.lock = threading.RLock()
        self._thread: threading.Thread | None = None

    def add(self, bar: tqdm[Any]) -> int:
        """Returns how many bars were open before."""
        with self.lock:
            n = len(self.bars)
            self.bars.add(bar)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="keyrack-bars", daemon=True)
                self._thread.start()
        return n

    def remove(self, bar: tqdm[Any]) -> None:
        with self.lock:
            self.bars.discard(bar)

    def _run(self) -> None:
        idle = 0
        while idle < 50:
            time.sleep(REPORT_EVERY)
            with self.lock:
                bars = list(self.bars)
            now = time.monotonic()
            for bar in bars:
                bar._ask(now)
            idle = 0 if bars else idle + 1
            del bars
        with self.lock:
            self._thread = None
            if self.bars:
                self._thread = threading.Thread(target=self._run, name="keyrack-bars", daemon=True)
                self._thread.start()

    def forget(self) -> None:
        """In a forked child there is no thread, and the lock may be held by nobody."""
        self.lock = threading.RLock()
        self._thread = None
        self.bars = weakref.WeakSet()


_TICKER = _Ticker()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_TICKER.forget)


class tqdm(Generic[T]):  # noqa: N801
    """A progress bar around an iterable, or one that `update` moves on. The arguments are tqdm's.

    `name` is what the run is learned under: the description unless given, or file and function of the
    caller. `bar_format`, `colour`, `smoothing`, `miniters` and the like are accepted and have no effect.
    """

    monitor_interval: ClassVar[int] = 10

    @overload
    def __init__(
        self,
        iterable: Iterable[T],
        desc: str | None = None,
        total: float | None = None,
        leave: bool | None = True,
        file: IO[str] | None = None,
        ncols: int | None = None,
        mininterval: float = 0.1,
        **options: Any,
    ) -> None: ...
    @overload
    def __init__(
        self,
        iterable: None = None,
        desc: str | None = None,
        total: float | None = None,
        leave: bool | None = True,
        file: IO[str] | None = None,
        ncols: int | None = None,
        mininterval: float = 0.1,
        **options: Any,
    ) -> None: ...
    def __init__(
        self,
        iterable: Iterable[T] | None = None,
        desc: str | None = None,
        total: float | None = None,
        leave: bool | None = True,
        file: IO[str] | None = None,
        ncols: int | None = None,
        mininterval: float = 0.1,
        maxinterval: float = 10.0,
        miniters: float | None = None,
        ascii: bool | str | None = None,
        disable: bool | None = False,
        unit: str = "it",
        unit_scale: bool | float = False,
        dynamic_ncols: bool = False,
        smoothing: float = 0.3,
        bar_format: str | None = None,
        initial: float = 0,
        position: int | None = None,
        postfix: Mapping[str, Any] | str | None = None,
        unit_divisor: float = 1000,
        *,
        name: str | None = None,
        app: App | None = None,
        user: str = "python",
        **_: Any,
    ) -> None:
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        self.iterable, self.total, self.n, self.initial = iterable, total, initial, initial
        self.desc, self.unit, self.leave = desc or "", unit, leave
        self.unit_scale, self.unit_divisor = unit_scale, unit_divisor
        self.fp: IO[str] = sys.stderr if file is None else file
        self.disable = not self.fp.isatty() if disable is None else bool(disable)
        self.postfix = ""
        self._due = _NEVER
        self._closed = self.disable
        if self.disable:
            return
        self._ncols, self._ascii, self._mininterval = ncols, ascii, mininterval
        self._app, self._user = app, user
        self._name = name or desc or _caller()
        self.start_t = self._last = time.monotonic()
        self._run: Run | None = None
        self._notebook = _Notebook() if file is None and _in_notebook() else None
        self._shown = 0
        if postfix is not None:
            self.set_postfix(postfix, refresh=False) if isinstance(postfix, Mapping) else None
            self.postfix = postfix if isinstance(postfix, str) else self.postfix
        self.pos = _TICKER.add(self)
        if self.pos == 0:
            self._begin()
        self._draw()

    def __iter__(self) -> Iterator[T]:
        if self.iterable is None:
            raise TypeError("this tqdm has no iterable; give one, or call update()")
        if self.disable:
            yield from self.iterable
            return
        n = self.n
        is_done = False
        try:
            for item in self.iterable:
                yield item
                n += 1
                if n >= self._due:
                    self.n = n
                    self._report()
            is_done = True
        finally:
            self.n = n
            self._end(is_done)

    def __len__(self) -> int:
        return int(self.total or 0)

    def __bool__(self) -> bool:
        return self.iterable is not None if self.total is None else self.total > 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(kind is None)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._end(False)

    def update(self, n: float | None = 1) -> bool | None:
        """So many more iterations are done. True if that was shown."""
        if self.disable:
            return None
        self.n += 1 if n is None else n
        if self.n >= self._due:
            self._report()
            return True
        return None

    def close(self) -> None:
        """Ends the bar. One that got to its total has ended well, and is learned from."""
        self._end(self.total is None or self.n >= self.total)

    def refresh(self, *_: Any, **__: Any) -> bool | None:
        """Shows the bar as it is now."""
        if not self._closed:
            self._draw()
        return None if self.disable else True

    def display(self, *_: Any, **__: Any) -> bool | None:
        """The same as `refresh`."""
        return self.refresh()

    def clear(self, *_: Any, **__: Any) -> None:
        """Takes the bar off the screen until it is shown again."""
        if not self.disable and self._notebook is None:
            with _TICKER.lock:
                self.fp.write("\r" + " " * self._shown + "\r")

    def unpause(self) -> None:
        """Nothing: the time of a pause counts."""

    def reset(self, total: float | None = None) -> None:
        """Begins again at 0."""
        if self.disable:
            return
        self._end_run(False)
        self.n = self.initial = 0
        self.total = self.total if total is None else total
        self.start_t = time.monotonic()
        self._begin()
        self._draw()

    def set_description(self, desc: str | None = None, refresh: bool | None = True) -> None:
        """Sets what stands in front of the bar. The name that is learned under stays."""
        self.desc = desc or ""
        if refresh:
            self.refresh()

    def set_description_str(self, desc: str | None = None, refresh: bool | None = True) -> None:
        """The same as `set_description`."""
        self.set_description(desc, refresh)

    def set_postfix(
        self,
        ordered_dict: Mapping[str, object] | None = None,
        refresh: bool | None = True,
        **values: object,
    ) -> None:
        """Sets values that stand behind the bar."""
        every = {**(ordered_dict or {}), **dict(sorted(values.items()))}
        self.postfix = ", ".join(f"{name}={_value(value)}" for name, value in every.items())
        if refresh:
            self.refresh()

    def set_postfix_str(self, s: str = "", refresh: bool | None = True) -> None:
        """Sets a text that stands behind the bar."""
        self.postfix = str(s)
        if refresh:
            self.refresh()

    @property
    def format_dict(self) -> dict[str, Any]:
        """What the bar shows."""
        elapsed = 0.0 if self.disable else time.monotonic() - self.start_t
        rate = (self.n - self.initial) / elapsed if elapsed else None
        shown = {"n": self.n, "total": self.total, "elapsed": elapsed, "rate": rate}
        return {**shown, "prefix": self.desc, "postfix": self.postfix, "unit": self.unit}

    @classmethod
    def write(
        cls, s: str, file: IO[str] | None = None, end: str = "\n", nolock: bool = False
    ) -> None:
        """Prints a line above the bars."""
        with cls.external_write_mode(file):
            (sys.stdout if file is None else file).write(s + end)

    @classmethod
    @contextlib.contextmanager
    def external_write_mode(cls, file: IO[str] | None = None, nolock: bool = False) -> Iterator[None]:
        """Takes all bars off the screen while something else writes there."""
        with _TICKER.lock:
            bars = sorted(_TICKER.bars, key=lambda bar: bar.pos)
            for bar in bars:
                bar.clear()
            yield
            for bar in bars:
                bar.refresh()

    @classmethod
    def get_lock(cls) -> Any:
        """The lock under which bars are drawn."""
        return _TICKER.lock

    @classmethod
    def set_lock(cls, lock: Any) -> None:
        """Nothing: all bars of a process share one lock."""

    def _ask(self, now: float) -> None:
        """By the ticker: the next iteration reports."""
        if now - self._last >= self._mininterval:
            self._due = 0

    def _begin(self) -> None:
        total = None if self.total is None else int(self.total)
        self._run = Run(self._app, self._user, self._name[:200], "items", total)

    def _report(self) -> None:
        self._due = _NEVER
        self._last = time.monotonic()
        if self._run is None and self._last - self.start_t >= _NESTED_AFTER:
            self._begin()
        if self._run is not None:
            self._run.report(int(self.n - self.initial))
        self._draw()

    def _end(self, is_done: bool) -> None:
        if self._closed:
            return
        self._closed = True
        self._due = _NEVER
        leave = self.pos == 0 if self.leave is None else self.leave
        with _TICKER.lock:
            if leave:
                self._draw()
                if self._notebook is None:
                    self.fp.write("\n")
                    self.fp.flush()
            elif self._notebook is None:
                self.clear()
            else:
                self._notebook.hide()
        _TICKER.remove(self)
        self._end_run(is_done)

    def _end_run(self, is_done: bool) -> None:
        if self._run is not None:
            self._run.end(int(self.n - self.initial), is_done)
            self._run = None

    def _remaining(self, elapsed: float) -> float | None:
        done = self.n - self.initial
        if self._run is not None:
            return self._run.remaining(int(done))
        if not self.total or done <= 0:
            return None
        return elapsed * max(0.0, self.total - self.n) / done

    def __str__(self) -> str:
        if self.disable:
            return f"{self.n:g}"
        elapsed = time.monotonic() - self.start_t
        done = self.n - self.initial
        rate = done / elapsed if elapsed > 0 and done else None
        remaining = self._remaining(elapsed)
        speed = _rate(rate, self.unit, self._scaled)
        prefix = f"{self.desc}: " if self.desc else ""
        postfix = f", {self.postfix}" if self.postfix else ""
        left = "?" if remaining is None else clock(remaining)
        if not self.total:
            known = f"<{left}" if remaining is not None else ""
            count = f"{self._scaled(self.n)}{self.unit}"
            return f"{prefix}{count} [{clock(elapsed)}{known}, {speed}{postfix}]"
        fraction = min(1.0, self.n / self.total)
        counts = f"{self._scaled(self.n)}/{self._scaled(self.total)}"
        head = f"{prefix}{100 * fraction:3.0f}%|"
        tail = f"| {counts} [{clock(elapsed)}<{left}, {speed}{postfix}]"
        columns = self._ncols or shutil.get_terminal_size((80, 24)).columns - 1
        return head + _bar(fraction, max(10, columns - len(head) - len(tail)), self._ascii) + tail

    def __repr__(self) -> str:
        return str(self)

    def _scaled(self, number: float) -> str:
        if self.unit_scale is True:
            return _with_prefix(number, self.unit_divisor)
        if self.unit_scale:
            number *= float(self.unit_scale)
        return f"{number:.0f}" if float(number).is_integer() else f"{number:.3g}"

    def _draw(self) -> None:
        if self.disable:
            return
        text = str(self)
        with _TICKER.lock:
            if self._notebook is not None:
                self._notebook.show(self.n, self.total, text)
                return
            pad = " " * max(0, self._shown - len(text))
            self._shown = len(text)
            # Bars inside of others are drawn below them, and the cursor goes back up.
            try:
                self.fp.write("\n" * self.pos + "\r" + text + pad + "\x1b[A" * self.pos)
                self.fp.flush()
            except (OSError, ValueError):
                self.disable = True  # Nobody reads it any more.


def trange(*args: int, **options: Any) -> tqdm[int]:
    """`tqdm(range(…))`."""
    if "desc" not in options and "name" not in options:
        options["name"] = _caller()
    return tqdm(range(*args), **options)


def _caller() -> str:
    """File and function that made the bar."""
    frame = sys._getframe(1)
    ours = __file__
    while frame.f_back is not None and frame.f_code.co_filename == ours:
        frame = frame.f_back
    file = os.path.basename(frame.f_code.co_filename) or "python"
    return f"{file} {frame.f_code.co_name}".replace("<", "").replace(">", "")


def _value(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _bar(fraction: float, columns: int, ascii: bool | str | None) -> str:
    signs = ascii if isinstance(ascii, str) else _ASCII if ascii else _BLOCKS
    steps = len(signs) - 1
    whole, part = divmod(int(fraction * columns * steps), steps)
    if whole >= columns:
        return signs[-1] * columns
    return signs[-1] * whole + signs[part] + signs[0] * (columns - whole - 1)


def _rate(rate: float | None, unit: str, scaled: Any) -> str:
    if not rate:
        return f"?{unit}/s"
    if rate < 1:
        return f"{1 / rate:5.2f}s/{unit}"
    return f"{rate:5.2f}{unit}/s" if rate < 1e5 else f"{scaled(round(rate))}{unit}/s"


def _with_prefix(number: float, divisor: float) -> str:
    for prefix in ("", "k", "M", "G", "T", "P"):
        if abs(number) < 999.5:
            return f"{number:.3g}{prefix}"
        number /= divisor
    return f"{number:.3g}E"


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


class _Notebook:
    """A bar in the output of a notebook's cell."""

    def __init__(self) -> None:
        self._ipython: Any = importlib.import_module("IPython.display")
        self._handle: Any = None

    def show(self, n: float, total: float | None, text: str) -> None:
        value = "" if not total else f' value="{n:g}" max="{total:g}"'
        shown = self._ipython.HTML(f"<progress{value}></progress> <code>{html.escape(text)}</code>")
        if self._handle is None:
            self._handle = self._ipython.display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def hide(self) -> None:
        if self._handle is not None:
            self._handle.update(self._ipython.HTML(""))
